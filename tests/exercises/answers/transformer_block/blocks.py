"""Answers to the exercises: what is counted, and what is added and normed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Layer = Callable[[Tensor], Tensor]


def norm(X: Tensor, eps: float = 1e-5) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / (X.var(-1, keepdim=True, unbiased=False) + eps).sqrt()


def stacked(
    pre: Callable[[Tensor, Layer, Layer], Tensor] = lambda X, f, norm: X + f(norm(X)),
    norm: Layer = norm,
    last: Callable[[bool], bool] = lambda norm_first: norm_first,
) -> Callable[[Tensor, list[Layer], bool], Tensor]:
    """A stack of layers in the residual stream, right unless told otherwise."""

    def answer(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
        for layer in layers:
            X = pre(X, layer, norm) if norm_first else norm(X + layer(X))
        return norm(X) if last(norm_first) else X

    return answer


def added_in_place(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    for layer in layers:
        X += layer(norm(X)) if norm_first else layer(X)
        X = X if norm_first else norm(X)
    return norm(X) if norm_first else X


def by_layer_norm(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    norm = nn.LayerNorm(X.shape[-1])
    for layer in layers:
        X = X + layer(norm(X)) if norm_first else norm(X + layer(X))
    return norm(X) if norm_first else X


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


def one_vector_at_a_time(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    return torch.stack([torch.stack([stacked()(x, layers, norm_first) for x in row]) for row in X])


def example_by_example(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    return torch.cat([stacked()(x[None], layers, norm_first) for x in X])


def emptied(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    while layers:
        layer = layers.pop(0)
        X = X + layer(norm(X)) if norm_first else norm(X + layer(X))
    return norm(X) if norm_first else X


def ended(end: Layer) -> Callable[[Tensor, list[Layer], bool], Tensor]:
    """Pre-norm with another last norm."""

    def answer(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
        X = stacked(last=lambda _: False)(X, layers, norm_first)
        return end(X) if norm_first else X

    return answer


RIGHT: dict[str, list[Any]] = {
    "predict-block": [(49728, 128, 5), torch.tensor([49728, 128, 5]), (49728, 128, 25**0.5)],
    "add-norm": [stacked(), by_layer_norm, by_recursion, example_by_example],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-block", (1, 128, 5), "four d x d projections"),
    ("predict-block", (49728, 128), "look at the starter's form"),
    ("predict-block", (49728, 100, 5), "three matrices of h x d"),
    ("predict-block", (49728, 128, 13), "the mean square of a sum"),
    ("add-norm", torch.no_grad()(stacked()), "cuts the result off"),
    ("add-norm", stacked(pre=lambda X, f, norm: 2 * X + f(norm(X))), "print the stream"),
    ("add-norm", ended(lambda X: norm(X, eps=1e-3)), "print the stream"),
    (
        "add-norm",
        ended(lambda X: F.normalize(X - X.mean(-1, keepdim=True), dim=-1) * X.shape[-1] ** 0.5),
        "and epsilon?",
    ),
    ("add-norm", stacked(norm=lambda X: F.normalize(X, dim=-1)), "print the stream after each step"),
    ("add-norm", added_in_place, "works in place"),
    ("add-norm", lambda X, layers, norm_first: None, "return a tensor"),
    ("add-norm", token_by_token, "a layer may look at all tokens of a sequence"),
    ("add-norm", one_vector_at_a_time, "a layer may look at all tokens of a sequence"),
    ("add-norm", emptied, "change the list itself"),
]
