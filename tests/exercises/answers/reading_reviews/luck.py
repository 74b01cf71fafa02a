"""Answers to the exercises: what a coin could do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch


def luck(right: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(right, pairs + 1)) / 2**pairs


def enough(
    tail: Callable[[int, int], float] = luck, *, least: int = 0, reached: bool = False
) -> Callable[[int, float], int]:
    """The smallest number that is rare enough, right unless told otherwise."""

    def answer(pairs: int, chance: float) -> int:
        for k in range(least, pairs + 1):
            if tail(k, pairs) <= chance if reached else tail(k, pairs) < chance:
                return k
        return pairs + 1

    return answer


def by_tensor(pairs: int, chance: float) -> torch.Tensor:
    ways = torch.tensor([math.comb(pairs, i) for i in range(pairs + 1)], dtype=torch.float64) / 2**pairs
    tails = ways.flip(0).cumsum(0).flip(0)
    return torch.cat([tails, torch.zeros(1)]).lt(chance).long().argmax()


def exactly(k: int, pairs: int) -> float:
    return math.comb(pairs, k) / 2**pairs


def from_the_middle(pairs: int, chance: float) -> int:
    return enough(exactly, least=pairs // 2 + 1)(pairs, chance)


RIGHT: dict[str, list[Any]] = {
    "by-luck": [enough(), by_tensor],
    "use-luck": [[40], torch.tensor(40)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("by-luck", from_the_middle, "exactly that many"),
    ("by-luck", enough(lambda k, n: luck(k + 1, n)), "how likely is *at least* that many?"),
    ("by-luck", lambda n, p: enough()(n, p) + 1, "a smaller number"),
    ("by-luck", enough(lambda k, n: 2 * luck(k, n)), "only one side"),
    ("by-luck", enough(reached=True), "the answer is pairs + 1"),
    ("by-luck", lambda n, p: enough()(50, p), "need not be 50"),
    ("by-luck", lambda n, p: luck(enough()(n, p), n), "how many pairs are that?"),
    ("by-luck", lambda n, p: n - enough()(n, p), "not at most"),
    ("by-luck", enough(lambda k, n: luck(k, n) * 2**n), "is no number rare enough?"),
    ("by-luck", lambda n, p: round(0.7 * n), "in place of 50"),
    ("use-luck", [35], "enough(pairs, 0.01)"),
]
