"""Waves of many lengths: their tables and their steps."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import Case, Number, WrongAnswer, exercise, expect_shape, prediction

# Longest wavelength over 2π for d = 4, squared length of p_7 for d = 64, squared length of two steps for d = 2.
prediction(
    "predict-positions",
    {
        Number("(a)", 100, "the wavelength of pair j is 2π · 10000^(2j/d): what is the largest 2j?", tolerance=0.005): {
            "divide by 2π": (628, 628.3, 628.31, 628.32, 628.4),
            "what is the largest 2j? There are two pairs, j = 0 and j = 1": 10000,
            "2j is even: j = 0 and j = 1": 1000,
            "the exponent is 2j/d, not j/d": 10,
            "that is the shortest wave: pair 0": 1,
            "that is the frequency, and the wavelength is 2π over it": 0.01,
        },
        Number("(b)", 32, "put δ = 0 into (5.3)"): {
            "sin² + cos² = 1 for each pair: how many pairs are there?": 64,
            "sin² + cos² = 1 for each pair, and there is more than one pair": 1,
            "the squared length was asked for": 5.66,
            "d/2, not √d": 8,
        },
        Number(
            "(c)",
            2 - 2 * math.cos(2),
            "|a - b|² = |a|² + |b|² - 2 aᵀb, and (5.3) knows all three: for d = 2 there is one pair",
        ): {
            "the squared distance was asked for": math.sqrt(2 - 2 * math.cos(2)),
            "|a - b|² = |a|² + |b|² - 2 aᵀb: each of the three parts counts": 1 - math.cos(2),
            "|a - b|² = |a|² + |b|² - 2 aᵀb: where is the 2?": 2 - math.cos(2),
            "from 100 to 102 there are two steps": 2 - 2 * math.cos(1),
            "that is the dot product": math.cos(2),
            "distances are not counted in steps: p_100 and p_102 are points on a circle of radius 1": 4,
            "the dot product of the two is not 0": 2,
        },
    },
    right="100, 32 and 2.83: all three are right",
)


def make_table(
    start: int,
    num_steps: int,
    d: int,
    *,
    width: int = 0,
    omega: Any = lambda two_j, d: 10000 ** (-two_j / d),
    turns: float = 1.0,
    last: Any = None,
    pair: Any = lambda a: (a.sin(), a.cos()),
    join: Any = lambda pair: torch.stack(pair, -1).flatten(1),
) -> Tensor:
    """Rows of the sinusoidal encoding from position `start` on, `(num_steps, d)`, right unless told otherwise."""
    positions = torch.arange(start, start + num_steps).double()[:, None]
    angles = turns * positions * omega(torch.arange(0, d, 2).double(), width or d)
    P = join(pair(angles))[:, :d]
    if d % 2 and last:
        P[:, -1] = last(angles[:, -1])
    return P


@contextmanager
def in_float64() -> Iterator[None]:
    """The default dtype of the chapter, whose code computes large angles in it."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def use_rows(rows: Any, start: int, num_steps: int, d: int) -> Any:
    """The rows, unless the code stops where even widths from position 0 on do not."""
    try:
        with in_float64():
            return rows(start, num_steps, d)
    except (RuntimeError, IndexError, ValueError) as error:
        if d % 2 == 0 and start == 0:
            raise
        claim = "it works for every start"
        hint = f"row 0 is position {start} now: run it with these numbers. Which line stops, and with which sizes?"
        if d % 2 and start <= 2:
            claim, hint = "it works for an odd d", f"for d = {d} there are {(d + 1) // 2} sines: how many cosines?"
        elif start > 1000:
            hint = "no table is so long, and small dtypes end earlier: can each row be computed from start itself?"
        elif "upper bound and lower bound inconsistent" in str(error):
            hint = "torch.arange ends before its second number: where does it end?"
        raise WrongAnswer(claim, hint, got=type(error).__name__) from error


