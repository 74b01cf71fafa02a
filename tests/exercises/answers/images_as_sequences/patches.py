"""Answers to the exercises: what a patch is, and how it becomes a token."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def cut(X: Tensor, size: int) -> Tensor:
    """Patches, channel by channel; where a size does not fit, the rest is left out."""
    return F.unfold(X, kernel_size=size, stride=size).mT


def unfolded(X: Tensor, size: int) -> Tensor:
    if any(side % size for side in X.shape[2:]):
        raise ValueError(f"{size} does not divide {tuple(X.shape[2:])}")
    return unchecked(X, size)


def unchecked(X: Tensor, size: int) -> Tensor:
    return cut(X, size).unflatten(2, (X.shape[1], -1)).mT.flatten(2)


def with_loops(X: Tensor, size: int) -> Tensor:
    height, width = X.shape[2:]
    if height % size + width % size > 0:
        raise ValueError("sizes do not fit")
    X = X.movedim(1, 3)
    corners = [(i, j) for i in range(0, height, size) for j in range(0, width, size)]
    return torch.stack([X[:, i : i + size, j : j + size].flatten(1) for i, j in corners], dim=1)


def by_convolution(X: Tensor, size: int) -> Tensor:
    """One filter for each number of a patch."""
    if X.shape[2] % size or X.shape[3] % size:
        raise ValueError
    filters = torch.eye(X.shape[1] * size**2).unflatten(1, (size, size, X.shape[1])).permute(0, 3, 1, 2)
    return F.conv2d(X, filters, stride=size).flatten(2).mT


def by_shuffle(X: Tensor, size: int) -> Tensor:
    if X.shape[2] % size or X.shape[3] % size:
        raise ValueError
    found = F.pixel_unshuffle(X, size).unflatten(1, (X.shape[1], -1))  # (batch, channels, size², rows, columns)
    return found.permute(0, 3, 4, 2, 1).flatten(3).flatten(1, 2)


def in_numpy(X: Tensor, size: int) -> Any:
    batch, channels, height, width = X.shape
    if height % size or width % size:
        raise ValueError
    parts = X.numpy().reshape(batch, channels, height // size, size, width // size, size)
    return np.transpose(parts, (0, 2, 4, 3, 5, 1)).reshape(batch, -1, channels * size * size)


def by_unflatten(X: Tensor, size: int) -> Tensor:
    try:
        parts = X.unflatten(3, (-1, size)).unflatten(2, (-1, size))
    except RuntimeError as error:
        raise ValueError("sizes do not fit") from error
    return parts.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


def free_in_numpy(X: Tensor, size: int) -> Any:
    """Trusts that reshape fails, with a ValueError, where a size does not fit."""
    batch, channels, _, width = X.shape
    parts = X.numpy().reshape(batch, channels, -1, size, width // size, size)
    return parts.transpose(0, 2, 4, 3, 5, 1).reshape(batch, -1, channels * size**2)


def checks(wrong: Any) -> Any:
    """An answer that refuses what is wrong in the eyes of a function of height, width and size."""

    def answer(X: Tensor, size: int) -> Tensor:
        if wrong(*X.shape[2:], size):
            raise ValueError("sizes do not fit")
        return unchecked(X, size)

    return answer


def asserts(X: Tensor, size: int) -> Tensor:
    assert X.shape[2] % size == 0 == X.shape[3] % size
    return unchecked(X, size)


def returns(X: Tensor, size: int) -> Any:
    try:
        return unfolded(X, size)
    except ValueError as error:
        return error


def placed(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    return cut(X[:, None] / 16, 2) @ W.T + P


def placed_with_loops(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    corners = [(i, j) for i in range(0, 8, 2) for j in range(0, 8, 2)]
    tokens = [X[:, i : i + 2, j : j + 2].flatten(1) / 16 @ W.T + P[n] for n, (i, j) in enumerate(corners)]
    return torch.stack(tokens, dim=1)


def weights_in_place(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    W /= 16
    return cut(X[:, None], 2) @ W.T + P


def by_conv(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    return F.conv2d(X[:, None] / 16, W.view(-1, 1, 2, 2), stride=2).flatten(2).mT + P


def by_einsum(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    parts = X.div(16).reshape(-1, 4, 2, 4, 2)
    return torch.einsum("brhcw,dhw->brcd", parts, W.view(-1, 2, 2)).flatten(1, 2) + P


RIGHT: dict[str, list[Any]] = {
    "predict-patches": [(196, 768, 256, 16), [196.0, 768, 256, 16], torch.tensor([196, 768, 256, 16])],
    "patchify": [
        unfolded,
        lambda X, size: unfolded(X, size).tolist(),
        with_loops,
        by_convolution,
        by_shuffle,
        in_numpy,
        by_unflatten,
    ],
    "debug-patch-tokens": [placed, placed_with_loops, by_conv, by_einsum],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-patches", (1, 768, 256, 16), "side by side"),
    ("predict-patches", (196, 768), "the starter's form"),
    ("patchify", asserts, "raise ValueError"),
    ("patchify", returns, "raise it"),
    ("patchify", checks(lambda height, width, size: height * width % size**2), "each by itself"),
    ("patchify", checks(lambda height, width, size: (height + width) % size), "each by itself"),
    ("patchify", free_in_numpy, "each by itself"),
    ("debug-patch-tokens", lambda X, W, P: placed(X, W, P.flip(0)), "does token 5 get"),
    ("debug-patch-tokens", lambda X, W, P: placed(X * 16 / 15, W, P), "look for them in X[0]"),
    ("debug-patch-tokens", lambda X, W, P: placed(X, W, P)[:2], "write the shape"),
    ("debug-patch-tokens", weights_in_place, "works in place"),
]
