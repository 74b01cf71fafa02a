"""Checkers of the chapter "Self-attention"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini.exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_measured,
    expect_unchanged,
    read_numbers,
)


@checker("predict-causal-row")
def check_predict_causal_row(answer: Any) -> str:
    """Scores (1, 0, 0, 2) ln 2 of the third of four words, under a causal mask."""
    got = read_numbers(answer, 4)
    right = (1 / 2, 1 / 4, 1 / 4, 0)
    mistakes = {
        (2 / 8, 1 / 8, 1 / 8, 4 / 8): "吃 is the third word: may it see 苹果?",
        (2 / 8, 1 / 8, 1 / 8, 0): "a row now sums to less than 1: mask before the softmax",
        (2 / 3, 1 / 3, 0, 0): "a token does not skip itself: is the diagonal 0?",
        (0, 0, 1 / 5, 4 / 5): "the mask is transposed: the first word may see one key, the last word all four",
        (0, 0, 0, 1): "the mask is transposed, and a token sees itself, too",
        (2, 1, 1, 0): "these are powers of 2, not yet weights: divide by their sum",
        (1, 0, 0, 0): "scores are not yet weights: what is e⁰?",
        (2 / 6, 1 / 6, 1 / 6, 2 / 6): "a masked key has the score minus infinity, not 0: e⁰ is 1",
        (2 / 5, 1 / 5, 1 / 5, 1 / 5): "a masked key has the score minus infinity, not 0: e⁰ is 1",
    }
    if _near(got, right) and abs(sum(got) - 1) <= 0.01:
        return "吃 sees the first three words, with 4 = 2 + 1 + 1"
    hint = next((text for wrong, text in mistakes.items() if _near(got, wrong)), "")
    if not hint and abs(sum(got) - 1) > 0.01:
        hint = "what must the weights of one query add up to?"
    raise WrongAnswer(
        "these are the four weights", hint or "which keys may 吃 see, and what is 2 to their scores?", got=got
    )


def _near(got: list[float], numbers: tuple[float, ...]) -> bool:
    return all(abs(one - other) <= 0.01 for one, other in zip(got, numbers, strict=True))


@checker("causal-self-attention")
def check_causal_self_attention(attend: Any) -> str:
    """`attend(X, W_q, W_k, W_v)`: output and weights of causal self-attention for a batch."""
    expect_function(attend)
    generator = torch.Generator().manual_seed(0)
    for b, n, d, p, v in ((1, 5, 3, 3, 3), (2, 4, 3, 2, 5)):
        X = torch.randn(b, n, d, generator=generator)
        Ws = [torch.randn(size, d, generator=generator) for size in (p, p, v)]
        given = f"random X of shape {(b, n, d)}, W_q and W_k {(p, d)}, W_v {(v, d)}"
        arguments = [X.clone(), *(W.clone() for W in Ws)]
        output, weights = _pair(attend(*arguments))
        values, expected = X @ Ws[2].T, _causal_weights(X, *Ws[:2])
        expect_close(
            weights,
            expected,
            claim="the weights are those of softmax attention to the token itself and earlier ones",
            given=given,
            hint="compute queries, keys, scores, mask and weights one by one and print each",
            mistakes=_weight_mistakes(X, *Ws[:2]),
        )
        expect_close(
            output,
            expected @ values,
            claim="the output is the weights times the values",
            given=given,
            hint="the weights are right: what are they multiplied with?",
            mistakes={
                "the weights mix values: where is W_v?": expected @ X,
                "the weights mix values, not keys": expected @ X @ Ws[1].T,
                "as in nn.Linear a projection is XWᵀ: you forgot to transpose W_v": expected @ X @ Ws[2]
                if v == d
                else values,
                "each row of the weights belongs to one query: do not transpose them": expected.mT @ values,
            },
        )
        if not all(map(torch.equal, arguments, [X, *Ws])):
            raise WrongAnswer("the arguments are left unchanged", "an operation that ends in _ works in place")
    return "weights and output are right, for two sets of sizes"


def _pair(answer: Any) -> tuple[Any, Any]:
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise WrongAnswer("it returns two things", "return output, weights", got=type(answer).__name__)
    return answer[0], answer[1]


def _causal_weights(
    X: Tensor, W_q: Tensor, W_k: Tensor, *, scale: float | None = None, dim: int = 2, mask: Tensor | None = None
) -> Tensor:
    """Weights of causal self-attention, right unless told otherwise."""
    scores = (X @ W_q.T) @ (X @ W_k.T).mT / (math.sqrt(len(W_q)) if scale is None else scale)
    mask = causal_mask(X.shape[1]) if mask is None else mask
    return F.softmax(scores.masked_fill(~mask, -math.inf), dim)


def _weight_mistakes(X: Tensor, W_q: Tensor, W_k: Tensor) -> dict[str, Tensor]:
    """What well-known mistakes give, by hint."""
    n, d, p = *X.shape[1:], len(W_q)
    causal, everything = causal_mask(n), torch.ones(n, n, dtype=torch.bool)
    unmasked = _causal_weights(X, W_q, W_k, mask=everything)
    scores = (X @ W_q.T) @ (X @ W_k.T).mT / math.sqrt(p)
    mistakes = {
        "what must one query's weights add up to? In a batch, dim=1 are the queries": _causal_weights(
            X, W_q, W_k, dim=1
        ),
        "the mask is not used: row 0 may see one key": unmasked,
        "NaN: a token without any key. Does it see itself? And is True where it may attend?": _causal_weights(
            X, W_q, W_k, mask=~causal
        ),
        "a token does not skip itself, and the first one then sees nothing": _causal_weights(
            X, W_q, W_k, mask=causal.tril(-1)
        ),
        "the mask is one too wide: token 0 may not see token 1": _causal_weights(X, W_q, W_k, mask=everything.tril(1)),
        "the mask is transposed: row 0 may see one key": _causal_weights(X, W_q, W_k, mask=causal.T),
        "a token does not skip itself: is the diagonal 0?": _causal_weights(
            X, W_q, W_k, mask=causal.tril(-1)
        ).nan_to_num(),
        "True means may attend: your mask works the other way round": F.softmax(scores.masked_fill(causal, -1e9), 2),
        "rows now sum to less than 1: mask the scores, not the weights": unmasked * causal,
        "e⁰ is 1: the score of a masked key must be minus infinity": F.softmax(scores * causal, 2),
        "the scores are not scaled": _causal_weights(X, W_q, W_k, scale=1.0),
        "a score is a sum of p products: you divide by p, not by its root": _causal_weights(X, W_q, W_k, scale=p),
        "the length of the sequence is not the width of the queries": _causal_weights(X, W_q, W_k, scale=n**0.5),
        "who asks, and who is asked? You swapped W_q and W_k": _causal_weights(X, W_k, W_q),
        "the keys have a projection of their own": _causal_weights(X, W_q, W_q),
        "these are scores, not yet weights": scores.masked_fill(~causal, -math.inf),
        "these are scores, neither masked nor weights yet": scores,
    }
    if p == d:
        transposed = _causal_weights(X, W_q.T, W_k.T)
        return mistakes | {"as in nn.Linear a projection is XWᵀ: you forgot to transpose W": transposed}
    too_wide = _causal_weights(X, W_q, W_k, scale=d**0.5)
    return mistakes | {"the scale is the width of the queries, after the projection": too_wide}


@checker("debug-self-attention")
def check_debug_self_attention(make: Any) -> str:
    """A class of self-attention freed of its faults: parameters, scale, axis, and weights instead of scores."""
    if isinstance(make, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses after its name")
    expect_function(make)
    torch.manual_seed(0)
    layer, X = make(5), torch.randn(3, 4, 5)
    if not isinstance(layer, nn.Module):
        raise WrongAnswer("the answer is a class of modules", "pass the class itself", got=type(layer).__name__)
    _expect_parameters(layer)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    output, weights = _pair(layer(X))
    if not torch.equal(output, _pair(layer(X))[0]):
        hint = "does forward make new random layers, drop something at random, or change X?"
        raise WrongAnswer("two calls give the same", hint)
    Q, K, V = (getattr(layer, f"W_{letter}")(X) for letter in "qkv")
    given = "a batch of 3 sequences of 4 tokens of width 5"

    def softmax(width: int, dim: int) -> Tensor:
        return F.softmax(Q @ K.transpose(1, 2) / math.sqrt(width), dim)

    expect_close(
        output,
        softmax(5, 2) @ V,
        claim="the output is softmax(QKᵀ/√d) V",
        given=given,
        hint="write the shape of each step next to it, and say which dimension is which",
        mistakes={
            "what must one query's weights add up to? In a batch, dim=1 are the queries": softmax(5, 1) @ V,
            "X.shape[1] is the length of the sequence, not its width": softmax(4, 2) @ V,
            "two faults are left: which dimension is the width, and which are the keys?": softmax(4, 1) @ V,
            "the scores are not scaled": softmax(1, 2) @ V,
            "the weights mix values: where is W_v?": softmax(5, 2) @ X,
        },
    )
    expect_close(
        weights,
        softmax(5, 2),
        claim="the second result are the weights",
        given=given,
        hint="return what the values were multiplied with",
        mistakes={
            "scores are not yet weights: some are negative": Q @ K.transpose(1, 2) / math.sqrt(5),
            "scores are not yet weights: these are not even scaled": Q @ K.transpose(1, 2),
        },
    )
    _expect_gradients(layer, output)
    return "it learns, scales by √d, and each query's weights add up to 1"


def _expect_gradients(layer: nn.Module, output: Tensor) -> None:
    if output.requires_grad:
        output.square().sum().backward()
    lost = [name for name, parameter in layer.named_parameters() if parameter.grad is None]
    if lost:
        raise WrongAnswer("every parameter gets a gradient", "what cuts the output off from the parameters?", got=lost)


def _expect_parameters(layer: nn.Module) -> None:
    names = sorted(name for name, _ in layer.named_parameters())
    if names != sorted(f"W_{letter}.{part}" for letter in "qkv" for part in ("weight", "bias")):
        hint = "W_q, W_k and W_v, each with weight and bias, and no others"
        if not names:
            hint = "an optimiser sees only layers that are attributes, made once in __init__ with self.W_q = ..."
        raise WrongAnswer("its parameters are those of W_q, W_k and W_v", hint, got=names)


@checker("measure-equivariance")
def check_measure_equivariance(measure: Any) -> str:
    """`measure(g, X, order)`: the largest absolute entry of g(PX) - P g(X)."""
    expect_function(measure)
    X = torch.tensor([[[1.0, 4], [2, 0], [9, 3], [0, 1]], [[0, 5], [1, 1], [2, -9], [7, 3]]])
    order = [2, 0, 3, 1]  # neither its own inverse nor a shift
    layers: dict[str, Callable[[Tensor], Tensor]] = {
        "g(X) = 2X": lambda X: 2 * X,
        "g(X) = sums over earlier tokens": lambda X: X.cumsum(1),
        "g(X) = differences of neighbours": lambda X: X - X.roll(1, 1),
        "g(X) = -X times place": lambda X: -X * torch.arange(4.0)[:, None],
    }
    for name, f in layers.items():
        argument = X.clone()
        answer = measure(f, argument, list(order))
        expect_unchanged("X", argument, X, "X[:, order] makes a new tensor")
        expected, mistakes = _equivariance(f, X, order)
        expect_measured(
            answer,
            expected,
            claim="it is the largest absolute entry of g(PX) - P g(X)",
            given=f"{name}, X {X.int().tolist()}, order {order}",
            hint="compute g(PX) and P g(X) for a tiny X and print both",
            mistakes=mistakes,
        )
    return "right for four layers, equivariant or not"


def _equivariance(f: Callable[[Tensor], Tensor], X: Tensor, order: list[int]) -> tuple[float, dict[str, float]]:
    difference = f(X[:, order]) - f(X)[:, order]
    inverse = [order.index(i) for i in range(len(order))]
    return difference.abs().max().item(), {
        "a difference may be negative: take absolute values": difference.max().item(),
        "the largest entry is asked for, not the mean": difference.abs().mean().item(),
        "the largest entry is asked for, not a sum": difference.abs().sum().item(),
        "the largest entry is asked for, not the norm": difference.norm().item(),
        "look at all examples of the batch": difference[0].abs().max().item(),
        "equivariant is not invariant: shuffle the output as well": (f(X[:, order]) - f(X)).abs().max().item(),
        "shuffle input and output with the same order, not with its inverse": (f(X[:, order]) - f(X)[:, inverse])
        .abs()
        .max()
        .item(),
    }


@checker("stacked-self-attention")
def check_stacked_self_attention(range_after: Any) -> str:
    """`range_after(X, num_layers)`: the range of the tokens after layers of softmax(XXᵀ/√d) X."""
    expect_function(range_after)
    X = torch.tensor([[-2.0, 3, -1, 3, 0], [2, 2, -1, -1, -3], [1, 1, -2, 1, 2], [-2, 3, -2, 2, 0]])
    for num_layers in (0, 1, 2):
        argument = X.clone()
        expect_measured(
            range_after(argument, num_layers),
            _range(_stack(X, num_layers)),
            claim=f"it is the range after {num_layers} layers",
            given=f"X {X.int().tolist()}, num_layers {num_layers}",
            hint="print X after each layer: its rows are the tokens",
            mistakes=_range_mistakes(X, num_layers),
            tolerance=1e-3,
        )
        expect_unchanged("X", argument, X, "make a new tensor in each layer")
    return "right for 0, 1 and 2 layers"


def _stack(X: Tensor, num_layers: int, scale: float = 5**0.5, *, residual: bool = False, dim: int = 1) -> Tensor:
    for _ in range(num_layers):
        new = F.softmax(X @ X.T / scale, dim) @ X
        X = X + new if residual else new
    return X


def _range(X: Tensor) -> float:
    return (X.amax(0) - X.amin(0)).max().item()


def _range_mistakes(X: Tensor, num_layers: int) -> dict[str, float]:
    deep = _stack(X, num_layers)
    frozen = torch.linalg.matrix_power(F.softmax(X @ X.T / 5**0.5, 1), num_layers) @ X
    return {
        "the range is over the tokens of one feature, not over the features of one token": (deep.amax(1) - deep.amin(1))
        .max()
        .item(),
        "take each feature alone: largest minus smallest over the tokens": (deep.max() - deep.min()).item(),
        "the largest over the features is asked for, not their mean": (deep.amax(0) - deep.amin(0)).mean().item(),
        "largest minus smallest is asked for, not the standard deviation": deep.std(0).max().item(),
        "each layer computes new weights from its own input": _range(frozen),
        "the scores are not scaled by √d": _range(_stack(X, num_layers, 1.0)),
        "each query's weights add up to 1: along which dimension does the softmax go?": _range(
            _stack(X, num_layers, dim=0)
        ),
        "the layers of this exercise replace X: nothing is added to it": _range(_stack(X, num_layers, residual=True)),
        "one layer too many: with 0 layers X stays as it is": _range(_stack(X, num_layers + 1)),
        "one layer too few": _range(_stack(X, max(num_layers - 1, 0))),
        "d is the width of a token, not the number of tokens": _range(_stack(X, num_layers, math.sqrt(len(X)))),
    }
