"""Answers to the exercise on rotary embedding of pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import d2lmini as d2l


def picture(first: str = "row", second: str = "column", *, share: bool = True) -> Callable[[Tensor], Tensor]:
    """Rotary embedding of a picture, right unless told otherwise."""

    def answer(X: Tensor) -> Tensor:
        if share:
            halves = X.chunk(2, dim=-1)
            return torch.cat([turned(halves[0], first), turned(halves[1], second)], dim=-1)
        half = X.shape[-1] // 2
        return torch.cat([turned(X, first)[..., :half], turned(X, second)[..., half:]], dim=-1)

    return answer


def turned(part: Tensor, along: str, **options: Any) -> Tensor:
    """A part of the features, turned by its row, its column, by both or by none."""
    if along in ("row", "both"):
        part = d2l.apply_rotary(part.transpose(0, 1), **options).transpose(0, 1)
    return d2l.apply_rotary(part, **options) if along in ("column", "both") else part


def split_at(k: int) -> Callable[[Tensor], Tensor]:
    return lambda X: torch.cat([turned(X[..., :k], "row"), turned(X[..., k:], "column")], dim=-1)


def with_options(rows: dict[str, Any], columns: dict[str, Any]) -> Callable[[Tensor], Tensor]:
    def answer(X: Tensor) -> Tensor:
        first, second = X.chunk(2, dim=-1)
        return torch.cat([turned(first, "row", **rows), turned(second, "column", **columns)], dim=-1)

    return answer


def woven(X: Tensor) -> Tensor:
    """Pairs alternate: one by row, one by column."""
    pairs = X.unflatten(-1, (-1, 2)).clone()
    pairs[..., 0::2, :] = turned(pairs[..., 0::2, :].flatten(-2), "row").unflatten(-1, (-1, 2))
    pairs[..., 1::2, :] = turned(pairs[..., 1::2, :].flatten(-2), "column").unflatten(-1, (-1, 2))
    return pairs.flatten(-2)


def features_in_turn(X: Tensor) -> Tensor:
    return torch.stack([turned(X[..., 0::2], "row"), turned(X[..., 1::2], "column")], dim=-1).flatten(-2)


def by_parity(X: Tensor) -> Tensor:
    """Every odd row stands at 1, and every even one at 0."""
    first, second = X.chunk(2, dim=-1)
    rows = [d2l.apply_rotary(row[:, None], offset=r % 2)[:, 0] for r, row in enumerate(first)]
    return torch.cat([torch.stack(rows), d2l.apply_rotary(second)], dim=-1)


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


def reshaped(X: Tensor) -> Tensor:
    rows, columns, p = X.shape
    first, second = X.chunk(2, dim=-1)
    first = d2l.apply_rotary(first.reshape(columns, rows, p // 2)).reshape(first.shape)
    return torch.cat([first, d2l.apply_rotary(second)], dim=-1)


def turn_pairs(X: Tensor, by_row: int, by_column: int, width: float = 1) -> Tensor:
    """Pairs as complex numbers; the angles with signs, and with `width` times p/2 in the exponent."""
    rows, columns, p = X.shape
    omega = 10000 ** (-torch.arange(0, p // 2, 2).double() / (width * p / 2))
    angles = [
        (by_row * torch.arange(rows)[:, None, None] * omega).expand(rows, columns, -1),
        (by_column * torch.arange(columns)[None, :, None] * omega).expand(rows, columns, -1),
    ]
    z = torch.view_as_complex(X.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.exp(1j * torch.cat(angles, -1))).flatten(-2)


def all_frequencies(X: Tensor) -> Tensor:
    return turn_pairs(X, 1, 1, width=2)


def halves_of(A: Tensor, B: Tensor) -> Tensor:
    half = A.shape[-1] // 2
    return torch.cat([A[..., :half], B[..., half:]], dim=-1)


def picture_in_place(X: Tensor) -> Tensor:
    result = picture()(X)
    X.zero_()
    return result


RIGHT: dict[str, list[Any]] = {
    "rotary-picture": [
        picture(),
        row_by_row,
        lambda X: turn_pairs(X, 1, 1),
        lambda X: picture()(X).float(),
        lambda X: picture()(X.double()),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("rotary-picture", lambda X: d2l.apply_rotary(X.flatten(0, 1)).reshape(X.shape), "one long sequence"),
    ("rotary-picture", picture("column", "row"), "the first half turns by the row"),
    ("rotary-picture", picture("row", "row", share=False), "none by the column"),
    ("rotary-picture", d2l.apply_rotary, "none by the row"),
    ("rotary-picture", picture("row", "none"), "the second half must turn"),
    ("rotary-picture", picture("none", "column"), "the first half must turn"),
    ("rotary-picture", picture("row", "row"), "both halves turn by the row"),
    ("rotary-picture", picture("column", "column"), "both halves turn by the column"),
    ("rotary-picture", picture(share=False), "those of width p/2"),
    ("rotary-picture", picture("both", "both"), "none by both"),
    ("rotary-picture", picture("both", "both", share=False), "none by both"),
    ("rotary-picture", split_at(4), "yours are not"),
    ("rotary-picture", split_at(2), "yours are not"),
    ("rotary-picture", split_at(-4), "yours are not"),
    ("rotary-picture", by_parity, "only tell odd rows from even ones"),
    ("rotary-picture", clamped, "look at a single feature"),
    ("rotary-picture", lambda X: swap(clamped(swap(X))), "look at a single feature"),
    ("rotary-picture", woven, "yours alternate"),
    ("rotary-picture", features_in_turn, "yours alternate"),
    ("rotary-picture", with_options({"offset": 1}, {"offset": 1}), "rows and columns count from 0"),
    ("rotary-picture", with_options({"offset": 1}, {}), "rows count from 0"),
    ("rotary-picture", with_options({}, {"offset": 1}), "columns count from 0"),
    ("rotary-picture", with_options({"pairing": "halves"}, {"pairing": "halves"}), "pairs are neighbours"),
    ("rotary-picture", with_options({"base": 50}, {"base": 50}), "look at a single feature"),
    ("rotary-picture", with_options({"base": 100}, {"base": 100}), "which base and which width have yours?"),
    ("rotary-picture", reshaped, "reshape does not exchange rows and columns"),
    ("rotary-picture", all_frequencies, "which base and which width have yours?"),
    ("rotary-picture", lambda X: picture()(X).roll(X.shape[2] // 2, -1), "the first stays first"),
    ("rotary-picture", lambda X: picture()(picture()(X)), "yours has twice the angle"),
    ("rotary-picture", lambda X: halves_of(picture()(picture()(X)), picture()(X)), "yours has twice the angle"),
    ("rotary-picture", lambda X: turn_pairs(X, -1, -1), "where does the minus stand?"),
    ("rotary-picture", lambda X: turn_pairs(X, -1, 1), "where does the minus stand?"),
    ("rotary-picture", lambda X: turn_pairs(X, 1, -1), "where does the minus stand?"),
    ("rotary-picture", lambda X: X, "nothing is turned"),
    ("rotary-picture", lambda X: 2 * picture()(X), "look at a single feature"),
    ("rotary-picture", lambda X: picture()(X[..., :12])[..., : X.shape[2]], "the shape of each step"),
    ("rotary-picture", picture_in_place, "into a new tensor"),
    ("rotary-picture", of_complex_numbers, "NumPy knows no gradients"),
    ("rotary-picture", lambda X: picture()(X).detach(), "what cuts the result off?"),
    ("rotary-picture", lambda X: X + (picture()(X) - X).detach(), "is a part of the way cut off?"),
    ("rotary-picture", torch.no_grad()(picture()), "what cuts the result off?"),
    ("rotary-picture", lambda X: halves_of(picture()(X), picture()(X).detach()), "is a part of the way cut off?"),
]
