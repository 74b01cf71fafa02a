"""A layer of self-attention that is to learn."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini_exercises.engine import (
    Case,
    WrongAnswer,
    are_equal,
    call,
    exercise,
    expect_pair,
)

NAMES = sorted(f"W_{letter}.{part}" for letter in "qkv" for part in ("weight", "bias"))


def weigh(scores: Tensor, may: Tensor) -> Tensor:
    return F.softmax(scores.masked_fill(~may, -math.inf), dim=2)


def attend(
    X: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    b_q: Tensor,
    b_k: Tensor,
    b_v: Tensor,
    *,
    divisor: Any = lambda d, p, n: math.sqrt(p),
    mask: Any = lambda may: may,
    weigh: Any = weigh,
    mix: Any = lambda A, Q, K, V: A @ V,
) -> tuple[Tensor, Tensor]:
    """Weights and output of causal self-attention, right unless told otherwise."""
    Q, K, V = F.linear(X, W_q, b_q), F.linear(X, W_k, b_k), F.linear(X, W_v, b_v)  # (b, n, p) each
    scores = Q @ K.mT / divisor(X.shape[2], Q.shape[2], X.shape[1])  # (b, n, n)
    weights = weigh(scores, mask(causal_mask(X.shape[1])))
    return weights.detach(), mix(weights, Q, K, V)


def use(
    answer: Any, X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, b_q: Tensor, b_k: Tensor, b_v: Tensor
) -> tuple[Any, Any]:
    """What a layer made by the class returns with these parameters: its weights and its output."""
    if isinstance(answer, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses after its name")
    layer = answer(X.shape[2], len(W_q))
    if not isinstance(layer, nn.Module):
        raise WrongAnswer("the answer is a class of modules", "pass the class itself", got=type(layer).__name__)
    first = layer(X)  # lazy layers learn their sizes
    expect_parameters(layer)
    if not are_equal(layer(X), first):
        hint = "does forward make new random layers, drop something at random, or change X?"
        raise WrongAnswer("two calls give the same", hint)
    given = dict(zip(NAMES, (b_k, W_k, b_q, W_q, b_v, W_v), strict=True))
    found = functional_call(layer, given, (X,))
    output, weights = expect_pair(found, claim="it returns two things", hint="return output, weights")
    return weights.detach() if isinstance(weights, Tensor) else weights, output


def expect_parameters(layer: nn.Module) -> None:
    """The parameters are those of W_q, W_k and W_v, and all of them learn."""
    missing = [f"W_{letter}" for letter in "qkv" if not callable(getattr(layer, f"W_{letter}", None))]
    if missing:
        hint = "make the three layers once, in __init__: self.W_q = ..."
        raise WrongAnswer("the layer has W_q, W_k and W_v", hint, got=f"no {', '.join(missing)}")
    names = sorted(name for name, _ in layer.named_parameters())
    if names != NAMES:
        hint = "W_q, W_k and W_v, each with weight and bias, and no others"
        if not names:
            hint = "an optimiser sees only layers that are attributes, made once in __init__ with self.W_q = ..."
        elif set(names) < set(NAMES):
            hint = "two of the layers share a parameter: each has a weight and a bias of its own"
            if (different := len({id(getattr(layer, f"W_{letter}")) for letter in "qkv"})) < 3:
                hint = f"how many different layers are there? The three names stand for {different}"
            if all(f"W_{letter}.weight" in names for letter in "qkv"):
                hint = "each of the three has a bias of its own"
        raise WrongAnswer("its parameters are those of W_q, W_k and W_v", hint, got=names)
    if frozen := [name for name, parameter in layer.named_parameters() if not parameter.requires_grad]:
        raise WrongAnswer("every parameter learns", "who has switched requires_grad off?", got=frozen)


def write(d_model: int, width: int, b: int, n: int) -> str:
    return (
        f"torch.manual_seed(1); X = 1.0 * torch.randint(-1, 2, {(b, n, d_model)}); "
        f"W_q, W_k, W_v = 1.0 * torch.randint(-1, 2, {(3, width, d_model)}); "
        f"b_q, b_k, b_v = 1.0 * torch.randint(-1, 2, {(3, width)})"
    )


def write_extreme(high: list[Any]) -> str:
    return (
        f"X = torch.zeros(2, 5, 4); X[:, :, 0] = 1; X[:, :, 1] = torch.tensor({high}); W_q, W_k, W_v = "
        "torch.zeros(3, 6, 4); W_q[0, 0] = W_k[0, 1] = 2.0**63; b_q, b_k, b_v = torch.zeros(3, 6)"
    )


exercise(
    "debug-self-attention",
    attend,
    (
        write(7, 3, 2, 5),
        write(4, 6, 3, 70),
        *(
            Case(
                write_extreme(high),
                claim="a later token has no influence, whatever the scores",
                trained=False,
                edge=edge,
            )
            for high, edge in (
                ([2, 1, 0, 0, 1], "large scores"),
                ([1, 0, 0, 0, 3], "outweighed"),
                ([-3, -3.5, -3.5, -3.5, -3.5], "low scores"),
            )
        ),
        *(
            Case(write(*sizes), edge=edge)
            for edge, sizes in {"one example": (5, 2, 1, 4), "one token": (3, 4, 2, 1), "width 1": (4, 1, 2, 3)}.items()
        ),
    ),
    {
        "rows now sum to less than 1: mask the scores, not the weights": {
            "weigh": lambda scores, may: F.softmax(scores, 2) * may
        },
        "a score is a sum of as many products as a query is wide: which width do you take the root of?": {
            "divisor": lambda d, p, n: math.sqrt(d)
        },
        "you divide by the width, not by its root": {"divisor": lambda d, p, n: p},
        "the length of the sequence is not the width of a query": {"divisor": lambda d, p, n: math.sqrt(n)},
        "the scores are not scaled": {"divisor": lambda d, p, n: 1.0},
        "the mask is not used: the first token may see itself alone": {"mask": torch.ones_like},
        "the mask is transposed, or the wrong way round: the first token may see itself alone": (
            {"mask": lambda may: may.T},
            {"mask": lambda may: ~may},
        ),
        "a token does not skip itself": (
            {"mask": lambda may: may.tril(-1)},
            {"weigh": lambda scores, may: weigh(scores, may.tril(-1)).nan_to_num()},
        ),
        "what must one query's weights add up to? In a batch, dim=1 are the queries": {
            "weigh": lambda scores, may: F.softmax(scores.masked_fill(~may, -math.inf), 1)
        },
        "scores are not yet weights": {"weigh": lambda scores, may: scores},
        "e⁰ is 1: the score of a later token must be minus infinity": {
            "weigh": lambda scores, may: F.softmax(scores * may, 2)
        },
        "NaN: 0 times infinity? Or a row of -inf: does each token see itself?": {
            "weigh": lambda scores, may: torch.full_like(scores, math.nan)
        },
        "the weights mix values, not keys": {"mix": lambda A, Q, K, V: A @ K},
        "the weights mix values, not queries": {"mix": lambda A, Q, K, V: A @ Q},
        "each row of the weights belongs to one query: do not transpose them": {"mix": lambda A, Q, K, V: A.mT @ V},
    },
    claim="it is causal self-attention",
    verified="weights, output and gradients of input and parameters are right, for two sizes",
    hint="write the shape of each step next to it: which width does a score sum over, and who may see whom?",
    use=use,
    reference=call,
    trained=True,
    together=2,
    parts=("the weights", "the output"),
)
