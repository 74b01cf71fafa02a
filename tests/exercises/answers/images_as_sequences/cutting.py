"""Answers to the exercises: more ways to cut a picture, some of which fail by accident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor


def finish(parts: Tensor) -> Tensor:
    """From (batch, channels, rows, size, columns, size)."""
    return parts.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


def by_try(split: Callable[[Tensor, int], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """Trusts that reshape fails where a size does not fit."""

    def answer(X: Tensor, size: int) -> Tensor:
        try:
            return finish(split(X, size))
        except RuntimeError as error:
            raise ValueError("sizes do not fit") from error

    return answer


def free_rows(X: Tensor, size: int) -> Tensor:
    return X.reshape(*X.shape[:2], -1, size, X.shape[3] // size, size)


def free_columns(X: Tensor, size: int) -> Tensor:
    return X.reshape(*X.shape[:2], X.shape[2] // size, size, -1, size)


def free_in_numpy(X: Tensor, size: int) -> Any:
    batch, channels, _, width = X.shape
    parts = X.numpy().reshape(batch, channels, -1, size, width // size, size)
    return parts.transpose(0, 2, 4, 3, 5, 1).reshape(batch, -1, channels * size**2)


def height_and_free_columns(X: Tensor, size: int) -> Tensor:
    if X.shape[2] < size or X.shape[3] < size:
        raise ValueError("the picture is smaller than a patch")
    return by_try(free_columns)(X, size)


def by_the_longer_side(X: Tensor, size: int) -> Tensor:
    if max(X.shape[2:]) % size:
        raise ValueError("sizes do not fit")
    return finish(
        X[:, :, : X.shape[2] // size * size, : X.shape[3] // size * size]
        .unflatten(3, (-1, size))
        .unflatten(2, (-1, size))
    )


def by_unflatten(X: Tensor, size: int) -> Tensor:
    try:
        return finish(X.unflatten(3, (-1, size)).unflatten(2, (-1, size)))
    except RuntimeError as error:
        raise ValueError("sizes do not fit") from error


RIGHT: dict[str, list[Any]] = {"patchify": [by_unflatten]}

WRONG: list[tuple[str, Any, str]] = [
    ("patchify", by_try(free_rows), "each by itself"),
    ("patchify", by_try(free_columns), "each by itself"),
    ("patchify", free_in_numpy, "each by itself"),
    ("patchify", height_and_free_columns, "each by itself"),
    ("patchify", by_the_longer_side, "each by itself"),
]
