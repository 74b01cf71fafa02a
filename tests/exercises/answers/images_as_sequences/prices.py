"""Answers to the exercises: what it costs to hide a patch."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.images_as_sequences.prices import price


def priced_with_loops(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> float:
    white = X.clone()
    for picture, patch in zip(white, which.tolist(), strict=True):
        i, j = divmod(patch, X.shape[2] // size)
        picture[size * i : size * i + size, size * j : size * j + size] = 0
    right = [(model(Z).argmax(dim=1) == y).sum().item() / len(y) for Z in (X, white)]
    return right[0] - right[1]


def priced_by_scaling(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    rows, columns = X.shape[1] // size, X.shape[2] // size
    keep = 1 - F.one_hot(which, rows * columns).view(-1, rows, columns).float()
    white = X * F.interpolate(keep[:, None], scale_factor=size)[:, 0]
    return ((model(X).argmax(1) == y).double() - (model(white).argmax(1) == y).double()).mean()


def weighed(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    """In batches, each as heavy as it is long."""
    parts = zip(*(part.split(64) for part in (X, y, which)), strict=True)
    return sum(price(model, *part, size) * len(part[0]) for part in parts) / len(X)


def priced_and_emptied(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    found = price(model, X, y, which, size)
    y.zero_()
    return found


RIGHT: dict[str, list[Any]] = {"measure-patch": [priced_with_loops, priced_by_scaling, weighed]}

WRONG: list[tuple[str, Any, str]] = [
    ("measure-patch", lambda *a: price(*a).round(decimals=2), "look at one picture"),
    ("measure-patch", lambda model, X, y, which, size: price(model, X, y, which, 2), "look at one picture"),
    ("measure-patch", lambda model, X, y, which, size: torch.tensor(0.1), "look at one picture"),
    ("measure-patch", priced_and_emptied, "works in place"),
    ("measure-patch", lambda *_: None, "return a number"),
]
