"""Answers to the exercises: what a coin could do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import torch


def luck(right: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(right, pairs + 1)) / 2**pairs


def enough(
    tail: Callable[[int, int], float] = luck, *, least: int = 0, reached: bool = False, none: int | None = None
) -> Callable[[int, float], int]:
    """The smallest number that is rare enough, right unless told otherwise."""

    def answer(pairs: int, chance: float) -> int:
        for k in range(least, pairs + 1):
            if tail(k, pairs) <= chance if reached else tail(k, pairs) < chance:
                return k
        return pairs + 1 if none is None else none

    return answer


def from_the_top(pairs: int, chance: float) -> int:
    tail, k = Fraction(0), pairs + 1
    while k > 0 and tail + Fraction(math.comb(pairs, k - 1), 2**pairs) < chance:
        k -= 1
        tail += Fraction(math.comb(pairs, k), 2**pairs)
    return k


def by_convolution(pairs: int, chance: float) -> Any:
    chances = np.ones(1)
    for _ in range(pairs):
        chances = np.convolve(chances, [0.5, 0.5])
    return (chances[::-1].cumsum()[::-1] >= chance).sum()


def by_recursion(pairs: int, chance: float) -> int:
    def tail(k: int, n: int) -> float:
        return 1.0 if k <= 0 else 0.0 if k > n else (table[k - 1] + table[k]) / 2

    table = [1.0, 0.0]
    for n in range(1, pairs + 1):
        table = [tail(k, n) for k in range(n + 1)] + [0.0]
    return next(k for k in range(pairs + 2) if table[k] < chance)


def by_tensor(pairs: int, chance: float) -> torch.Tensor:
    ways = torch.tensor([math.comb(pairs, i) for i in range(pairs + 1)], dtype=torch.float64) / 2**pairs
    tails = ways.flip(0).cumsum(0).flip(0)
    return torch.cat([tails, torch.zeros(1)]).lt(chance).long().argmax()


def by_counting(pairs: int, chance: float) -> int:
    """Tries all sequences of throws, up to twelve of them."""
    if pairs > 12:
        return enough()(pairs, chance)
    heads = [sum(throws) for throws in itertools.product((0, 1), repeat=pairs)]
    return next(k for k in range(pairs + 2) if sum(h >= k for h in heads) / len(heads) < chance)


def exactly(k: int, pairs: int) -> float:
    return math.comb(pairs, k) / 2**pairs


def by_bell_curve(pairs: int, chance: float) -> int:
    return math.ceil(NormalDist(pairs / 2, math.sqrt(pairs) / 2).inv_cdf(1 - chance))


def from_the_middle(pairs: int, chance: float) -> int:
    return enough(exactly, least=pairs // 2 + 1)(pairs, chance)


RIGHT: dict[str, list[Any]] = {
    "by-luck": [enough(), from_the_top, by_convolution, by_recursion, by_tensor, by_counting],
    "use-luck": [[40], torch.tensor(40)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("by-luck", from_the_middle, "exactly that many"),
    ("by-luck", enough(lambda k, n: luck(k + 1, n)), "how likely is *at least* that many?"),
    ("by-luck", lambda n, p: enough()(n, p) + 1, "a smaller number"),
    ("by-luck", enough(lambda k, n: 2 * luck(k, n)), "only one side"),
    ("by-luck", enough(reached=True), "the answer is pairs + 1"),
    ("by-luck", enough(none=0), "the answer is pairs + 1"),
    ("by-luck", enough(none=-1), "the answer is pairs + 1"),
    ("by-luck", lambda n, p: enough()(50, p), "need not be 50"),
    ("by-luck", lambda n, p: enough()(n, p) / n, "not a share of them"),
    ("by-luck", lambda n, p: luck(enough()(n, p), n), "how many pairs are that?"),
    ("by-luck", lambda n, p: n - enough()(n, p), "not at most"),
    ("by-luck", by_bell_curve, "how likely is *at least* that many?"),
    ("by-luck", lambda n, p: NormalDist(n / 2, math.sqrt(n) / 2).inv_cdf(1 - p), "in place of 50"),
    ("by-luck", enough(lambda k, n: luck(k, n) * 2**n), "is no number rare enough?"),
    ("by-luck", enough(lambda k, n: 0.5**k), "in place of 50"),
    ("by-luck", enough(lambda k, n: 100 * luck(k, n)), "in place of 50"),
    ("by-luck", lambda n, p: None, "return a float"),
    ("by-luck", lambda n, p: round(0.7 * n), "in place of 50"),
    ("use-luck", [35], "enough(pairs, 0.01)"),
]
