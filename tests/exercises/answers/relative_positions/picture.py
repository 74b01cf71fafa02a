"""Answers to the exercise on rotary embedding of pictures."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l


def picture(X: Tensor, base: float = 10000) -> Tensor:
    """Rotary embedding of a picture."""
    first, second = X.chunk(2, dim=-1)
    first = d2l.apply_rotary(first.transpose(0, 1), base=base).transpose(0, 1)
    return torch.cat([first, d2l.apply_rotary(second, base=base)], dim=-1)


def clamped(X: Tensor) -> Tensor:
    """No row stands further down than at 5."""
    first, second = X.chunk(2, dim=-1)
    rows = [d2l.apply_rotary(row[:, None], offset=min(r, 5))[:, 0] for r, row in enumerate(first)]
    return torch.cat([torch.stack(rows), d2l.apply_rotary(second)], dim=-1)


def row_by_row(X: Tensor) -> Tensor:
    """Right: a loop over the rows, each at its own position."""
    half = X.shape[-1] // 2
    rows = [d2l.apply_rotary(row[:, None, :half], offset=r)[:, 0] for r, row in enumerate(X)]
    return torch.cat([torch.stack(rows), d2l.apply_rotary(X[..., half:])], dim=-1)


RIGHT: dict[str, list[Any]] = {
    "rotary-picture": [picture, row_by_row],
}

WRONG: list[tuple[str, Any, str]] = [
    ("rotary-picture", lambda X: picture(X, base=50), "look at a single feature"),
    ("rotary-picture", clamped, "look at a single feature"),
    ("rotary-picture", lambda X: X + (picture(X) - X).detach(), "is a part of the way cut off?"),
]
