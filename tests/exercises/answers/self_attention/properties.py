"""Answers to the exercises on what self-attention keeps, and what a stack of it loses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def error(
    statistic: Callable[[Tensor], Tensor] = lambda difference: difference.abs().max(),
) -> Callable[..., float]:
    return lambda f, X, order: statistic(f(X[:, order]) - f(X)[:, order]).item()


def stack(
    spread: Callable[[Tensor], Tensor] = lambda X: (X.amax(0) - X.amin(0)).max(),
) -> Callable[[Tensor, int], float]:
    def measure(X: Tensor, num_layers: int) -> float:
        for _ in range(num_layers):
            X = F.softmax(X @ X.T / math.sqrt(X.shape[1]), 1) @ X
        return spread(X).item()

    return measure


def by_matrix(f: Any, X: Tensor, order: list[int]) -> Any:
    P = torch.eye(len(order))[order]
    return (f(P @ X) - P @ f(X)).abs().max()


def keys_of_the_first_layer(X: Tensor, num_layers: int) -> float:
    first = X
    for _ in range(num_layers):
        X = F.softmax(X @ first.T / X.shape[1] ** 0.5, 1) @ first
    return (X.amax(0) - X.amin(0)).max().item()


RIGHT: dict[str, list[Any]] = {
    "measure-equivariance": [error(), lambda f, X, order: (f(X[:, order]) - f(X)[:, order]).abs().max(), by_matrix],
    "use-equivariance": [(24, 1, 4), torch.tensor([24, 1, 4])],
    "stacked-self-attention": [stack(), stack(lambda X: (X[:, None] - X).max())],
    "use-stack": [(4, 8.9374), torch.tensor([4, 8.937])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("stacked-self-attention", keys_of_the_first_layer, "print X after each layer"),
    ("measure-equivariance", lambda *a: int(error()(*a)), "print both"),
    ("measure-equivariance", error(statistic=lambda D: D.square().max()), "for a tiny X"),
    ("use-equivariance", (12, 1, 4), "itertools.permutations"),
    ("use-equivariance", (24, 1, 2), "circular"),
    ("use-stack", (100, 8.94), "divide each by the first"),
    ("use-stack", (4, 8.7), "range_after(3 * X, 10)"),
    ("stacked-self-attention", lambda X, num_layers: stack()(X, min(num_layers, 10)), "do you stop earlier?"),
    ("measure-equivariance", lambda f, X, order: error()(f, X, [1, 2, 3, 0]), "for a tiny X"),
    ("stacked-self-attention", stack(lambda X: (X[0] - X[-1]).abs().max()), "print X after each layer"),
]
