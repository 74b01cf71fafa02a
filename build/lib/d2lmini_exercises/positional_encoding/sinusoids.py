"""Waves of many lengths: their tables and their steps."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.positions.added import make_angles
from d2lmini_exercises.convert import convert_tensor
from d2lmini_exercises.core import Mistakes, WrongAnswer, checker, expect_close, expect_function, name_shape
from d2lmini_exercises.prediction import Number, prediction

# Longest wavelength over 2π for d = 4, squared length of p_7 for d = 64, squared length of two steps for d = 2.
prediction(
    "predict-positions",
    Number(
        "(a)",
        100,
        hint="the wavelength of pair j is 2π · 10000^(2j/d): what is the largest 2j?",
        mistakes={
            "divide by 2π": (628, 628.3, 628.31, 628.32, 628.4),
            "what is the largest 2j? There are two pairs, j = 0 and j = 1": 10000,
            "2j is even: j = 0 and j = 1": 1000,
            "the exponent is 2j/d, not j/d": 10,
            "that is the shortest wave: pair 0": 1,
            "that is the frequency, and the wavelength is 2π over it": 0.01,
        },
        tolerance=0.005,
    ),
    Number(
        "(b)",
        32,
        hint="put δ = 0 into (5.3)",
        mistakes={
            "sin² + cos² = 1 for each pair: how many pairs are there?": 64,
            "sin² + cos² = 1 for each pair, and there is more than one pair": 1,
            "the squared length was asked for": 5.66,
            "d/2, not √d": 8,
        },
    ),
    Number(
        "(c)",
        2 - 2 * math.cos(2),
        hint="|a - b|² = |a|² + |b|² - 2 aᵀb, and (5.3) knows all three: for d = 2 there is one pair",
        mistakes={
            "the squared distance was asked for": math.sqrt(2 - 2 * math.cos(2)),
            "|a - b|² = |a|² + |b|² - 2 aᵀb: each of the three parts counts": 1 - math.cos(2),
            "|a - b|² = |a|² + |b|² - 2 aᵀb: where is the 2?": 2 - math.cos(2),
            "from 100 to 102 there are two steps": 2 - 2 * math.cos(1),
            "that is the dot product": math.cos(2),
            "distances are not counted in steps: p_100 and p_102 are points on a circle of radius 1": 4,
            "the dot product of the two is not 0": 2,
        },
    ),
    right="100, 32 and 2.83: all three are right",
)


def make_table(start: int, num_steps: int, d: int, *, width: int | None = None) -> Tensor:
    """Rows of the sinusoidal encoding, from position `start` on; `width` takes the place of d in the frequencies."""
    return _turn(make_angles(num_steps, width or d, offset=start), d)


def _turn(angles: Tensor, d: int) -> Tensor:
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d]


@checker("odd-width")
def check_odd_width(rows: Any) -> str:
    """`rows(start, num_steps, d)`: rows of the sinusoidal encoding for any d."""
    expect_function(rows)
    for start, num_steps, d in _TABLES:
        given = f"start, num_steps, d = {start}, {num_steps}, {d}"
        try:
            got = rows(start, num_steps, d)
        except (RuntimeError, IndexError, ValueError) as error:
            if d % 2 == 0 and start == 0:
                raise
            claim, hint = _explain_error(error, start, d)
            raise WrongAnswer(claim, hint, given=given, got=type(error).__name__) from error
        expected = make_table(start, num_steps, d)
        hint = "row 0 is 0, 1, 0, 1, ...: is yours? Then look at row 1, one pair of columns after the other"
        if start > 1000:
            hint = "so far out each angle must be computed in double precision, from start itself: is it?"
        elif d % 2:
            hint = "for an even d it is right: what changes if the last sine has no cosine?"
        elif start:
            hint = "from position 0 on it is right: which angles does row 0 have now?"
        expect_close(
            got,
            expected,
            claim="row by row it is (5.2)",
            given=given,
            hint=hint,
            mistakes=_list_wrong_tables(start, num_steps, d),
        )
    return "right for even and odd widths, from position 0 on and from others, also far out"


# The farthest has a single frequency, 1, so that its angles are exact; and no memory holds a table so long.
_TABLES = (
    *((0, 4, 6), (0, 3, 5), (7, 2, 6), (2, 5, 3), (4, 2, 1), (1, 3, 2), (10**15 - 3, 2, 2)),
    *((300_001, 2, 6), (10**9 - 7, 3, 5)),
)


def _explain_error(error: Exception, start: int, d: int) -> tuple[str, str]:
    """Claim and hint for an error that even widths from position 0 on do not raise."""
    if d % 2 and start <= 2:
        return "it works for an odd d", f"for d = {d} there are {(d + 1) // 2} sines: how many cosines?"
    claim = "it works for every start"
    if start > 1000:
        return claim, "no table is so long, and small dtypes end earlier: can each row be computed from start itself?"
    if "upper bound and lower bound inconsistent" in str(error):
        return claim, "torch.arange ends before its second number: where does it end?"
    return claim, f"row 0 is position {start} now: run it with these numbers. Which line stops, and with which sizes?"


def _list_wrong_tables(start: int, num_steps: int, d: int) -> dict[str, Tensor]:
    right = make_table(start, num_steps, d)
    angles = make_angles(num_steps, d, offset=start)  # (num_steps, d / 2, rounded up)
    swapped = torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(1)[:, :d]
    apart = torch.cat([angles.sin(), angles.cos()], dim=1)[:, :d]
    shifted = torch.stack([angles.sin(), (angles + math.pi / 2).sin()], dim=-1).flatten(1)[:, :d]
    no_last = right.clone()
    no_last[:, -1] = 0
    last_cosine = right.clone()
    last_cosine[:, -1] = angles[:, -1].cos()
    return {
        "sine and cosine are exchanged: what is column 0 at position 0?": swapped,
        "pairs stand side by side: columns 0 and 1 have one frequency": apart,
        "the exponent is 2j/d: what is 2j for the second pair?": make_table(start, num_steps, d, width=2 * d),
        "row 0 of the result is position start": make_table(0, num_steps, d),
        "a large angle plus π/2 is rounded: is the cosine itself computed?": shifted,
        "positions count from 0": make_table(start + 1, num_steps, d),
        "the exponent has a minus: each pair is slower than the one before": _turn(
            torch.arange(start, start + num_steps)[:, None] * 10000 ** (torch.arange(0, d, 2).double() / d), d
        ),
        "2j is 0, 2, 4, ...: is it doubled twice?": _turn(
            torch.arange(start, start + num_steps)[:, None] * 10000 ** (-2 * torch.arange(0, d, 2).double() / d), d
        ),
        "from 2π / ω_j positions to a full turn: an angle is i times ω_j, without 2π": _turn(2 * math.pi * angles, d),
        "angles are in radians, as sin and cos of torch take them": _turn(angles * math.pi / 180, d),
        "ω_j contains d itself, not d + 1": make_table(start, num_steps, d, width=d + 1),
        "the last column of an odd d is a sine, too": no_last if d % 2 else right + 1,
        "the last column of an odd d is a sine: 0 at position 0": last_cosine if d % 2 else right + 1,
    }


def _make_halves(position: int, d: int) -> Tensor:
    """One row: first all sines, then all cosines."""
    row = make_table(position, 1, d)[0]
    return torch.cat([row[0::2], row[1::2]])


@checker("step-matrix")
def check_step_matrix(make: Any) -> str:
    """`make(delta, d)`: the matrix M with M p_i = p_(i + delta), for rows with all sines before all cosines."""
    expect_function(make)
    steps = ((1, 6), (4, 8), (-2, 4), (0, 2), (7, 10), (3, 32), (5, 64), (100_000, 6), (-70_001, 4), (1_000_003, 6))
    for delta, d in steps:
        given = f"delta, d = {delta}, {d}"
        M = convert_tensor(make(delta, d), torch.empty(d, d))
        if M is None or M.shape != (d, d):
            hint = "return a torch tensor" if M is None else "d numbers go in and d numbers come out"
            raise WrongAnswer("M is a tensor of shape (d, d)", hint, given=given, got=name_shape(M))
        for i in (3, 0, 150, 5000, 10**6):
            near = (
                "write (5.4) for one pair: which angle is in it, and in which rows and columns of M does it stand now?"
            )
            fit = (
                f"for smaller {'widths' if i < 100 else 'i'} it is right: is it a fit? (5.4) is exact for every i and d"
            )
            if abs(delta) > 1000:
                fit = "for small steps it is right: is the angle of a large step computed in double precision?"
            expect_close(
                M @ _make_halves(i, d).to(M.dtype),
                _make_halves(i + delta, d),
                claim="M p_i is p_(i + delta)",
                given=f"delta, d, i = {delta}, {d}, {i}",
                hint=near if i < 100 and d < 32 and abs(delta) < 1000 else fit,
                mistakes=_list_wrong_steps(i, delta, d),
            )
    return "right for steps forward and back, at seven widths, also by far"


def _list_wrong_steps(i: int, delta: int, d: int) -> Mistakes:
    p = _make_halves(i, d)
    sine, cosine = p.chunk(2)

    def turn(angles: Tensor) -> Tensor:
        cos, sin = angles.double().cos(), angles.double().sin()
        return torch.cat([cos * sine + sin * cosine, cos * cosine - sin * sine])

    angles = delta * make_angles(2, d)[1]
    halves = delta * make_angles(2, 2 * d)[1, : d // 2]
    cos, sin = angles.cos(), angles.sin()
    x, y = p[0::2], p[1::2]
    pairs = torch.stack([cos * x + sin * y, cos * y - sin * x], -1).flatten()
    pairs_back = torch.stack([cos * x - sin * y, cos * y + sin * x], -1).flatten()
    mistakes: dict[str, Tensor | tuple[Tensor, ...]] = {
        "each sine has its own cosine: in which column does it stand here?": (pairs, pairs_back),
        "a rotation has one minus": torch.cat([cos * sine + sin * cosine, sin * sine + cos * cosine]),
        "ω_j has 2j in its exponent": turn(halves),
        "every pair turns by an angle of its own": turn(torch.tensor(delta)),
        "angles are in radians, as sin and cos of torch take them": turn(angles * math.pi / 180),
        "2π is a full turn for the first pair alone: the slower ones need all of delta": tuple(
            turn(reduced * make_angles(2, d)[1]) for reduced in (delta % (2 * math.pi), math.fmod(delta, 2 * math.pi))
        ),
        "M does not move anything": p,
    }
    if delta < 0:
        nothing = "a negative delta goes back, and here M does not move anything: what does your code do with it?"
        mistakes = {hint: wrong for hint, wrong in mistakes.items() if hint != "M does not move anything"}
        mistakes[f"{nothing} range({delta}) is empty"] = p
    back = "this goes back instead of forward: try i = 0, delta = 1. Where does the minus stand?"
    if delta < 0:
        back = "a negative delta goes back: has its sign been lost?"
    moved = {back: _make_halves(i - delta, d), "does your matrix change with delta?": _make_halves(i + 1, d)}
    return moved | mistakes
