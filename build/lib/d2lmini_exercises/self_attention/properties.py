"""What a layer of self-attention keeps, and what a stack of them loses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import Mistakes, checker, expect_function, expect_measured, expect_unchanged
from d2lmini_exercises.extremes import OVERFLOW
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.prediction import Number, prediction


@checker("measure-equivariance")
def check_measure_equivariance(measure: Any) -> str:
    """`measure(g, X, order)`: the largest absolute entry of g(PX) - P g(X)."""
    expect_function(measure)
    # the largest entries are in all examples, and of both signs; the orders are neither shifts nor their own inverses
    # of the last batch, the largest are also in the last example, token and feature: no part of it is enough
    far = [4, 9, 2, 12, 0, 7, 11, 1, 5, 10, 3, 8, 6]
    for seed, shape, order in (
        (176, (3, 4, 2), [2, 0, 3, 1]),
        (9, (2, 5, 3), [1, 4, 0, 2, 3]),
        (2622, (11, 13, 12), far),
    ):
        (X,), code = draw_inputs(seed, most=50, X=shape)
        _expect_errors(measure, X, order, code)
    return f"right for {len(_LAYERS)} layers, equivariant or not, with parameters, of other widths, and three sizes"


# A layer's code, and the layer: the first tells the hints apart.
_WEIGHT = torch.tensor([2.0, -1]).requires_grad_()
_LAYERS: dict[str, Callable[[Tensor], Tensor]] = {
    "g = lambda X: X.cumsum(1)": lambda X: X.cumsum(1),
    "g = lambda X: X - X.roll(1, 1)": lambda X: X - X.roll(1, 1),
    "g = lambda X: -X * torch.arange(X.shape[1])[:, None]": lambda X: -X * torch.arange(X.shape[1])[:, None],
    "g = lambda X: 2 * X": lambda X: 2 * X,
    "g = lambda X: torch.cat([X.roll(1, 1), 3 * X.cumsum(1)], 2)": lambda X: torch.cat(
        [X.roll(1, 1), 3 * X.cumsum(1)], 2
    ),
    "g = lambda X: X.cumsum(1).sum(2, keepdim=True)": lambda X: X.cumsum(1).sum(2, keepdim=True),
    "weight = torch.tensor([2.0, -1]).requires_grad_(); g = lambda X: X.cumsum(1)[:, :, :1] * weight": (
        lambda X: X.cumsum(1)[:, :, :1] * _WEIGHT
    ),
    "g = lambda X: X.cumsum(1) / 2**20": lambda X: X.cumsum(1) / 2**20,
}


def _expect_errors(measure: Any, X: Tensor, order: list[int], code: str) -> None:
    for layer, f in _LAYERS.items():
        argument = X.clone()
        answer = measure(f, argument, list(order))
        expect_unchanged("X", argument, X, "X[:, order] makes a new tensor")
        expected, mistakes = _measure_equivariance(f, X, order)
        expect_measured(
            answer,
            expected,
            claim="it is the largest absolute entry of g(PX) - P g(X)",
            given=f"{code}; order = {order}; {layer}",
            hint="compute g(PX) and P g(X) for a tiny X and print both",
            mistakes=mistakes,
            tolerance=1e-8,
        )


def _measure_equivariance(f: Callable[[Tensor], Tensor], X: Tensor, order: list[int]) -> tuple[float, Mistakes]:
    difference = (f(X[:, order]) - f(X)[:, order]).detach()
    inverse = [order.index(i) for i in range(len(order))]

    def largest(one: Tensor, other: Tensor) -> float:
        return (one - other).abs().max().item()

    return difference.abs().max().item(), {
        "do you round? The error is small, but it is not that number": tuple(
            number for digits in (4, 5, 6) if (number := round(difference.abs().max().item(), digits)) > 0
        ),
        "a difference may be negative: take absolute values": (difference.max().item(), -difference.min().item()),
        "the largest entry is asked for, not the mean": difference.abs().mean().item(),
        "the largest entry is asked for, not a sum": difference.abs().sum().item(),
        "the largest entry is asked for, not the norm": difference.norm().item(),
        "the largest entry of the whole batch: of all examples, tokens and features": (
            *difference.abs().amax((1, 2)).tolist(),
            *_list_beginnings(difference),
        ),
        "equivariant is not invariant: shuffle the output as well": largest(f(X[:, order]), f(X)),
        "that is how far a shuffle moves the output: where does g see a shuffled input?": largest(f(X), f(X)[:, order]),
        "PX is X[:, order]: you shuffle both with the inverse of this order": (
            largest(f(X[:, inverse]), f(X)[:, inverse])
        ),
        "the difference of absolute values is another thing than the absolute value of the difference": (
            largest(f(X[:, order]).abs(), f(X)[:, order].abs())
        ),
        "which token of X stands at place 0 on each of your two sides? It must be the same one": (
            largest(f(X[:, order]), f(X)[:, inverse])
        ),
    }


def _list_beginnings(difference: Tensor) -> list[float]:
    """The largest entries of the first examples, tokens or features alone."""
    sizes = [(dim, size) for dim, whole in enumerate(difference.shape) for size in range(1, whole)]
    largest = [difference.abs().narrow(dim, 0, size).max().item() for dim, size in sizes]
    return [number for number in largest if number > 0]


@checker("stacked-self-attention")
def check_stacked_self_attention(range_after: Any) -> str:
    """`range_after(X, num_layers)`: the range of the tokens after layers of softmax(XXᵀ/√d) X."""
    expect_function(range_after)
    X = torch.tensor([[-2.0, 3, -1, 3, 0], [2, 2, -1, -1, -3], [1, 1, -2, 1, 2], [-2, 3, -2, 2, 0]])
    (other,), code = draw_inputs(1, most=1, X=(7, 3))
    plain = f"X = torch.tensor({X.tolist()})"
    for tokens, given, num_layers, hint in (
        (X, plain, 0, ""),
        (X, plain, 1, ""),
        (X, plain, 2, ""),
        (other, code, 3, ""),
        (10 * X, plain.replace("X = ", "X = 10 * "), 2, OVERFLOW),
        (X, plain, 40, "is there a layer for each i in range(num_layers), or do you stop earlier?"),
    ):
        argument, right = tokens.clone(), _measure_range(_run_stack(tokens, num_layers))
        wrong = {} if hint else _list_wrong_ranges(tokens, num_layers)
        wrong |= _list_wrong_scales(tokens) if num_layers == 1 else {}  # with more layers they have shown before
        expect_measured(
            range_after(argument, num_layers),
            right,
            claim=f"it is the range after {num_layers} layers",
            given=f"{given}; num_layers = {num_layers}",
            hint=hint or "print X after each layer: its rows are the tokens",
            mistakes=wrong,
            tolerance=1e-3,
        )
        expect_unchanged("X", argument, tokens, "make a new tensor in each layer")
    return "right for 0 to 40 layers, two sizes, and very high scores"


def _run_stack(
    X: Tensor, num_layers: int, scale: float | None = None, *, residual: bool = False, dim: int = 1
) -> Tensor:
    for _ in range(num_layers):
        new = F.softmax(X @ X.T / (scale or X.shape[1] ** 0.5), dim) @ X
        X = X + new if residual else new
    return X


def _measure_range(X: Tensor) -> float:
    return (X.amax(0) - X.amin(0)).max().item()


def _list_wrong_scales(X: Tensor) -> dict[str, float]:
    wrong = {
        "the scores are not scaled by √d": 1.0,
        "d is the width of a token, not the number of tokens": math.sqrt(len(X)),
        "divide by the root of d, not by d": float(X.shape[1]),
    }
    return {hint: _measure_range(_run_stack(X, 1, scale)) for hint, scale in wrong.items()}


def _list_wrong_ranges(X: Tensor, num_layers: int) -> dict[str, float]:
    deep = _run_stack(X, num_layers)
    frozen = torch.linalg.matrix_power(F.softmax(X @ X.T / X.shape[1] ** 0.5, 1), num_layers) @ X

    def measure(num_layers: int = num_layers, **changes: Any) -> float:
        return _measure_range(_run_stack(X, num_layers, **changes))

    wrong = {
        "the range is over the tokens of one feature, not over the features of one token": _measure_range(deep.T),
        "take each feature alone: largest minus smallest over the tokens": (deep.max() - deep.min()).item(),
        "the largest over the features is asked for, not their mean": (deep.amax(0) - deep.amin(0)).mean().item(),
        "largest minus smallest is asked for, not the standard deviation": deep.std(0).max().item(),
        "each layer computes new weights from its own input": _measure_range(frozen),
        "each query's weights add up to 1: along which dimension does the softmax go?": measure(dim=0),
        "the layers of this exercise replace X: nothing is added to it": measure(residual=True),
        "one layer too many: with 0 layers X stays as it is": measure(num_layers + 1),
        "one layer too few": measure(max(num_layers - 1, 0)),
    }
    return {hint: found for hint, found in wrong.items() if found > 0.01}  # many a mistake returns 0


# Of the 24 orders of four tokens, those that a layer keeps.
prediction(
    "use-equivariance",
    Number(
        "the number of orders for self-attention",
        24,
        hint="go through itertools.permutations(range(4)), and count the errors below 0.000001",
        mistakes={
            "the order that changes nothing counts as well": 23,
            "a list of orders that are no permutations? There are 4 · 3 · 2 · 1": (256, 120),
            "is your layer given a mask, or positions? Without them no order matters": (1, 4),
        },
    ),
    Number(
        "the number of orders with a causal mask",
        1,
        hint="go through itertools.permutations(range(4)), and count the errors below 0.000001",
        mistakes={
            "one order changes nothing at all: which?": 0,
            "does the mask arrive? layer(X)[0] has none": 24,
            "in a causal mask each row allows another number of keys: print the orders that you count": (2, 3, 4, 6),
        },
    ),
    Number(
        "the number of orders for the convolution",
        4,
        hint='is padding_mode="circular" set, so that the last token is a neighbour of the first?',
        mistakes={
            "with zeros at both ends the first token is not like the others: set padding_mode": 1,
            "mirror images do not count: the kernel tells left from right": 8,
            "the order that changes nothing counts as well": 3,
            "only self-attention keeps all orders: does your convolution see its neighbours?": 24,
        },
    ),
    right="24, 1 and 4: any order, none but the old one, and the shifts around the circle",
)

# X = [[2, 0, 1], [0, 1, -1], [-1, 2, 0], [1, 1, 1]]: its range falls from 3 to 0.52 in three layers, and then to 0.02.
prediction(
    "use-stack",
    Number(
        "the number of layers",
        4,
        hint="print the range after 0, 1, 2, ... layers, and divide each by the first",
        mistakes={
            "after 3 layers a sixth of the range is left": 3,
            "a hundredth of the first range, not 0.01": 5,
            "the range is below a hundredth of the first one earlier than that": (6, 7, 8),
        },
    ),
    Number(
        "the range of the long tokens",
        8.9374,
        hint="three times as long: range_after(3 * X, 10)",
        mistakes={
            "that is the range before the first layer": 9.0,
            "those are tokens of the old length": (0.0, 0.02),
            "that is twice as long, not three times": 5.7458,
            "the share of the range is not asked for, but the range itself": 0.993,
        },
        tolerance=0.006,
    ),
    right="after four layers the short tokens are nearly equal; the long ones keep nearly all of their range for ten",
)
