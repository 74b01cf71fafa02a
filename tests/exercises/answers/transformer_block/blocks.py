"""Answers to the exercises: what is counted, and what is added and normed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Layer = Callable[[Tensor], Tensor]


def norm(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / (X.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()


def stacked(
    pre: Callable[[Tensor, Layer], Tensor] = lambda X, f: X + f(norm(X)),
) -> Callable[[Tensor, list[Layer], bool], Tensor]:
    """A stack of layers in the residual stream, right unless told otherwise."""

    def answer(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
        for layer in layers:
            X = pre(X, layer) if norm_first else norm(X + layer(X))
        return norm(X) if norm_first else X

    return answer


def by_recursion(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    if not layers:
        return F.layer_norm(X, X.shape[2:]) if norm_first else X
    Y = X.double()
    normed = F.layer_norm(Y, Y.shape[2:])
    Y = Y + layers[0](normed) if norm_first else F.layer_norm(Y + layers[0](Y), Y.shape[2:])
    return by_recursion(Y, layers[1:], norm_first)


def token_by_token(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    """The layers never see a sequence."""
    tokens = X.reshape(-1, 1, X.shape[2])
    return stacked()(tokens, layers, norm_first).reshape(X.shape)


def emptied(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    while layers:
        layer = layers.pop(0)
        X = X + layer(norm(X)) if norm_first else norm(X + layer(X))
    return norm(X) if norm_first else X


RIGHT: dict[str, list[Any]] = {
    "predict-block": [(49728, 128, 5), torch.tensor([49728, 128, 5])],
    "add-norm": [stacked(), by_recursion],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-block", (1, 128, 5), "four d x d projections"),
    ("predict-block", (49728, 100, 5), "three matrices of h x d"),
    ("predict-block", (49728, 128, 13), "the mean square of a sum"),
    ("add-norm", stacked(lambda X, f: 2 * X + f(norm(X))), "print the stream"),
    ("add-norm", token_by_token, "a layer may look at all tokens of a sequence"),
    ("add-norm", emptied, "change the list itself"),
]
