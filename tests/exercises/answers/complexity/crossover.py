"""Answers to the exercise on where two layers cost the same."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import nn

import d2lmini as d2l


def difference(f: Any, g: Any, d: int) -> Callable[[int], int]:
    """By how much f costs more than g, for n tokens."""

    def measure(n: int) -> int:
        X = torch.randn(1, n, d)
        return d2l.count_flops(f, X) - d2l.count_flops(g, X)

    return measure


def crossover(
    *,
    equal: bool = False,
    strict: bool = False,
    swapped: bool = False,
    first: int = 1,
    last: int = 50_000,
    ends: int = 3,
) -> Callable[[Any, Any, int], int | None]:
    """The search for a crossover, right unless told otherwise; with two ends, a straight line is drawn."""

    def find(f: Any, g: Any, d: int) -> int | None:
        known = [difference(*((g, f) if swapped else (f, g)), d)(n) for n in range(1, ends + 1)]
        a = known[-1] - 2 * known[1] + known[0] if ends == 3 else 0  # everything twice, for whole numbers
        b = 2 * (known[1] - known[0]) - 3 * a
        for n in range(first, last + 1):
            more = a * n * n + b * n + 2 * known[0] - a - b
            if (more == 0 and not strict) or (not equal and more > 0):
                return n
        return None

    return find


def count_three(f: Any, g: Any, d: int) -> tuple[Fraction, Fraction, Fraction]:
    once, twice, thrice = (difference(f, g, d)(n) for n in (1, 2, 3))
    a = Fraction(thrice - 2 * twice + once, 2)
    return a, twice - once - 3 * a, 2 * once - twice + 2 * a


def by_a_root(f: Any, g: Any, d: int) -> int | None:
    """Right: the roots of the difference, and the lengths next to them."""
    a, b, c = count_three(f, g, d)
    roots = np.roots([float(a), float(b), float(c)])
    near = {1, *(math.floor(root.real) + i for root in roots for i in (-1, 0, 1, 2))}
    return min((n for n in near if n > 0 and a * n * n + b * n + c >= 0), default=None)


def by_polyfit(f: Any, g: Any, d: int) -> Any:
    """Right: a parabola through many points."""
    n = np.arange(1, 13)
    counts = [difference(f, g, d)(int(i)) for i in n]
    fit = np.rint(np.polyfit(n, counts, 2))
    values = np.polyval(fit, np.arange(1, 50_001))
    return np.argmax(values >= 0) + 1 if (values >= 0).any() else None


def by_floats(
    how: Callable[[Any, Any], Any], *points: int, rounding: Callable[[Any], Any] = lambda fit: fit
) -> Callable[[Any, Any, int], int | None]:
    """A parabola in floating point; unrounded, it misses some equalities by the last digit."""

    def find(f: Any, g: Any, d: int) -> int | None:
        n = np.array(points, dtype=float)
        a, b, c = rounding(how(n, np.array([difference(f, g, d)(i) for i in points], dtype=float)))
        return next((n for n in range(1, 50_001) if a * n * n + b * n + c >= 0), None)

    return find


def solve(n: Any, counts: Any) -> Any:
    return np.linalg.solve(np.stack([n * n, n, n**0], 1), counts)


def stops_with_an_error(f: Any, g: Any, d: int) -> None:
    raise KeyError("n")


def no_constant(f: Any, g: Any, d: int) -> int | None:
    """Two counts, as if c were 0."""
    once, twice = (difference(f, g, d)(n) for n in (1, 2))
    a = (twice - 2 * once) / 2
    if once >= 0:
        return 1
    return math.ceil((a - once) / a) if a > 0 else None


def without_c(f: Any, g: Any, d: int) -> int | None:
    """Three counts, and c is left out of the search."""
    a, b, _ = count_three(f, g, d)
    return next((n for n in range(1, 50_000) if a * n + b >= 0), None)


def at_the_frontier(f: Any, g: Any, d: int) -> int | None:
    """Where a = 0 or a < 0: as if the difference had one sign only."""
    a, b, c = count_three(f, g, d)
    if a <= 0:
        return 1 if a + b + c >= 0 else None
    return crossover()(f, g, d)


def linear_or_rising(f: Any, g: Any, d: int) -> int | None:
    """Where a < 0: as if the difference were negative for good."""
    a, b, c = count_three(f, g, d)
    if a < 0:
        return 1 if a + b + c >= 0 else None
    return crossover()(f, g, d)


def negative_root(f: Any, g: Any, d: int) -> int | None:
    """The larger root, whatever its sign."""
    a, b, c = count_three(f, g, d)
    if a == 0:
        return crossover()(f, g, d)
    root = (-b + Fraction(max(float(b * b - 4 * a * c), 0) ** 0.5)) / (2 * a)
    return crossover()(f, g, d) if a > 0 else math.ceil(root)


def rounded_up(f: Any, g: Any, d: int) -> int | None:
    """The smaller root of a falling parabola, rounded up: f may cost less there again."""
    a, b, c = count_three(f, g, d)
    if a >= 0 or a + b + c >= 0 or b * b < 4 * a * c or b <= 0:
        return crossover()(f, g, d)
    return math.ceil((-b + math.sqrt(b * b - 4 * a * c)) / (2 * a))


def one_by_one(f: Any, g: Any, d: int) -> int:
    return next(n for n in itertools.count(1) if difference(f, g, d)(n) >= 0)


def up_to_twenty(f: Any, g: Any, d: int) -> int | None:
    return next((n for n in range(1, 21) if difference(f, g, d)(n) >= 0), None)


def from_below(f: Any, g: Any, d: int) -> int | None:
    """Waits for a change: f cheaper, then not."""
    find = crossover()(f, g, d)
    return None if find == 1 else find


def changed(change: Callable[[Any], Any]) -> Callable[[Any, Any, int], Any]:
    return lambda f, g, d: change(crossover()(f, g, d))


RIGHT: dict[str, list[Any]] = {
    "find-crossover": [
        crossover(),
        by_a_root,
        by_polyfit,
        changed(lambda n: n and torch.tensor(float(n))),
        by_floats(solve, 1, 2, 3, rounding=np.rint),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("find-crossover", one_by_one, "counts at how many small n tell you"),
    ("find-crossover", up_to_twenty, "how far does your search go?"),
    ("find-crossover", crossover(last=40), "how far does your search go?"),
    ("find-crossover", crossover(last=600), "how far does your search go?"),
    ("find-crossover", crossover(last=1000), "how far does your search go?"),
    *(("find-crossover", crossover(last=last), "how far does your search go?") for last in (40_000, 49_200, 49_900)),
    ("find-crossover", no_constant, "have you found c"),
    ("find-crossover", without_c, "have you found c"),
    ("find-crossover", at_the_frontier, "how far does your search go?"),
    ("find-crossover", linear_or_rising, "What about the lengths between?"),
    ("find-crossover", negative_root, "return None then"),
    ("find-crossover", rounded_up, "A root between two lengths is none"),
    ("find-crossover", changed(lambda n: n and 1 - n), "n is at least 1"),
    ("find-crossover", changed(lambda n: (n,)), "return a float, or a tensor of one entry\n"),
    ("find-crossover", crossover(equal=True), "They need not cost exactly the same"),
    ("find-crossover", crossover(strict=True), "do you compare with >=?"),
    # as a fit in floats may miss an equality, on every machine
    ("find-crossover", by_floats(solve, 1, 2, 3, rounding=lambda fit: np.rint(fit) - 1e-7), "or rounded floats?"),
    ("find-crossover", stops_with_an_error, "run it yourself"),
    ("find-crossover", crossover(swapped=True), "it is the other way round"),
    ("find-crossover", crossover(ends=2), "f no cheaper for the first time?"),
    ("find-crossover", changed(lambda n: n or 10**4), "return None then"),
    ("find-crossover", changed(lambda n: n or math.inf), "return None then"),
    ("find-crossover", lambda f, g, d: 1.5 * d, "n is a whole number"),
    ("find-crossover", lambda f, g, d: math.nan, "n is a whole number"),
    ("find-crossover", crossover(first=2), "begin at n = 1"),
    ("find-crossover", from_below, "what does your function do there?"),
    ("find-crossover", changed(lambda n: n == 1 or n), "return n itself"),
    ("find-crossover", changed(lambda n: n and n - 1), "which is cheaper there?"),
    ("find-crossover", changed(lambda n: n and str(n)), "return a float"),
    ("find-crossover", lambda f, g, d: f(nn.Parameter(torch.ones(1, 21, d))), "tell you a, b and c?"),
]
