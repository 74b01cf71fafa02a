"""Rotary embedding of pictures."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from d2lmini.positions.added import make_angles
from d2lmini.positions.rotary import turn
from d2lmini_exercises.engine import Case, draw, exercise

Turn = Callable[..., Tensor]


def by_column(part: Tensor, *, times: int = 1, wide: int = 1, start: int = 0, pairing: str = "adjacent") -> Tensor:
    steps, size = part.shape[-2:]
    return turn(part, times * make_angles(steps, wide * size, start=start)[:, : size // 2], pairing)


def by_row(part: Tensor, **keywords: Any) -> Tensor:
    return by_column(part.transpose(0, 1), **keywords).transpose(0, 1)


def rotate(
    X: Tensor,
    *,
    first: Turn = by_row,
    second: Turn = by_column,
    split: Any = lambda X: X.chunk(2, -1),
    join: Any = lambda one, other: torch.cat([one, other], -1),
) -> Tensor:
    """One half turned by the row, the other by the column, right unless told otherwise."""
    one, other = split(X)
    return join(first(one), second(other))


def either(**keywords: Any) -> Any:
    """Both halves turned wrongly, or one of them."""
    row, column = {"first": partial(by_row, **keywords)}, {"second": partial(by_column, **keywords)}
    return row | column, row, column


def flat(part: Tensor) -> Tensor:
    """One long sequence."""
    return by_column(part.flatten(0, 1)).view_as(part)


def both(part: Tensor) -> Tensor:
    return by_row(by_column(part))


def reshaped(part: Tensor) -> Tensor:
    rows, columns, size = part.shape
    return by_column(part.reshape(columns, rows, size)).reshape(part.shape)


def by_parity(part: Tensor) -> Tensor:
    """As if every odd row stood at 1, and every even one at 0."""
    odd = torch.arange(len(part))[:, None, None] % 2 == 1
    return torch.where(odd, by_column(part[..., None, :], start=1)[..., 0, :], part)


def alternate(X: Tensor, width: int) -> Tensor:
    """Groups of so many features: one by row, one by column."""
    groups = X.unflatten(-1, (-1, 2, width))
    halves = by_row(groups[..., 0, :].flatten(-2)), by_column(groups[..., 1, :].flatten(-2))
    return torch.stack([half.unflatten(-1, (-1, width)) for half in halves], -2).flatten(-3)


exercise(
    "rotary-picture",
    rotate,
    (
        *(draw(seed, X=shape) for seed, shape in enumerate(((3, 5, 12), (4, 2, 8), (8, 9, 4)))),
        *(
            Case(draw(3, X=shape), "one row, or one column: is a dimension lost?")
            for shape in ((1, 3, 16), (3, 1, 8), (1, 1, 4))
        ),
    ),
    {
        "nothing is turned": lambda X: X.clone(),
        "all features turn by the row, none by the column": by_row,
        "all features turn by the column, none by the row": by_column,
        "the first half turns by the row, the second by the column": {"first": by_column, "second": by_row},
        "the second half must turn by the column": {"second": torch.clone},
        "the first half must turn by the row": {"first": torch.clone},
        "both halves turn by the row": {"second": by_row},
        "both halves turn by the column": {"first": by_column},
        "rows and columns count from 0": either(start=1),
        "pairs are neighbours: features 0 and 1, 2 and 3": either(pairing="halves"),
        "a row further down turns further: yours only tell odd rows from even ones": {"first": by_parity},
        "split first, then turn: the frequencies of each half are those of width p/2, not of p": lambda X: torch.cat(
            [by_row(X).chunk(2, -1)[0], by_column(X).chunk(2, -1)[1]], -1
        ),
        "reshape does not exchange rows and columns: it reads the numbers in the same order": {"first": reshaped},
        "the frequencies of a half are 10000^(-2j/(p/2)): which base and which width have yours?": either(wide=2),
        "each half has its place in the result: the first stays first": {
            "join": lambda one, other: torch.cat([other, one], -1)
        },
        "each half turns once: yours has twice the angle": either(times=2),
        "(x, y) becomes (x cos - y sin, x sin + y cos): where does the minus stand?": either(times=-1),
        "that is one long sequence: places below each other are as far apart as a row is long": (
            flat,
            {"first": flat, "second": flat},
            {"first": flat},
        ),
        "each feature turns by the row or by the column, none by both": (both, {"first": both, "second": both}),
        "the halves are the first p/2 features and the last p/2: yours alternate": (
            partial(alternate, width=2),
            partial(alternate, width=1),
        ),
        "a half is p/2 features wide: yours are not": tuple(
            {"split": lambda X, k=k: (X[..., :k], X[..., k:])} for k in (2, 4, -4)
        ),
    },
    claim="one half turns by the row, the other by the column",
    verified="one half turns by the row, the other by the column, in four pictures, and gradients turn back",
    hint="look at a single feature of each half, along a row and along a column: which of the two moves it?",
    trained=True,
)
