"""Answers to the exercise on rotary embedding of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

import d2lmini as d2l


def picture(X: Tensor, base: float = 10000) -> Tensor:
    """Rotary embedding of a picture."""
    first, second = X.chunk(2, dim=-1)
    first = d2l.apply_rotary(first.transpose(0, 1), base=base).transpose(0, 1)
    return torch.cat([first, d2l.apply_rotary(second, base=base)], dim=-1)


def swap(X: Tensor) -> Tensor:
    """Rows become columns, and the first half of the features the second."""
    return X.transpose(0, 1).roll(X.shape[2] // 2, -1)


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


def of_complex_numbers(X: Tensor) -> Any:
    """Right: with numpy, a pair as a complex number."""
    rows, columns, p = X.shape
    pairs = X.numpy().astype(float).reshape(rows, columns, p // 2, 2) @ np.array([1, 1j])
    omega = 10000.0 ** (-np.arange(0, p // 2, 2) / (p // 2))
    r, c = np.arange(rows)[:, None, None], np.arange(columns)[None, :, None]
    turns = np.concatenate(np.broadcast_arrays(r * omega + 0 * c, c * omega + 0 * r), axis=-1)
    moved = pairs * np.exp(1j * turns)
    return np.stack([moved.real, moved.imag], axis=-1).reshape(rows, columns, p)


def turn_pairs(X: Tensor) -> Tensor:
    """Right: pairs as complex numbers."""
    rows, columns, p = X.shape
    omega = 10000 ** (-torch.arange(0, p // 2, 2).double() / (p / 2))
    angles = [
        (torch.arange(rows)[:, None, None] * omega).expand(rows, columns, -1),
        (torch.arange(columns)[None, :, None] * omega).expand(rows, columns, -1),
    ]
    z = torch.view_as_complex(X.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.exp(1j * torch.cat(angles, -1))).flatten(-2)


def halves_of(A: Tensor, B: Tensor) -> Tensor:
    half = A.shape[-1] // 2
    return torch.cat([A[..., :half], B[..., half:]], dim=-1)


def picture_in_place(X: Tensor) -> Tensor:
    result = picture(X)
    X.zero_()
    return result


RIGHT: dict[str, list[Any]] = {
    "rotary-picture": [
        picture,
        row_by_row,
        turn_pairs,
        lambda X: picture(X).float(),
        lambda X: picture(X.double()),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("rotary-picture", lambda X: picture(X, base=50), "look at a single feature"),
    ("rotary-picture", clamped, "look at a single feature"),
    ("rotary-picture", lambda X: swap(clamped(swap(X))), "look at a single feature"),
    ("rotary-picture", lambda X: 2 * picture(X), "look at a single feature"),
    ("rotary-picture", lambda X: picture(X[..., :12])[..., : X.shape[2]], "the shape of each step"),
    ("rotary-picture", picture_in_place, "works in place"),
    ("rotary-picture", of_complex_numbers, "NumPy knows no gradients"),
    ("rotary-picture", lambda X: picture(X).detach(), "what cuts the result off?"),
    ("rotary-picture", lambda X: X + (picture(X) - X).detach(), "is a part of the way cut off?"),
    ("rotary-picture", lambda X: halves_of(picture(X), picture(X).detach()), "is a part of the way cut off?"),
]
