"""Rotary embedding of pictures."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini.positions.rotary import apply_rotary
from d2lmini_exercises.core import Mistakes, checker, expect_close, expect_function, expect_unchanged
from d2lmini_exercises.gradients import expect_gradients
from d2lmini_exercises.inputs import draw_inputs


def _by_row(part: Tensor, **options: Any) -> Tensor:
    return apply_rotary(part.transpose(0, 1), **options).transpose(0, 1)


def _list_wrong_pictures(X: Tensor) -> Mistakes:
    first, second = X.chunk(2, -1)
    half = first.shape[-1]
    turned = {"row": (_by_row(first), _by_row(second)), "column": (apply_rotary(first), apply_rotary(second))}
    plain = {
        "the first half turns by the row, the second by the column": (turned["column"][0], turned["row"][1]),
        "the second half must turn by the column": (turned["row"][0], second),
        "the first half must turn by the row": (first, turned["column"][1]),
        "both halves turn by the row": turned["row"],
        "both halves turn by the column": turned["column"],
        "rows and columns count from 0": (_by_row(first, offset=1), apply_rotary(second, offset=1)),
        "rows count from 0": (_by_row(first, offset=1), turned["column"][1]),
        "columns count from 0": (turned["row"][0], apply_rotary(second, offset=1)),
        "pairs are neighbours: features 0 and 1, 2 and 3": (
            _by_row(first, pairing="halves"),
            apply_rotary(second, pairing="halves"),
        ),
        "a row further down turns further: yours only tell odd rows from even ones": (
            _by_parity(first),
            turned["column"][1],
        ),
        "split first, then turn: the frequencies of each half are those of width p/2, not of p": (
            _by_row(X)[..., :half],
            apply_rotary(X)[..., half:],
        ),
    }
    return {
        "nothing is turned": X,
        "all features turn by the row, none by the column": _by_row(X),
        "all features turn by the column, none by the row": apply_rotary(X),
        **{hint: torch.cat(halves, -1) for hint, halves in plain.items()},
        **_list_wrong_turns(first, second),
        **_list_mixed_up(X, first, second),
    }


def _list_wrong_turns(first: Tensor, second: Tensor) -> Mistakes:
    """Pictures whose halves turn along the right side, but wrongly."""
    row, column = _by_row(first), apply_rotary(second)
    shape = (first.shape[1], first.shape[0], first.shape[2])
    wide = [torch.cat([part, part], -1) for part in (first, second)]  # frequencies of all p features
    fast = _by_row(wide[0])[..., : first.shape[-1]], apply_rotary(wide[1])[..., : first.shape[-1]]
    return {
        "reshape does not exchange rows and columns: it reads the numbers in the same order": torch.cat(
            [apply_rotary(first.reshape(shape)).reshape(first.shape), column], -1
        ),
        "the frequencies of a half are 10000^(-2j/(p/2)): which base and which width have yours?": torch.cat(fast, -1),
        "each half has its place in the result: the first stays first": torch.cat([column, row], -1),
        "each half turns once: yours has twice the angle": tuple(
            torch.cat(halves, -1)
            for halves in (
                (_by_row(row), apply_rotary(column)),
                (_by_row(row), column),
                (row, apply_rotary(column)),
            )
        ),
        "(x, y) becomes (x cos - y sin, x sin + y cos): where does the minus stand?": tuple(
            torch.cat(halves, -1)
            for halves in (
                (_turn_back(first, row), _turn_back(second, column)),
                (_turn_back(first, row), column),
                (row, _turn_back(second, column)),
            )
        ),
    }


def _turn_back(part: Tensor, turned: Tensor) -> Tensor:
    """The part, turned by minus the angle: of a pair as a complex number, z²/turned with the same length."""
    z, w = (torch.view_as_complex(each.unflatten(-1, (-1, 2)).contiguous()) for each in (part, turned))
    back = torch.where(w.abs() > 0, z * z / torch.where(w == 0, torch.ones_like(w), w), w)
    return torch.view_as_real(back).flatten(-2)


def _list_mixed_up(X: Tensor, first: Tensor, second: Tensor) -> Mistakes:
    """Pictures with other halves, or without any."""
    half, column = first.shape[-1], apply_rotary(second)
    long = [apply_rotary(part.flatten(0, 1)).reshape(part.shape) for part in (X, first, second)]
    pairs = X.unflatten(-1, (-1, 2))
    evens, odds = _by_row(pairs[..., 0::2, :].flatten(-2)), apply_rotary(pairs[..., 1::2, :].flatten(-2))
    woven = torch.stack([part.unflatten(-1, (-1, 2)) for part in (evens, odds)], -2).flatten(-3)
    slow = torch.where(torch.arange(2 * half) // 2 % 2 == 0, _by_row(X), apply_rotary(X))
    features = torch.stack([_by_row(X[..., 0::2]), apply_rotary(X[..., 1::2])], -1).flatten(-2)
    return {
        "that is one long sequence: places below each other are as far apart as a row is long": (
            long[0],
            torch.cat(long[1:], -1),
            torch.cat([long[1], column], -1),
        ),
        "each feature turns by the row or by the column, none by both": (
            apply_rotary(_by_row(X)),
            torch.cat([apply_rotary(_by_row(part)) for part in (first, second)], -1),
        ),
        "the halves are the first p/2 features and the last p/2: yours alternate": (woven, slow, features),
        "a half is p/2 features wide: yours are not": tuple(
            torch.cat([_by_row(X[..., :k]), apply_rotary(X[..., k:])], -1) for k in (2, 4, 2 * half - 4)
        ),
    }


def _by_parity(part: Tensor) -> Tensor:
    """Turned as if every odd row stood at 1, and every even one at 0."""
    odd_rows = torch.arange(len(part))[:, None, None] % 2 == 1
    return torch.where(odd_rows, apply_rotary(part[..., None, :], 1)[..., 0, :], part)


@checker("rotary-picture", trained=True)
def check_rotary_picture(rotate: Any) -> str:
    """`rotate(X)`: rotary embedding of a picture (rows, columns, p): one half by row, the other by column."""
    expect_function(rotate)
    for seed, shape in enumerate(((3, 5, 12), (4, 2, 8), (8, 9, 4), (1, 3, 16))):
        (X,), given = draw_inputs(seed, X=shape)
        got = rotate(handed := X.clone())
        expect_close(
            got,
            _turn_halves(X.double()),
            claim="one half turns by the row, the other by the column",
            given=given,
            hint="look at a single feature of each half, along a row and along a column: which of the two moves it?",
            mistakes=_list_wrong_pictures(X.double()) if seed == 0 else {},
        )
        expect_unchanged("X", handed, X, "write the result into a new tensor", given=given)
        expect_gradients(rotate, _turn_halves, given=given, X=X)
    return "one half turns by the row, the other by the column, in four pictures, and gradients turn back"


def _turn_halves(X: Tensor) -> Tensor:
    first, second = X.chunk(2, -1)
    return torch.cat([_by_row(first), apply_rotary(second)], 2)
