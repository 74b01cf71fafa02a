"""What a layer of self-attention keeps, and what a stack of them loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.extremes import OVERFLOW
from d2lmini_exercises.prediction import Number, prediction


def invert(order: list[int]) -> list[int]:
    return [order.index(i) for i in range(len(order))]


def err(
    g: Callable[[Tensor], Tensor], X: Tensor, order: list[int],
    *, difference: Any = lambda g, X, order: g(X[:, order]) - g(X)[:, order], largest: Any = lambda D: D.abs().max(),
) -> Any:  # fmt: skip
    """How far a layer is from equivariant, right unless told otherwise."""
    return float(largest(difference(g, X, order).detach()))


LAYERS = (
    "X.cumsum(1)", "X - X.roll(1, 1)", "-X * torch.arange(X.shape[1])[:, None]", "2 * X",
    "torch.cat([X.roll(1, 1), 3 * X.cumsum(1)], 2)", "X.cumsum(1).sum(2, keepdim=True)",
    "X.cumsum(1)[:, :, :1] * torch.tensor([2.0, -1]).requires_grad_()", "X.cumsum(1) / 2**20",
)  # fmt: skip
exercise("measure-equivariance", err,
    # the largest entries are in all examples, and of both signs; the orders are neither shifts nor their own inverses
    # of the last batch, the largest are also in the last example, token and feature: no part of it is enough
    tuple(
        Case(f"{draw(seed, most=50, X=shape)}; order = {order}; g = lambda X: {layer}", tolerance=1e-8)
        for seed, shape, order in (
            (176, (3, 4, 2), [2, 0, 3, 1]), (9, (2, 5, 3), [1, 4, 0, 2, 3]),
            (2622, (11, 13, 12), [4, 9, 2, 12, 0, 7, 11, 1, 5, 10, 3, 8, 6]),
        )
        for layer in LAYERS
    ),
    {
        "do you round? The error is small, but it is not that number": tuple(
            {"largest": lambda D, k=k: round(D.abs().max().item(), k)} for k in (4, 5, 6)
        ),
        "a difference may be negative: take absolute values": ({"largest": torch.max}, {"largest": lambda D: -D.min()}),
        "the largest entry is asked for, not the mean, a sum or the norm": (
            {"largest": lambda D: D.abs().mean()}, {"largest": lambda D: D.abs().sum()}, {"largest": torch.norm},
        ),
        "the largest entry of the whole batch: of all examples, tokens and features": (
            *({"largest": lambda D, k=k: D[k].abs().max()} for k in (0, -1)),
            *(
                {"largest": lambda D, dim=dim, k=k: D.narrow(dim, 0, min(k, D.shape[dim])).abs().max()}
                for dim in range(3)
                for k in range(1, 13)
                if k < (11, 13, 12)[dim]
            ),
        ),
        "equivariant is not invariant: shuffle the output as well":
            {"difference": lambda g, X, order: g(X[:, order]) - g(X)},
        "that is how far a shuffle moves the output: where does g see a shuffled input?":
            {"difference": lambda g, X, order: g(X) - g(X)[:, order]},
        "PX is X[:, order]: you shuffle both with the inverse of this order":
            lambda g, X, order: err(g, X, invert(order)),
        "the difference of absolute values is another thing than the absolute value of the difference":
            {"difference": lambda g, X, order: g(X[:, order]).abs() - g(X)[:, order].abs()},
        "which token of X stands at place 0 on each of your two sides? It must be the same one":
            {"difference": lambda g, X, order: g(X[:, order]) - g(X)[:, invert(order)]},
    },
    claim="it is the largest absolute entry of g(PX) - P g(X)",
    verified=f"right for {len(LAYERS)} layers, equivariant or not, with parameters, of other widths, and three sizes",
    hint="compute g(PX) and P g(X) for a tiny X and print both",
)  # fmt: skip


def stack(
    X: Tensor, num_layers: int,
    *, divide: Any = lambda n, d: d**0.5, dim: int = 1, residual: bool = False, frozen: bool = False, more: int = 0,
    spread: Any = lambda X: (X.amax(0) - X.amin(0)).max(),
) -> Any:  # fmt: skip
    """The range after layers of self-attention, right unless told otherwise."""
    first = X
    for _ in range(num_layers + more):
        source = first if frozen else X
        X = residual * X + F.softmax(source @ source.T / divide(*X.shape), dim) @ X
    return float(spread(X))


PLAIN = "X = torch.tensor([[-2.0, 3, -1, 3, 0], [2, 2, -1, -1, -3], [1, 1, -2, 1, 2], [-2, 3, -2, 2, 0]])"
STOPPED = "is there a layer for each i in range(num_layers), or do you stop earlier?"
exercise("stacked-self-attention", stack,
    tuple(
        Case(f"{code}; num_layers = {layers}", hint, f"it is the range after {layers} layers", 1e-3)
        for code, layers, hint in (
            *((PLAIN, layers, "") for layers in (0, 1, 2)), (draw(1, most=1, X=(7, 3)), 3, ""),
            (PLAIN.replace("X = ", "X = 10 * "), 2, OVERFLOW), (PLAIN, 40, STOPPED),
        )
    ),
    {
        "the scores are not scaled by √d": {"divide": lambda n, d: 1},
        "d is the width of a token, not the number of tokens": {"divide": lambda n, d: n**0.5},
        "divide by the root of d, not by d": {"divide": lambda n, d: d},
        "the range is over the tokens of one feature, not over the features of one token":
            {"spread": lambda X: (X.amax(1) - X.amin(1)).max()},
        "take each feature alone: largest minus smallest over the tokens": {"spread": lambda X: X.max() - X.min()},
        "the largest over the features is asked for, not their mean":
            {"spread": lambda X: (X.amax(0) - X.amin(0)).mean()},
        "largest minus smallest is asked for, not the standard deviation": {"spread": lambda X: X.std(0).max()},
        "each layer computes new weights from its own input": {"frozen": True},
        "each query's weights add up to 1: along which dimension does the softmax go?": {"dim": 0},
        "the layers of this exercise replace X: nothing is added to it": {"residual": True},
        "one layer too many: with 0 layers X stays as it is": {"more": 1},
        "one layer too few": ({"more": -1}, lambda X, num_layers: stack(X, min(num_layers, 2))),
    },
    claim="it is the range after the layers", verified="right for 0 to 40 layers, two sizes, and very high scores",
    hint="print X after each layer: its rows are the tokens",
)  # fmt: skip

# Of the 24 orders of four tokens, those that a layer keeps.
prediction("use-equivariance",
    Number("the number of orders for self-attention", 24,
        hint="go through itertools.permutations(range(4)), and count the errors below 0.000001", mistakes={
        "the order that changes nothing counts as well": 23,
        "a list of orders that are no permutations? There are 4 · 3 · 2 · 1": (256, 120),
        "is your layer given a mask, or positions? Without them no order matters": (1, 4),
    }),
    Number("the number of orders with a causal mask", 1,
        hint="go through itertools.permutations(range(4)), and count the errors below 0.000001", mistakes={
        "one order changes nothing at all: which?": 0,
        "does the mask arrive? layer(X)[0] has none": 24,
        "in a causal mask each row allows another number of keys: print the orders that you count": (2, 3, 4, 6),
    }),
    Number("the number of orders for the convolution", 4,
        hint='is padding_mode="circular" set, so that the last token is a neighbour of the first?', mistakes={
        "with zeros at both ends the first token is not like the others: set padding_mode": 1,
        "mirror images do not count: the kernel tells left from right": 8,
        "the order that changes nothing counts as well": 3,
        "only self-attention keeps all orders: does your convolution see its neighbours?": 24,
    }),
    right="24, 1 and 4: any order, none but the old one, and the shifts around the circle",
)  # fmt: skip

# X = [[2, 0, 1], [0, 1, -1], [-1, 2, 0], [1, 1, 1]]: its range falls from 3 to 0.52 in three layers, and then to 0.02.
prediction("use-stack",
    Number("the number of layers", 4, hint="print the range after 0, 1, 2, ... layers, and divide each by the first",
        mistakes={
        "after 3 layers a sixth of the range is left": 3,
        "a hundredth of the first range, not 0.01": 5,
        "the range is below a hundredth of the first one earlier than that": (6, 7, 8),
    }),
    Number("the range of the long tokens", 8.9374, hint="three times as long: range_after(3 * X, 10)", mistakes={
        "that is the range before the first layer": 9.0,
        "those are tokens of the old length": (0.0, 0.02),
        "that is twice as long, not three times": 5.7458,
        "the share of the range is not asked for, but the range itself": 0.993,
    }, tolerance=0.006),
    right="after four layers the short tokens are nearly equal; the long ones keep nearly all of their range for ten",
)  # fmt: skip
