"""A layer of self-attention that is to learn."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini_exercises.core import (
    Mistakes,
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_pair,
    is_near,
)
from d2lmini_exercises.extremes import FAR, LOW, OUTWEIGHED, OVERFLOW
from d2lmini_exercises.same import is_same

_NAMES = sorted(f"W_{letter}.{part}" for letter in "qkv" for part in ("weight", "bias"))


@checker("debug-self-attention", trained=True)
def check_debug_self_attention(make: Any) -> str:
    """A class of causal self-attention freed of its faults: projections, scale, mask, and gradients."""
    if isinstance(make, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses after its name")
    expect_function(make)
    for d_model, width, b, n in ((7, 3, 2, 5), (4, 6, 3, 70)):
        layer = _make_layer(make, d_model, width, torch.ones(b, n, d_model))
        X = _fill(layer, (b, n, d_model))
        given = (
            f"layer = YourClass({d_model}, {width}); torch.manual_seed(1); "
            f"X = torch.randint(-1, 2, {(b, n, d_model)}).float(); "
            "_ = [p.data.copy_(torch.randint(-1, 2, p.shape)) for p in layer.parameters()]"
        )
        _expect_attention(layer, X, given)
        _expect_parameters(layer)
        _expect_gradients(layer, X, given)
    _expect_extreme_scores(layer, d_model)
    return "weights, output and gradients of input and parameters are right, for two sizes"


def _expect_extreme_scores(layer: nn.Module, d_model: int) -> None:
    """Scores of up to 2**120 that may be seen, or come later, and scores that are as far below 0."""
    with torch.no_grad():
        for name, part in layer.named_parameters():
            part.zero_()
            if name in ("W_q.weight", "W_k.weight"):
                part[0, int(name[2] == "k")] = FAR
    for high, hint in (([2, 1, 0, 0, 1], OVERFLOW), ([1, 0, 0, 0, 3], OUTWEIGHED), ([-3, -3.5, -3.5, -3.5, -3.5], LOW)):
        X = torch.zeros(2, 5, d_model)
        X[:, :, 0], X[:, :, 1] = 1, torch.tensor(high)
        expect_close(
            expect_pair(layer(X), claim="it returns two things", hint="return output, weights")[1],
            _attend(layer, X)[1],
            claim="a later token has no influence, whatever the scores",
            given=f"layer = YourClass({d_model}, ...); _ = [p.data.zero_() for p in layer.parameters()]; "
            "layer.W_q.weight.data[0, 0] = layer.W_k.weight.data[0, 1] = 2.0**63; "
            f"X = torch.zeros(2, 5, {d_model}); X[:, :, 0] = 1; X[:, :, 1] = torch.tensor({high})",
            hint=hint,
        )


def _make_layer(make: Any, d_model: int, width: int, X: Tensor) -> nn.Module:
    layer = make(d_model, width)
    if not isinstance(layer, nn.Module):
        raise WrongAnswer("the answer is a class of modules", "pass the class itself", got=type(layer).__name__)
    layer(X)  # lazy layers learn their sizes
    missing = [f"W_{letter}" for letter in "qkv" if not callable(getattr(layer, f"W_{letter}", None))]
    if missing:
        hint = "make the three layers once, in __init__: self.W_q = ..."
        raise WrongAnswer("the layer has W_q, W_k and W_v", hint, got=f"no {', '.join(missing)}")
    return layer


def _fill(layer: nn.Module, shape: tuple[int, ...], seed: int = 1) -> Tensor:
    """Draw an input and all parameters, as the report says; returns the input in the layer's own precision."""
    torch.manual_seed(seed)
    X = torch.randint(-1, 2, shape).float()
    for parameter in layer.parameters():
        parameter.data = torch.randint(-1, 2, parameter.shape).to(parameter.dtype)
    return X


def _project(layer: nn.Module, X: Tensor) -> list[Tensor]:
    """Queries, keys and values, by the layer's own projections."""
    found = []
    for letter in "qkv":
        projection = getattr(layer, f"W_{letter}")
        kinds = [parameter.dtype for parameter in projection.parameters()] or [X.dtype]
        found.append(projection(X.to(kinds[0])).float())
    return found


def _attend(
    layer: nn.Module, X: Tensor, *, divisor: float | None = None, mask: Tensor | None = None, dim: int = 2
) -> tuple[Tensor, Tensor]:
    """Output and weights of causal self-attention with the layer's projections, right unless told otherwise."""
    Q, K, V = _project(layer, X)
    mask = causal_mask(X.shape[1]) if mask is None else mask
    scores = Q @ K.mT / (math.sqrt(Q.shape[2]) if divisor is None else divisor)
    weights = F.softmax(scores.masked_fill(~mask, -math.inf), dim)
    return weights @ V, weights


