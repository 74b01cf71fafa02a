"""Answers to the exercises: what encodings of positions are used for."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def decode(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """One token after the other."""
    tokens = [encoding(X[:, i : i + 1], offset=i) for i in range(X.shape[1])]
    pasts = [torch.cat(tokens[: i + 1], dim=1) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def decode_in_place(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    outputs = []
    for i in range(X.shape[1]):
        X[:, i : i + 1] = encoding(X[:, i : i + 1], offset=i)
        outputs.append(layer(X[:, i : i + 1], X[:, : i + 1], X[:, : i + 1]))
    return torch.cat(outputs, dim=1)


def keys_from_the_whole(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: the kept tokens get their positions again at each step."""
    pasts = [encoding(X[:, : i + 1]) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def all_at_once(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: whole sequences that end early, and their last outputs."""
    placed = encoding(X)
    return torch.stack([layer(*[placed[:, : i + 1]] * 3)[:, -1] for i in range(X.shape[1])], dim=1)


def example_by_example(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    return torch.cat([decode(layer, encoding, x[None]) for x in X])


def filled_in(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: room for all tokens is made first."""
    kept, Y = torch.zeros_like(X), torch.zeros_like(X)
    for i in range(X.shape[1]):
        kept[:, i] = encoding(X[:, i : i + 1], i)[:, 0]
        Y[:, i] = layer(kept[:, i : i + 1], kept[:, : i + 1], kept[:, : i + 1])[:, 0]
    return Y


def from_the_table(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    kept = [X[:, i : i + 1] + encoding.P[:, i : i + 1] for i in range(X.shape[1])]
    pasts = [torch.cat(kept[: i + 1], dim=1) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def of_the_weights(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    layer.dropout.p = 0.0
    return decode(layer, encoding.forward, X)


def for_five(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    return decode(layer, encoding, X[:, :5])


RIGHT: dict[str, list[Any]] = {
    "debug-decoding": [
        decode,
        torch.no_grad()(decode),
        lambda *a: decode(*a).detach(),
        keys_from_the_whole,
        all_at_once,
        example_by_example,
        filled_in,
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-decoding", lambda *a: decode(*a)[..., :2], "one output for each token"),
    ("debug-decoding", from_the_table, "call it, no more"),
    ("debug-decoding", for_five, "one output for each token"),
    ("debug-decoding", lambda layer, encoding, X: decode(layer, encoding, X.flip(1)), "compare the first output"),
    ("debug-decoding", of_the_weights, "call it, no more"),
    ("debug-decoding", lambda layer, encoding, X: 2 * decode(layer, encoding, X), "compare the first output"),
    ("debug-decoding", lambda layer, encoding, X: layer(X, X, X), "compare the first output"),
    ("debug-decoding", decode_in_place, "works in place"),
]
