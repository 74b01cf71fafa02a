"""Answers to the exercises: waves of many lengths: their tables and their steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l


def rows(
    *,
    first: int = 0,
    exponent: float = 1.0,
    swapped: bool = False,
    side_by_side: bool = False,
    dtype: torch.dtype = torch.float64,
    width: int = 0,
    use_start: bool = True,
    last: str = "sine",
    turns: float = 1.0,
) -> Callable[[int, int, int], Tensor]:
    """The table of sinusoids, right unless told otherwise."""

    def answer(start: int, num_steps: int, d: int) -> Tensor:
        begin = first + (start if use_start else 0)
        i = torch.arange(begin, begin + num_steps, dtype=dtype)[:, None]
        angles = turns * i * 10000 ** (-torch.arange(0, d, 2, dtype=dtype) * exponent / (d + width * (d % 2)))
        pair = [angles.sin(), angles.cos()]
        if side_by_side:
            return torch.cat(pair, 1)[:, :d]
        P = torch.stack(pair[::-1] if swapped else pair, -1).flatten(1)[:, :d]
        if d % 2 and last == "cosine":
            P[:, -1] = angles[:, -1].cos()
        if d % 2 and last == "zero":
            P[:, -1] = 0
        return P

    return answer


def f(i: int, column: int, d: int) -> float:
    """One number of the table."""
    angle = i * math.exp(-math.log(10000) * (column // 2 * 2) / d)
    return math.cos(angle) if column % 2 else math.sin(angle)


def with_package(start: int, num_steps: int, d: int) -> Tensor:
    encoding = d2l.PositionalEncoding(d, 0, max_len=start + num_steps, dtype=torch.float64)
    return encoding.P[0, start:]


def from_a_million_rows(start: int, num_steps: int, d: int) -> Tensor:
    return rows()(0, 1_000_000, d)[start : start + num_steps]


def float32_positions(start: int, num_steps: int, d: int) -> Tensor:
    i = torch.arange(start, start + num_steps, dtype=torch.float32).double()[:, None]
    angles = i * 10000 ** (-torch.arange(0, d, 2).double() / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d]


def stacked_from_a_table(start: int, num_steps: int, d: int) -> Tensor:
    T = rows()(0, num_steps, d)
    return torch.stack([T[start + i] for i in range(num_steps)])


def into_too_few_rows(start: int, num_steps: int, d: int) -> Tensor:
    P = torch.zeros(num_steps, d, dtype=torch.float64)
    P[:] = rows()(0, start + num_steps, d)
    return P


def sliced(start: int, num_steps: int, d: int) -> Tensor:
    P = torch.zeros(num_steps, d, dtype=torch.float64)
    right = rows()(start, num_steps, d)
    P[start:, 0::2], P[start:, 1::2] = right[:, 0::2], right[:, 1::2]
    return P


def by_ones(start: int, num_steps: int, d: int) -> Tensor:
    """Right: one wave at a time, from Python's own numbers."""
    return torch.tensor([[f(i, j, d) for j in range(d)] for i in range(start, start + num_steps)], dtype=torch.float64)


def of_a_complex_exponential(start: int, num_steps: int, d: int) -> Tensor:
    i = torch.arange(start, start + num_steps).double()[:, None]
    waves = torch.exp(1j * i * 10000 ** (-torch.arange(0, d, 2).double() / d))
    return torch.view_as_real(waves).flip(-1).flatten(1)[:, :d]


def for_even_only(start: int, num_steps: int, d: int) -> Tensor:
    P = torch.zeros(num_steps, d)
    angles = torch.arange(start, start + num_steps)[:, None] * 10000 ** (-torch.arange(0, d, 2) / d)
    P[:, 0::2], P[:, 1::2] = angles.sin(), angles.cos()
    return P


def fails_on_even(start: int, num_steps: int, d: int) -> Tensor:
    return torch.zeros(2, 3) @ torch.zeros(2, 3)


def ends_too_early(start: int, num_steps: int, d: int) -> Tensor:
    torch.arange(start, num_steps)
    return rows()(start, num_steps, d)


def from_a_table(start: int, num_steps: int, d: int) -> Tensor:
    return d2l.PositionalEncoding(d, 0)(torch.zeros(1, num_steps, d), offset=start)[0]


def split(d: int) -> Tensor:
    """The permutation that puts all sines before all cosines."""
    return torch.eye(d, dtype=torch.float64)[[*range(0, d, 2), *range(1, d, 2)]]


def pairs(delta: int, d: int) -> Tensor:
    """The matrix for pairs that stand side by side, as in the text."""
    M = torch.zeros(d, d, dtype=torch.float64)
    for j in range(0, d, 2):
        angle = delta * 10000 ** (-j / d)
        M[j, j] = M[j + 1, j + 1] = math.cos(angle)
        M[j, j + 1], M[j + 1, j] = math.sin(angle), -math.sin(angle)
    return M


