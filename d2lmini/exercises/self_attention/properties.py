"""What a layer of self-attention keeps, and what a stack of them loses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.exercises.core import Mistakes, checker, expect_function, expect_measured, expect_unchanged


@checker("measure-equivariance")
def check_measure_equivariance(measure: Any) -> str:
    """`measure(g, X, order)`: the largest absolute entry of g(PX) - P g(X)."""
    expect_function(measure)
    X = torch.tensor(
        [
            [[-2.0, -8], [2, 1], [6, -6], [-4, 7]],
            [[-7, 7], [-6, 1], [-2, -2], [-9, 1]],
            [[7, -4], [-6, 6], [7, -9], [2, -1]],
        ]
    )  # the largest entries are in all three examples, and of both signs
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
        expected, mistakes = _measure_equivariance(f, X, order)
        expect_measured(
            answer,
            expected,
            claim="it is the largest absolute entry of g(PX) - P g(X)",
            given=f"{name}, X {X.int().tolist()}, order {order}",
            hint="compute g(PX) and P g(X) for a tiny X and print both",
            mistakes=mistakes,
        )
    return "right for four layers, equivariant or not"


def _measure_equivariance(f: Callable[[Tensor], Tensor], X: Tensor, order: list[int]) -> tuple[float, Mistakes]:
    difference = f(X[:, order]) - f(X)[:, order]
    inverse = [order.index(i) for i in range(len(order))]
    return difference.abs().max().item(), {
        "a difference may be negative: take absolute values": (difference.max().item(), -difference.min().item()),
        "the largest entry is asked for, not the mean": difference.abs().mean().item(),
        "the largest entry is asked for, not a sum": difference.abs().sum().item(),
        "the largest entry is asked for, not the norm": difference.norm().item(),
        "look at all examples of the batch": tuple(difference.abs().amax((1, 2)).tolist()),
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
            _measure_range(_run_stack(X, num_layers)),
            claim=f"it is the range after {num_layers} layers",
            given=f"X {X.int().tolist()}, num_layers {num_layers}",
            hint="print X after each layer: its rows are the tokens",
            mistakes=_list_wrong_ranges(X, num_layers),
            tolerance=1e-3,
        )
        expect_unchanged("X", argument, X, "make a new tensor in each layer")
    return "right for 0, 1 and 2 layers"


def _run_stack(X: Tensor, num_layers: int, scale: float = 5**0.5, *, residual: bool = False, dim: int = 1) -> Tensor:
    for _ in range(num_layers):
        new = F.softmax(X @ X.T / scale, dim) @ X
        X = X + new if residual else new
    return X


def _measure_range(X: Tensor) -> float:
    return (X.amax(0) - X.amin(0)).max().item()


def _list_wrong_ranges(X: Tensor, num_layers: int) -> dict[str, float]:
    deep = _run_stack(X, num_layers)
    frozen = torch.linalg.matrix_power(F.softmax(X @ X.T / 5**0.5, 1), num_layers) @ X

    def measure(num_layers: int = num_layers, **changes: Any) -> float:
        return _measure_range(_run_stack(X, num_layers, **changes))

    return {
        "the range is over the tokens of one feature, not over the features of one token": _measure_range(deep.T),
        "take each feature alone: largest minus smallest over the tokens": (deep.max() - deep.min()).item(),
        "the largest over the features is asked for, not their mean": (deep.amax(0) - deep.amin(0)).mean().item(),
        "largest minus smallest is asked for, not the standard deviation": deep.std(0).max().item(),
        "each layer computes new weights from its own input": _measure_range(frozen),
        "the scores are not scaled by √d": measure(scale=1.0),
        "each query's weights add up to 1: along which dimension does the softmax go?": measure(dim=0),
        "the layers of this exercise replace X: nothing is added to it": measure(residual=True),
        "one layer too many: with 0 layers X stays as it is": measure(num_layers + 1),
        "one layer too few": measure(max(num_layers - 1, 0)),
        "d is the width of a token, not the number of tokens": measure(scale=math.sqrt(len(X))),
    }