def _expect_attention(layer: nn.Module, X: Tensor, given: str) -> None:
    output, weights = expect_pair(layer(X), claim="it returns two things", hint="return output, weights")
    again = expect_pair(layer(X), claim="it returns two things", hint="return output, weights")[0]
    if isinstance(output, Tensor) and not is_same(again, output):
        hint = "does forward make new random layers, drop something at random, or change X?"
        raise WrongAnswer("two calls give the same", hint)
    expected = _attend(layer, X)
    expect_close(
        weights,
        expected[1].detach(),
        claim="the second result are the weights of causal self-attention",
        given=given,
        hint="write the shape of each step next to it: which width does a score sum over, and who may see whom?",
        mistakes=_list_wrong_weights(layer, X),
    )
    Q, K, V = _project(layer, X)
    expect_close(
        output,
        expected[0].detach(),
        claim="the output is the weights times the values",
        given=given,
        hint="the weights are right: what are they multiplied with?",
        mistakes={
            "the weights mix values, not keys": (expected[1] @ K).detach(),
            "the weights mix values, not queries": (expected[1] @ Q).detach(),
            "each row of the weights belongs to one query: do not transpose them": (expected[1].mT @ V).detach(),
        },
    )


def _list_wrong_weights(layer: nn.Module, X: Tensor) -> Mistakes:
    """What the faults of the starter and well-known mistakes give, by hint; also two of them together."""
    n, d, width = X.shape[1], X.shape[2], _project(layer, X)[0].shape[2]
    causal = causal_mask(n)
    everything = torch.ones_like(causal)

    def weigh(**changes: Any) -> Tensor:
        return _attend(layer, X, **changes)[1].detach()

    late = "rows now sum to less than 1: mask the scores, not the weights"
    d_root = "a score is a sum of as many products as a query is wide: which width do you take the root of?"
    right_scale = weigh(mask=everything) * causal
    scores = (_project(layer, X)[0] @ _project(layer, X)[1].mT / math.sqrt(width)).detach()
    return {
        d_root: weigh(divisor=math.sqrt(d)),
        f"{late}. And which width does the scale take the root of?": (
            weigh(mask=everything, divisor=math.sqrt(d)) * causal
        ),
        late: right_scale,
        "you divide by the width, not by its root": weigh(divisor=width),
        "the length of the sequence is not the width of a query": weigh(divisor=math.sqrt(n)),
        "the scores are not scaled": weigh(divisor=1.0),
        "the mask is not used: the first token may see itself alone": weigh(mask=everything),
        "the mask is transposed, or the wrong way round: the first token may see itself alone": (
            weigh(mask=causal.T),
            weigh(mask=~causal),
        ),
        "a token does not skip itself": (weigh(mask=causal.tril(-1)), weigh(mask=causal.tril(-1)).nan_to_num()),
        "what must one query's weights add up to? In a batch, dim=1 are the queries": weigh(dim=1),
        "scores are not yet weights": scores,
        "e⁰ is 1: the score of a later token must be minus infinity": F.softmax(scores * causal, 2),
        "NaN: 0 times infinity? Or a row of -inf: does each token see itself?": torch.full_like(right_scale, math.nan),
    }


def _expect_parameters(layer: nn.Module) -> None:
    names = sorted(name for name, _ in layer.named_parameters())
    if names == _NAMES:
        return
    hint = "W_q, W_k and W_v, each with weight and bias, and no others"
    if not names:
        hint = "an optimiser sees only layers that are attributes, made once in __init__ with self.W_q = ..."
    elif set(names) < set(_NAMES):
        hint = "two of the layers share a parameter: each has a weight and a bias of its own"
        if (different := len({id(getattr(layer, f"W_{letter}")) for letter in "qkv"})) < 3:
            hint = f"how many different layers are there? The three names stand for {different}"
        if all(f"W_{letter}.weight" in names for letter in "qkv"):
            hint = "each of the three has a bias, too"
    raise WrongAnswer("its parameters are those of W_q, W_k and W_v", hint, got=names)


def _expect_gradients(layer: nn.Module, X: Tensor, given: str) -> None:
    """The gradients of output and weights together are the right ones."""
    named = dict(layer.named_parameters())
    frozen = [name for name, parameter in named.items() if not parameter.requires_grad]
    if frozen:
        raise WrongAnswer("every parameter learns", "who has switched requires_grad off?", got=frozen)

    leaf = X.clone().requires_grad_()
    wanted = {**named, "X": leaf}

    def differentiate(output: Tensor, weights: Tensor) -> list[Tensor]:
        factors = torch.arange(1.0, 1 + output.numel()).reshape(output.shape).to(output.dtype)
        loss = (output * factors).sum()
        if not loss.requires_grad:
            return [torch.zeros_like(part) for part in wanted.values()]
        found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
        return [
            torch.zeros_like(own) if part is None else part for part, own in zip(found, wanted.values(), strict=True)
        ]

    right = differentiate(*_attend(layer, leaf))
    got = differentiate(*layer(leaf))
    scale = max(part.abs().max().item() for part in right)
    wrong = [
        name
        for name, one, other in zip(wanted, right, got, strict=True)
        if not is_near(one / scale, other / scale, 1e-3)
    ]
    if wrong:
        hint = "where does the gradient stop on its way back? detach(), .data and item() let none through"
        claim = "every parameter, and the input, gets its gradient from the output"
        raise WrongAnswer(claim, hint, given=given, got=wrong)
