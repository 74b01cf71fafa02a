"""Checkers of the chapter "Longer than in training"."""

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import Task, exercise, list_in_order


def stretch(
    positions: Tensor,
    p: int,
    L: int,
    s: float,
    window: int | None = None,
    *,
    keeps: Any = lambda window, L: window is not None and window <= L,
    width: Any = lambda p: p,
    turns: Any = lambda omega, L, s: L * omega / (2 * math.pi),
    ramp: Any = lambda r: ((r - 1) / 31).clamp(0, 1),
    join: Any = lambda gamma, omega, s: gamma * omega + (1 - gamma) * omega / s,
    scaled: Any = lambda i, s: i,
) -> Tensor:
    """The angles of YaRN, right unless told otherwise."""
    omega = 10000 ** -(torch.arange(0, p, 2, dtype=torch.float64) / width(p))
    if not keeps(window, L):
        omega = join(ramp(turns(omega, L, s)), omega, s)
        positions = scaled(positions, s)
    return positions[:, None] * omega


TURNS: Any = {"turns": lambda omega, L, s: s * L * omega / (2 * math.pi)}
SCALED: Any = {"scaled": lambda i, s: i / s}
WINDOW: Any = {"keeps": lambda window, L: False}
exercise(
    "debug-stretching",
    stretch,
    tuple(
        f"positions, p, L, s, window = torch.arange({n}), {p}, {L}, {s}, {window}"
        for n, p, L, s, window in (
            (9, 8, 1000, 4, None),
            (5, 16, 512, 8, 32),
            (12, 64, 2048, 2.5, 4096),
            (7, 8, 100, 4, 100),
            (7, 8, 100, 4, 101),
            (1, 4, 100, 4, None),
            (3, 2, 100, 4, None),
        )
    ),
    {
        "YaRN changes frequencies: are the positions divided as well?": (
            SCALED,
            SCALED | TURNS,
            SCALED | WINDOW,
            SCALED | TURNS | WINDOW,
        ),
        "which turns count: those that the pair makes in training, or those in the longer text?": (
            TURNS,
            TURNS | WINDOW,
        ),
        "a layer with a window of at most L positions: does it ever meet an offset that is new?": (
            WINDOW,
            {"keeps": lambda window, L: window is not None and window < L},
        ),
        "a window of more than L positions: does it meet no offset that is new?": (
            {"keeps": lambda window, L: window is not None},
            {"keeps": lambda window, L: window is not None and window <= L + 1},
        ),
        "without a window, a layer must be stretched: which of its frequencies change?": (
            {"join": lambda gamma, omega, s: omega},
            {"keeps": lambda window, L: window is None or window > L},
        ),
        "a pair that turns often keeps its frequency, a slow one is slowed: yours has it the other way round": {
            "join": lambda gamma, omega, s: (1 - gamma) * omega + gamma * omega / s
        },
        "that is position interpolation: which pairs must keep their frequency?": {
            "join": lambda gamma, omega, s: omega / s
        },
        "slower pairs are divided by s, not multiplied": {
            "join": lambda gamma, omega, s: gamma * omega + (1 - gamma) * omega * s
        },
        "blend the frequencies, not the wavelengths": {
            "join": lambda gamma, omega, s: 1 / (gamma / omega + (1 - gamma) * s / omega)
        },
        "a turn is 2π radians": tuple(
            {"turns": lambda omega, L, s, turn=turn: L * omega / turn} for turn in (1, math.pi)
        ),
        "the first position is 0, and a pair turns by ω in each of L steps: count the turns of L": {
            "turns": lambda omega, L, s: (L - 1) * omega / (2 * math.pi)
        },
        "a part of at least 0 and at most 1: where is it clamped?": {"ramp": lambda r: (r - 1) / 31},
        "α is 1 and β is 32": tuple(
            {"ramp": lambda r, a=a, b=b: ((r - a) / (b - a)).clamp(0, 1)}
            for a, b in ((0, 32), (1, 33), (1, 2), (0, 31))
        ),
        "between 1 and 32 turns a part is blended in, in a straight line": (
            {"ramp": lambda r: (r > 1).double()},
            {"ramp": lambda r: (r >= 32).double()},
        ),
        "the exponent of pair j is 2j/p": ({"width": lambda p: p - 2}, {"width": lambda p: 2 * p}),
    },
    claim="these are the angles that YaRN gives",
    verified="right for five layers, with small, large and no windows",
    hint="print γ and the frequency of each pair, for a layer without a window first",
)

list_in_order(
    "Longer than in training",
    Task(
        "Exercise 8.1",
        "debug-stretching",
        "which pairs turn often within the old length, and what is to become of these?",
        'formulas (8.1) and (8.2) in "Stretch it"',
    ),
)