def matrix(
    *, sign: float = 1.0, exponent: float = 1.0, both: bool = False, factor: float = 1.0
) -> Callable[[int, int], Tensor]:
    """The matrix of a step, right unless told otherwise."""

    def answer(delta: int, d: int) -> Tensor:
        angles = factor * delta * 10000 ** (-torch.arange(0, d, 2).double() * exponent / d)
        cos, sin = angles.cos().diag(), sign * angles.sin().diag()
        return torch.cat([torch.cat([cos, sin], 1), torch.cat([sin if both else -sin, cos], 1)])

    return answer


def of_complex_numbers(delta: int, d: int) -> list[list[float]]:
    """Right: cosine + i sine is multiplied by a number of length 1."""
    M = torch.zeros(d, d, dtype=torch.float64)
    for j in range(d // 2):
        turn = torch.exp(torch.tensor(1j * delta * 10000 ** (-2 * j / d)))
        M[j, j] = M[j + d // 2, j + d // 2] = turn.real
        M[j, j + d // 2], M[j + d // 2, j] = turn.imag, -turn.imag
    return M.tolist()


def exponential(delta: int, d: int) -> Tensor:
    """Right: many tiny steps."""
    omega = (10000 ** (-torch.arange(0, d, 2).double() / d)).diag()
    zero = torch.zeros_like(omega)
    return torch.matrix_exp(delta * torch.cat([torch.cat([zero, omega], 1), torch.cat([-omega, zero], 1)]))


def float32_blocks(delta: int, d: int) -> Tensor:
    angles = delta * 10000 ** (-torch.arange(0, d, 2) / d)
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])


def loop(delta: int, d: int) -> Tensor:
    M = torch.eye(d, dtype=torch.float64)
    for _ in range(delta):
        M = matrix()(1, d) @ M
    return M


def one_speed(delta: int, d: int) -> Tensor:
    return matrix(exponent=0)(delta, d)


def fit(num_rows: int, begin: int = 0, *, inverse: bool = False) -> Callable[[int, int], Tensor]:
    """A matrix from so many positions and where they go."""

    def answer(delta: int, d: int) -> Tensor:
        rows_of = rows()
        P, moved = rows_of(begin, num_rows or d, d) @ split(d).T, rows_of(begin + delta, num_rows or d, d) @ split(d).T
        return (torch.linalg.pinv(P) @ moved if inverse else torch.linalg.lstsq(P, moved).solution).T

    return answer


RIGHT: dict[str, list[Any]] = {
    "predict-positions": [(100, 32, 2.832), torch.tensor([100.0, 32.0, 2.83])],
    "odd-width": [
        rows(),
        by_ones,
        of_a_complex_exponential,
        lambda start, num_steps, d: [[f(start + i, j, d) for j in range(d)] for i in range(num_steps)],
        lambda *sizes: rows()(*sizes).float(),
    ],
    "step-matrix": [
        matrix(),
        lambda delta, d: matrix()(delta, d).numpy(),
        lambda delta, d: matrix()(delta, d).float(),
        lambda delta, d: split(d) @ pairs(delta, d) @ split(d).T,
        of_complex_numbers,
        exponential,
        lambda delta, d: torch.linalg.matrix_power(matrix()(1, d), delta),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-positions", (10000, 32, 2.83), "what is the largest 2j?"),
    ("predict-positions", (628.3185, 32, 2.83), "divide by 2π"),
    ("predict-positions", (10, 32, 2.83), "2j/d, not j/d"),
    ("predict-positions", (1, 32, 2.83), "the shortest wave"),
    ("predict-positions", (0.01, 32, 2.83), "that is the frequency"),
    ("predict-positions", (7, 32, 2.83), "what is the largest 2j?"),
    ("predict-positions", (100, 64, 2.83), "how many pairs"),
    ("predict-positions", (100, 1, 2.83), "more than one pair"),
    ("predict-positions", (100, math.sqrt(32), 2.83), "the squared length"),
    ("predict-positions", (100, 8, 2.83), "d/2, not √d"),
    ("predict-positions", (100, 5, 2.83), "put δ = 0"),
    ("predict-positions", (628, 32, 2.83), "divide by 2π"),
    ("predict-positions", (1000, 32, 2.83), "2j is even"),
    ("predict-positions", (0, 32, 2.83), "what is the largest 2j?"),
    ("predict-positions", (100, 32, 1.683), "the squared distance"),
    ("predict-positions", (100, 32, 1 - math.cos(2)), "each of the three parts"),
    ("predict-positions", (100, 32, 2 - math.cos(2)), "where is the 2?"),
    ("predict-positions", (100, 32, 2 - 2 * math.cos(1)), "two steps"),
    ("predict-positions", (100, 32, math.cos(2)), "the dot product"),
    ("predict-positions", (100, 32, 4), "a circle of radius 1"),
    ("predict-positions", (100, 32, 2), "is not 0"),
    ("predict-positions", (100, 32, 0.05), "there is one pair"),
    ("predict-positions", (100, 32), "look at the starter's form"),
    ("odd-width", rows(swapped=True), "sine and cosine are exchanged"),
    ("odd-width", rows(side_by_side=True), "pairs stand side by side"),
    ("odd-width", rows(exponent=0.5), "what is 2j for the second pair?"),
    ("odd-width", rows(use_start=False), "row 0 of the result is position start"),
    ("odd-width", rows(first=1), "positions count from 0"),
    ("odd-width", rows(width=1), "d itself, not d + 1"),
    ("odd-width", rows(last="cosine"), "is a sine: 0 at position 0"),
    ("odd-width", rows(last="zero"), "is a sine, too"),
    ("odd-width", rows(dtype=torch.float32), "double precision"),
    ("odd-width", for_even_only, "how many cosines?"),
    ("odd-width", fails_on_even, "run it yourself"),
    ("odd-width", ends_too_early, "where does it end?"),
    ("odd-width", from_a_table, "can each row be computed from start itself?"),
    ("odd-width", with_package, "can each row be computed from start itself?"),
    ("odd-width", from_a_million_rows, "the shape of each step"),
    ("odd-width", float32_positions, "in double precision"),
    ("odd-width", stacked_from_a_table, "Which line stops, and with which sizes?"),
    ("odd-width", into_too_few_rows, "Which line stops, and with which sizes?"),
    ("odd-width", sliced, "Which line stops, and with which sizes?"),
    (
        "odd-width",
        lambda start, num_steps, d: rows()(int(torch.tensor(float(start))), num_steps, d),
        "double precision",
    ),
    ("odd-width", lambda start, num_steps, d: rows()(start % 10**6, num_steps, d), "double precision"),
    ("odd-width", rows(exponent=2), "is it doubled twice?"),
    ("odd-width", lambda start, num_steps, d: rows()(start, num_steps, d)[0], "the shape of each step"),
    ("odd-width", rows(exponent=-1), "the exponent has a minus"),
    ("odd-width", rows(turns=2 * math.pi), "without 2π"),
    ("odd-width", rows(turns=math.pi / 180), "angles are in radians"),
    ("odd-width", rows(last="cosine", use_start=False), "is a sine: 0 at position 0"),
    ("odd-width", lambda start, num_steps, d: rows()(start, start + num_steps, d), "the shape of each step"),
    ("odd-width", lambda start, num_steps, d: rows()(min(start, 1), num_steps, d), "which angles does row 0 have now?"),
    ("odd-width", lambda start, num_steps, d: rows()(start, num_steps, d).flip(0), "row 0 is 0, 1, 0, 1"),
    ("odd-width", lambda start, num_steps, d: rows()(start, num_steps, d) * (1 - d % 2), "has no cosine?"),
    ("odd-width", lambda start, num_steps, d: torch.cat([rows()(start, num_steps, d - 1)] * 2, 1), "shape of each"),
    (
        "odd-width",
        lambda start, num_steps, d: rows()(start % 1000, num_steps, d),
        "computed in double precision, from start itself",
    ),
    ("step-matrix", pairs, "in which column does it stand here?"),
    ("step-matrix", lambda delta, d: pairs(-delta, d), "in which column does it stand here?"),
    ("step-matrix", lambda delta, d: pairs(delta, d).T, "in which column does it stand here?"),
    ("step-matrix", lambda delta, d: pairs(delta, d) @ split(d), "in which rows and columns of M"),
    ("step-matrix", lambda delta, d: split(d).T @ pairs(delta, d) @ split(d), "in which rows and columns of M"),
    ("step-matrix", matrix(both=True), "one minus"),
    ("step-matrix", matrix(exponent=0.5), "2j in its exponent"),
    ("step-matrix", matrix(factor=math.pi / 180), "angles are in radians"),
    ("step-matrix", one_speed, "an angle of its own"),
    ("step-matrix", lambda delta, d: torch.eye(d), "does not move anything"),
    ("step-matrix", lambda delta, d: torch.ones(d, d), "write (5.4) for one pair"),
    ("step-matrix", lambda delta, d: f"{d} columns", "return a torch tensor"),
    ("step-matrix", lambda delta, d: torch.eye(2), "d numbers go in and d numbers come out"),
    ("step-matrix", lambda delta, d: matrix()(delta, d)[None], "d numbers go in and d numbers come out"),
    ("step-matrix", lambda delta, d: matrix()(abs(delta), d), "has its sign been lost?"),
    ("step-matrix", lambda delta, d: matrix()(1, d), "does your matrix change with delta?"),
    ("step-matrix", lambda delta, d: matrix()(delta, 6)[:d, :d], "d numbers go in and d numbers come out"),
    ("step-matrix", lambda delta, d: 2 * matrix()(delta, d), "write (5.4) for one pair"),
    ("step-matrix", fit(0), "is it a fit?"),
    ("step-matrix", fit(20), "is it a fit?"),
    ("step-matrix", fit(100), "is it a fit?"),
    ("step-matrix", fit(100, inverse=True), "is it a fit?"),
    ("step-matrix", fit(1000), "is it a fit?"),
    ("step-matrix", float32_blocks, "a large step computed in double precision?"),
    ("step-matrix", lambda delta, d: torch.linalg.matrix_power(matrix()(1, d).float(), delta), "a large step"),
    ("step-matrix", loop, "what does your code do with it? range(-2) is empty"),
    ("step-matrix", matrix(sign=-1), "Where does the minus stand?"),
]