_ODD = "for an even d it is right: what changes if the last sine has no cosine?"
# The farthest has a single frequency, 1, so that its angles are exact; and no memory holds a table so long.
exercise(
    "odd-width",
    make_table,
    tuple(
        Case(f"start, num_steps, d = {start}, {num_steps}, {d}", hint, edge="far out" * (start > 1000))
        for start, num_steps, d, hint in (
            (0, 4, 6, ""),
            (0, 3, 5, _ODD),
            (7, 2, 6, "from position 0 on it is right: which angles does row 0 have now?"),
            (2, 5, 3, _ODD),
            (4, 2, 1, _ODD),
            (1, 3, 2, ""),
            (3, 1, 4, ""),
            (0, 1, 1, ""),
            (10**15 - 3, 2, 2, ""),
            (300_001, 2, 6, ""),
            (10**9 - 7, 3, 5, ""),
        )
    ),
    {
        "sine and cosine are exchanged: what is column 0 at position 0?": {"pair": lambda a: (a.cos(), a.sin())},
        "pairs stand side by side: columns 0 and 1 have one frequency": {"join": lambda pair: torch.cat(pair, 1)},
        "the exponent is 2j/d: what is 2j for the second pair?": {"omega": lambda two_j, d: 100 ** (-two_j / d)},
        "row 0 of the result is position start": lambda start, num_steps, d: make_table(0, num_steps, d),
        "a large angle plus π/2 is rounded: is the cosine itself computed?": {
            "pair": lambda a: (a.sin(), (a + math.pi / 2).sin())
        },
        "positions count from 0": lambda start, num_steps, d: make_table(start + 1, num_steps, d),
        "the exponent has a minus: each pair is slower than the one before": {
            "omega": lambda two_j, d: 10000 ** (two_j / d)
        },
        "2j is 0, 2, 4, ...: is it doubled twice?": {"omega": lambda two_j, d: 10000 ** (-2 * two_j / d)},
        "from 2π / ω_j positions to a full turn: an angle is i times ω_j, without 2π": {"turns": 2 * math.pi},
        "angles are in radians, as sin and cos of torch take them": {"turns": math.pi / 180},
        "ω_j contains d itself, not d + 1": lambda start, num_steps, d: make_table(
            start, num_steps, d, width=d + d % 2
        ),
        "the last column of an odd d is a sine, too: 0 at position 0": (
            {"last": torch.zeros_like},
            {"last": torch.cos},
        ),
    },
    claim="row by row it is (5.2)",
    verified="right for even and odd widths, from position 0 on and from others, also far out",
    hint="row 0 is 0, 1, 0, 1, ...: is yours? Then look at row 1, one pair of columns after the other",
    use=use_rows,
)


def make_step(
    delta: float,
    d: int,
    *,
    omega: Any = lambda two_j, d: 10000 ** (-two_j / d),
    factor: float = 1.0,
    sign: int = 1,
    minus: int = -1,
) -> Tensor:
    """The matrix M with M p_i = p_(i + delta), for all sines before all cosines, right unless told otherwise."""
    angles = factor * delta * omega(torch.arange(0, d, 2).double(), d)
    cos, sin = angles.cos().diag(), sign * angles.sin().diag()
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([minus * sin, cos], 1)])


def put_side_by_side(M: Tensor) -> Tensor:
    order = torch.arange(len(M)).view(2, -1).T.flatten()
    return M[order][:, order]


def use_step(make: Any, delta: int, d: int, i: int) -> Any:
    """M p_i."""
    hint = "return a torch tensor: d numbers go in and d numbers come out"
    with in_float64():
        M = expect_shape(make(delta, d), (d, d), claim="M is a tensor of shape (d, d)", hint=hint)
    row = make_table(i, 1, d)[0]
    return M @ torch.cat([row[0::2], row[1::2]]).to(M.dtype)


def explain_step(delta: int, d: int, i: int) -> str:
    if abs(delta) > 1000:
        return "for small steps it is right: is the angle of a large step computed in double precision?"
    if i < 100 and d < 32:
        return ""
    return f"for smaller {'widths' if i < 100 else 'i'} it is right: is it a fit? (5.4) is exact for every i and d"


_STEPS = ((1, 6), (4, 8), (-2, 4), (0, 2), (7, 10), (3, 32), (5, 64), (100_000, 6), (-70_001, 4), (1_000_003, 6))
exercise(
    "step-matrix",
    make_step,
    tuple(
        Case(f"delta, d, i = {delta}, {d}, {i}", explain_step(delta, d, i))
        for delta, d in _STEPS
        for i in (3, 0, 150, 5000, 10**6)
    ),
    {
        "this goes back instead of forward: try i = 0, delta = 1. Where does the minus stand?": {"sign": -1},
        "a negative delta goes back: has its sign been lost?": lambda delta, d: make_step(abs(delta), d),
        "does your matrix change with delta?": lambda delta, d: make_step(1, d),
        "each sine has its own cosine: in which column does it stand here?": (
            lambda delta, d: put_side_by_side(make_step(delta, d)),
            lambda delta, d: put_side_by_side(make_step(-delta, d)),
        ),
        "a rotation has one minus": {"minus": 1},
        "ω_j has 2j in its exponent": {"omega": lambda two_j, d: 100 ** (-two_j / d)},
        "every pair turns by an angle of its own": {"omega": lambda two_j, d: two_j**0},
        "angles are in radians, as sin and cos of torch take them": {"factor": math.pi / 180},
        "2π is a full turn for the first pair alone: the slower ones need all of delta": (
            lambda delta, d: make_step(delta % (2 * math.pi), d),
            lambda delta, d: make_step(math.fmod(delta, 2 * math.pi), d),
        ),
        "M does not move anything": lambda delta, d: torch.eye(d),
        "a negative delta goes back, and here M does not move anything: what does your code do with it? range(-2) is "
        "empty": lambda delta, d: make_step(max(delta, 0), d),
    },
    claim="M p_i is p_(i + delta)",
    verified="right for steps forward and back, at seven widths, also by far",
    hint="write (5.4) for one pair: which angle is in it, and in which rows and columns of M does it stand now?",
    use=use_step,
)
