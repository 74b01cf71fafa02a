"""Answers to the exercises on what self-attention keeps, and what a stack of it loses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def error(
    difference: Callable[..., Tensor] = lambda f, X, order: f(X[:, order]) - f(X)[:, order],
    statistic: Callable[[Tensor], Tensor] = lambda difference: difference.abs().max(),
) -> Callable[..., float]:
    return lambda f, X, order: statistic(difference(f, X, order)).item()


def inverse(order: list[int]) -> list[int]:
    return [order.index(i) for i in range(len(order))]


def stack(
    spread: Callable[[Tensor], Tensor] = lambda X: (X.amax(0) - X.amin(0)).max(),
    *,
    scale: float | None = None,
    dim: int = 1,
    residual: bool = False,
    frozen: bool = False,
    more: int = 0,
    in_place: bool = False,
) -> Callable[[Tensor, int], float]:
    """The measurement of the stack, right unless told otherwise."""

    def measure(X: Tensor, num_layers: int) -> float:
        first, original = X, X
        for _ in range(num_layers + more):
            source = first if frozen else X
            new = F.softmax(source @ source.T / (scale or math.sqrt(X.shape[1])), dim) @ X
            X = X + new if residual else new
        if in_place and num_layers:
            original.copy_(X)
        return spread(X).item()

    return measure


def part_of(dim: int, size: int) -> Callable[[Tensor], Tensor]:
    """The largest entry of a part whose size is written into the answer."""
    return lambda difference: difference.narrow(dim, 0, min(size, difference.shape[dim])).abs().max()


def feature_by_feature(f: Any, X: Tensor, order: list[int]) -> Any:
    return max((f(X[:, order]) - f(X)[:, order])[..., i].abs().max() for i in range(X.shape[2]))


def into_zeros(f: Any, X: Tensor, order: list[int]) -> Any:
    shuffled = torch.zeros_like(X)
    shuffled[:] = f(X)[:, order]
    return (f(X[:, order]) - shuffled).abs().max()


def by_matrix(f: Any, X: Tensor, order: list[int]) -> Any:
    P = torch.eye(len(order))[order]
    return (f(P @ X) - P @ f(X)).abs().max()


def by_exp(X: Tensor, num_layers: int) -> float:
    for _ in range(num_layers):
        powers = (X @ X.T / math.sqrt(X.shape[1])).exp()
        X = (powers / powers.sum(1, keepdim=True)).nan_to_num() @ X
    return (X.amax(0) - X.amin(0)).max().item()


def nothing_below_a_hundredth(X: Tensor, num_layers: int) -> float:
    found = float(stack()(X, num_layers))
    return found if found > 0.01 else 0.0


def keys_of_the_first_layer(X: Tensor, num_layers: int) -> float:
    first = X
    for _ in range(num_layers):
        X = F.softmax(X @ first.T / X.shape[1] ** 0.5, 1) @ first
    return (X.amax(0) - X.amin(0)).max().item()


def divided_by_d(X: Tensor, num_layers: int) -> float:
    for _ in range(num_layers):
        X = F.softmax(X @ X.T / X.shape[1], 1) @ X
    return (X.amax(0) - X.amin(0)).max().item()


RIGHT: dict[str, list[Any]] = {
    "measure-equivariance": [
        error(),
        lambda f, X, order: (f(X[:, order]) - f(X)[:, order]).abs().max(),
        error(lambda f, X, order: f(X[:, order])[:, inverse(order)] - f(X)),
        lambda f, X, order: max((a - b).abs().max() for a, b in zip(f(X[:, order]), f(X)[:, order], strict=True)),
        by_matrix,
        lambda f, X, order: torch.dist(f(X[:, order]), f(X)[:, order], p=math.inf),
        lambda f, X, order: (f(X[:, order]).detach() - f(X).detach().numpy()[:, order]).abs().amax((0, 1)).max(),
    ],
    "use-equivariance": [(24, 1, 4), torch.tensor([24, 1, 4]), [24.0, 1.0, 4.0]],
    "stacked-self-attention": [
        stack(),
        lambda X, num_layers: torch.tensor(stack()(X.double(), num_layers)),
        stack(lambda X: (X[:, None] - X).max()),
        lambda X, num_layers: stack()(X, num_layers - 1 + 1),
    ],
    "use-stack": [(4, 8.9374), (4, 8.94), torch.tensor([4, 8.937])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("stacked-self-attention", keys_of_the_first_layer, "print X after each layer"),
    ("measure-equivariance", into_zeros, "run it yourself"),
    ("measure-equivariance", lambda f, X, order: abs(f(X[:, order]).numpy() - f(X).numpy()[:, order]).max(), "run it"),
    ("measure-equivariance", lambda *a: round(error()(*a), 4), "do you round?"),
    ("measure-equivariance", lambda *a: int(error()(*a)), "print both"),
    ("use-equivariance", (24, 4, 4), "each row allows another number of keys"),
    (
        "measure-equivariance",
        error(lambda f, X, order: f(X[:, order]).abs() - f(X)[:, order].abs()),
        "the absolute value of the difference",
    ),
    ("measure-equivariance", error(statistic=lambda D: D.square().max()), "for a tiny X"),
    *(
        ("measure-equivariance", error(statistic=part_of(dim, size)), "of all examples, tokens and features")
        for dim in range(3)
        for size in range(1, 11)
    ),
    (
        "measure-equivariance",
        error(statistic=lambda D: D[:10, :10, :10].abs().max()),
        "of all examples, tokens and features",
    ),
    ("use-equivariance", (23, 1, 4), "changes nothing counts as well"),
    ("use-equivariance", (1, 1, 1), "Without them no order matters"),
    ("use-equivariance", (256, 1, 4), "no permutations?"),
    ("use-equivariance", (12, 1, 4), "itertools.permutations"),
    ("use-equivariance", (24, 0, 4), "one order changes nothing at all"),
    ("use-equivariance", (24, 24, 4), "does the mask arrive?"),
    ("use-equivariance", (24, 2, 4), "print the orders that you count"),
    ("use-equivariance", (24, 1, 1), "set padding_mode"),
    ("use-equivariance", (24, 1, 8), "mirror images do not count"),
    ("use-equivariance", (24, 1, 3), "changes nothing counts as well"),
    ("use-equivariance", (24, 1, 24), "see its neighbours?"),
    ("use-equivariance", (24, 1, 2), "circular"),
    ("use-stack", (3, 8.94), "a sixth of the range is left"),
    ("use-stack", (5, 8.94), "not 0.01"),
    ("use-stack", (8, 8.94), "earlier than that"),
    ("use-stack", (100, 8.94), "divide each by the first"),
    ("use-stack", (4, 9), "before the first layer"),
    ("use-stack", (4, 0), "tokens of the old length"),
    ("use-stack", (4, 5.7458), "twice as long"),
    ("use-stack", (4, 0.993), "the range itself"),
    ("use-stack", (4, 8.7), "range_after(3 * X, 10)"),
    ("use-stack", 4, "look at the starter's form"),
    ("measure-equivariance", error(lambda f, X, order: f(X[:, order])), "for a tiny X"),
    ("stacked-self-attention", lambda X, num_layers: stack()(X, min(num_layers, 10)), "do you stop earlier?"),
    ("stacked-self-attention", by_exp, "does an exp overflow"),
    ("stacked-self-attention", nothing_below_a_hundredth, "print X after each layer"),
    ("measure-equivariance", lambda f, X, order: error()(f, X, [1, 2, 3, 0]), "for a tiny X"),
    ("measure-equivariance", lambda f, X, order: error()(f, X, order) + X.zero_().sum().item(), "works in place"),
    ("measure-equivariance", lambda f, X, order: math.nan, "for a tiny X and print both"),
    ("measure-equivariance", lambda f, X, order: X, "the shape of each step"),
    (
        "measure-equivariance",
        error(lambda f, X, order: f(X[:, order]) - f(X)[:, inverse(order)]),
        "on each of your two sides",
    ),
    ("stacked-self-attention", stack(lambda X: (X[0] - X[-1]).abs().max()), "print X after each layer"),
    ("stacked-self-attention", stack(in_place=True), "works in place"),
    ("stacked-self-attention", lambda X, num_layers: X, "the shape of each step"),
    *[
        ("stacked-self-attention", stack(lambda X, i=i: X[:, i].max() - X[:, i].min()), "print X after each layer")
        for i in range(5)
    ],
]
