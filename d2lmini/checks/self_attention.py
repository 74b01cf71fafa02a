"""Checkers of the chapter "Self-attention"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.checks.core import WrongAnswer, checker, expect_close, expect_function, hint_for, numbers, one_number


@checker("predict-causal-row")
def check_predict_causal_row(answer: Any) -> str:
    """Scores (1, 0, 0, 2) ln 2 of the third of four words, under a causal mask."""
    got = numbers(answer, 4)
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
    if _near(got, right):
        return "吃 sees the first three words, with 4 = 2 + 1 + 1"
    hint = next((text for wrong, text in mistakes.items() if _near(got, wrong)), "")
    if not hint and abs(sum(got) - 1) > 0.01:
        hint = "what must the weights of one query add up to?"
    raise WrongAnswer(
        "these are the four weights", hint or "which keys may 吃 see, and what is 2 to their scores?", got=got
    )


def _near(got: list[float], numbers: tuple[float, ...]) -> bool:
    return all(abs(one - other) <= 0.01 for one, other in zip(got, numbers, strict=True))


@checker("self-attention")
def check_self_attention(attend: Any) -> str:
    """``attend(X, W_q, W_k, W_v)``: output and weights of self-attention without a batch."""
    expect_function(attend)
    generator = torch.Generator().manual_seed(0)
    X = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 0, 1]])
    W_q, W_k, W_v = (torch.randn(size, 3, generator=generator) for size in (2, 2, 4))
    for given, arguments in (
        ("5 tokens of width 3, queries of width 2, values of width 4", (X, W_q, W_k, W_v)),
        (
            "6 tokens of width 4, all projections 4 by 4",
            tuple(torch.randn(n, 4, generator=generator) for n in (6, 4, 4, 4)),
        ),
    ):
        output, weights = _pair(attend(*(part.clone() for part in arguments)))
        expected = _attend(*arguments)
        wrong = _attention_mistakes(*arguments)
        expect_close(
            weights,
            expected[1],
            claim="the weights are softmax(QKᵀ/√p)",
            given=given,
            hint="compute queries, keys, scores and weights one by one and print each",
            mistakes={hint: pair[1] for hint, pair in wrong.items()},
        )
        expect_close(
            output,
            expected[0],
            claim="the output is the weights times the values",
            given=given,
            hint="the weights are right: what are they multiplied with?",
            mistakes={
                "the weights mix values, not tokens: where is W_v?": expected[1] @ arguments[0],
                "the weights mix values, not keys": expected[1] @ arguments[0] @ arguments[2].T,
                "each row of the weights belongs to one query: do not transpose them": expected[1].T
                @ arguments[0]
                @ arguments[3].T,
            },
        )
    return "weights and output are right, for two sets of widths"


def _pair(answer: Any) -> tuple[Any, Any]:
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise WrongAnswer("it returns two things", "return output, weights", got=type(answer).__name__)
    return answer[0], answer[1]


def _attend(
    X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, *, scale: float | None = None, dim: int = 1
) -> tuple[Tensor, Tensor]:
    scores = (X @ W_q.T) @ (X @ W_k.T).T / (math.sqrt(len(W_q)) if scale is None else scale)
    weights = F.softmax(scores, dim)
    return weights @ (X @ W_v.T), weights


def _attention_mistakes(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """What well-known mistakes give, by hint."""
    scores = (X @ W_q.T) @ (X @ W_k.T).T / math.sqrt(len(W_q))
    skipping = F.softmax(scores.masked_fill(torch.eye(len(X), dtype=torch.bool), -math.inf), 1)
    pairs = {
        "what must one query's weights add up to? Here each key's do": _attend(X, W_q, W_k, W_v, dim=0),
        "the scores are not scaled": _attend(X, W_q, W_k, W_v, scale=1.0),
        "a score is a sum of p products: you divide by p": _attend(X, W_q, W_k, W_v, scale=len(W_q)),
        "the length of the sequence is not the width of the queries": _attend(X, W_q, W_k, W_v, scale=len(X) ** 0.5),
        "the scale is the width of the queries, after the projection": _attend(
            X, W_q, W_k, W_v, scale=X.shape[1] ** 0.5
        ),
        "who asks, and who is asked? You swapped W_q and W_k": _attend(X, W_k, W_q, W_v),
        "the scores are symmetric: the keys have a projection of their own": _attend(X, W_q, W_q, W_v),
        "these are scores, not yet weights": (scores @ (X @ W_v.T), scores),
        "a token does not skip itself: is the diagonal 0?": (skipping @ (X @ W_v.T), skipping),
    }
    if W_q.shape[0] == W_q.shape[1]:
        pairs["as in nn.Linear a projection is XWᵀ: you forgot to transpose W"] = _attend(X, W_q.T, W_k.T, W_v.T)
    return pairs


@checker("debug-self-attention")
def check_debug_self_attention(make: Any) -> str:
    """A class of self-attention freed of its faults: parameters, scale, axis, and weights instead of scores."""
    expect_function(make)
    torch.manual_seed(0)
    layer, X = make(4), torch.randn(2, 3, 4)
    if not isinstance(layer, nn.Module):
        raise WrongAnswer("the answer is a class of modules", "pass the class itself", got=type(layer).__name__)
    names = [name for name, _ in layer.named_parameters()]
    if sorted(names) != sorted(f"W_{letter}.{part}" for letter in "qkv" for part in ("weight", "bias")):
        raise WrongAnswer(
            "its parameters are those of W_q, W_k and W_v",
            "an optimiser sees only layers that are attributes, made once in __init__ with self.W_q = ...",
            got=names,
        )
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    output, weights = _pair(layer(X))
    Q, K, V = (getattr(layer, f"W_{letter}")(X) for letter in "qkv")
    given = "a batch of 2 sequences of 3 tokens of width 4"

    def softmax(width: int, dim: int) -> Tensor:
        return F.softmax(Q @ K.transpose(1, 2) / math.sqrt(width), dim)

    expect_close(
        output,
        softmax(4, 2) @ V,
        claim="the output is softmax(QKᵀ/√d) V",
        given=given,
        hint="write the shape of each step next to it, and say which dimension is which",
        mistakes={
            "what must one query's weights add up to? In a batch, dim=1 are the queries": softmax(4, 1) @ V,
            "X.shape[1] is the length of the sequence, not its width": softmax(3, 2) @ V,
            "two faults are left: which dimension is the width, and which are the keys?": softmax(3, 1) @ V,
            "the weights mix values: where is W_v?": softmax(4, 2) @ X,
        },
    )
    expect_close(
        weights,
        softmax(4, 2),
        claim="the second result are the weights",
        given=given,
        hint="return what the values were multiplied with",
        mistakes={
            "scores are not yet weights: some are negative": Q @ K.transpose(1, 2) / 2,
            "scores are not yet weights: these are not even scaled": Q @ K.transpose(1, 2),
        },
    )
    return "it learns, scales by √d, and each query's weights add up to 1"


@checker("measure-equivariance")
def check_measure_equivariance(measure: Any) -> str:
    """``measure(f, X, order)``: the largest absolute entry of f(PX) - P f(X)."""
    expect_function(measure)
    X = torch.tensor([[[1.0, 4], [2, 0], [9, 3], [0, 1]], [[0, 5], [1, 1], [2, -9], [7, 3]]])
    order = [1, 2, 3, 0]  # not its own inverse
    layers: dict[str, Callable[[Tensor], Tensor]] = {
        "f(X) = 2X": lambda X: 2 * X,
        "f(X) = sums over earlier tokens": lambda X: X.cumsum(1),
        "f(X) = differences of neighbours": lambda X: X - X.roll(1, 1),
        "f(X) = -X times place": lambda X: -X * torch.arange(4.0)[:, None],
    }
    for name, f in layers.items():
        got = one_number(measure(f, X.clone(), list(order)))
        expected, mistakes = _equivariance(f, X, order)
        if not abs(got - expected) <= 1e-4:
            raise WrongAnswer(
                "it is the largest absolute entry of f(PX) - P f(X)",
                hint_for(got, mistakes, "compute f(PX) and P f(X) for a tiny X and print both"),
                given=f"{name}, X {X.int().tolist()}, order {order}",
                expected=expected,
                got=got,
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
def check_stacked_self_attention(spread_after: Any) -> str:
    """``spread_after(X, num_layers)``: the spread of the tokens after layers of softmax(XXᵀ/√d) X."""
    expect_function(spread_after)
    X = torch.tensor([[0.0, 1, 2, 9], [1, 0, 0, 8], [3, 1, -1, 8]])
    for num_layers in (0, 1, 3):
        argument = X.clone()
        got = one_number(spread_after(argument, num_layers))
        expected = _spread(_stack(X, num_layers))
        if abs(got - expected) <= 1e-3:
            if not torch.equal(argument, X):
                raise WrongAnswer("the argument X is left unchanged", "make a new tensor in each layer", got=argument)
            continue
        mistakes = _spread_mistakes(X, num_layers)
        raise WrongAnswer(
            f"it is the spread after {num_layers} layers",
            hint_for(got, mistakes, "print X after each layer: its rows are the tokens", tolerance=1e-3),
            given=f"X {X.int().tolist()}, num_layers {num_layers}",
            expected=round(expected, 4),
            got=round(got, 4),
        )
    return "right for 0, 1 and 3 layers"


def _stack(X: Tensor, num_layers: int, scale: float = 2.0, *, residual: bool = False, dim: int = 1) -> Tensor:
    for _ in range(num_layers):
        new = F.softmax(X @ X.T / scale, dim) @ X
        X = X + new if residual else new
    return X


def _spread(X: Tensor) -> float:
    return (X.amax(0) - X.amin(0)).max().item()


def _spread_mistakes(X: Tensor, num_layers: int) -> dict[str, float]:
    deep = _stack(X, num_layers)
    frozen = torch.linalg.matrix_power(F.softmax(X @ X.T / 2, 1), num_layers) @ X
    return {
        "the spread is over the tokens of one feature, not over the features of one token": (
            deep.amax(1) - deep.amin(1)
        )
        .max()
        .item(),
        "take each feature alone: largest minus smallest over the tokens": (deep.max() - deep.min()).item(),
        "the largest over the features is asked for, not their mean": (deep.amax(0) - deep.amin(0)).mean().item(),
        "largest minus smallest is asked for, not the standard deviation": deep.std(0).max().item(),
        "each layer computes new weights from its own input": _spread(frozen),
        "the scores are not scaled by √d": _spread(_stack(X, num_layers, 1.0)),
        "each query's weights add up to 1: along which dimension does the softmax go?": _spread(
            _stack(X, num_layers, dim=0)
        ),
        "the layers of this exercise replace X: nothing is added to it": _spread(_stack(X, num_layers, residual=True)),
        "one layer too many: with 0 layers X stays as it is": _spread(_stack(X, num_layers + 1)),
    }
