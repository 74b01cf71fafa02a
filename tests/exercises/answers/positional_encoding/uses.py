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


def keys_from_the_whole(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: the kept tokens get their positions again at each step."""
    pasts = [encoding(X[:, : i + 1]) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def from_the_table(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    kept = [X[:, i : i + 1] + encoding.P[:, i : i + 1] for i in range(X.shape[1])]
    pasts = [torch.cat(kept[: i + 1], dim=1) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def of_the_weights(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    layer.dropout.p = 0.0
    return decode(layer, encoding.forward, X)


RIGHT: dict[str, list[Any]] = {
    "debug-decoding": [decode, keys_from_the_whole],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-decoding", from_the_table, "call it, no more"),
    ("debug-decoding", of_the_weights, "call it, no more"),
]
