"""What a coin could do."""

from __future__ import annotations

import math
from typing import Any

from d2lmini_exercises.core import checker, expect_function, expect_measured
from d2lmini_exercises.prediction import Number, prediction


@checker("by-luck")
def check_by_luck(enough: Any) -> str:
    """`enough(pairs, chance)`: the smallest number of right pairs that a coin reaches with less than `chance`."""
    expect_function(enough)
    for pairs, chance in ((60, 0.05), (41, 0.01), (12, 0.01), (3, 0.125), (3, 0.2), (1, 0.1), (6, 0.9)):
        expect_measured(
            enough(pairs, chance),
            _count(pairs, chance),
            claim="with one pair less right, a coin would do as well too often",
            given=f"pairs = {pairs}; chance = {chance}",
            hint="from which k on is the sum in (11.2), with `pairs` in place of 50, smaller than `chance`?",
            mistakes=_list_wrong_counts(pairs, chance),
        )
    return "the smallest number that is rare enough: at least that many, one side, exact"


def _count(pairs: int, chance: float) -> int:
    """The smallest k with P(at least k) < chance; pairs + 1 if there is none."""
    return next(k for k in range(pairs + 2) if _reach(k, pairs) < chance)


def _reach(k: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(k, pairs + 1)) / 2**pairs


def _list_wrong_counts(pairs: int, chance: float) -> dict[str, float | tuple[float, ...]]:
    right = _count(pairs, chance)
    if right > pairs:
        hint = "rarer than `chance`, not as rare: if no number is, the answer is pairs + 1"
        return {hint: tuple(float(k) for k in range(-1, pairs + 1))}
    exactly = (k for k in range(pairs // 2 + 1, pairs + 2) if _reach(k, pairs) - _reach(k + 1, pairs) < chance)
    return {
        "a coin reaches this number too often: how likely is *at least* that many?": right - 1.0,
        "is there a smaller number that is rare enough?": right + 1.0,
        "the chance of exactly that many is smaller: what about more?": float(next(exactly)),
        "only one side: a model that is always wrong is no good model": float(_count(pairs, chance / 2)),
        "a number of pairs, not a share of them": right / pairs,
        "that is the coin's chance: how many pairs are that?": _reach(right, pairs),
        "at least that many, not at most": (float(pairs - right), float(pairs - right + 1)),
        "the number of pairs need not be 50": float(_count(50, chance)),
        "is no number rare enough? A chance is between 0 and 1": (pairs + 1.0, 0.0),
    }


# Of 10, 20, 30, 40, 50 pairs, the first for which 70 % right are rarer than one in a hundred.
prediction(
    "use-luck",
    Number(
        "the number of pairs",
        40,
        hint="70 % of the pairs must be at least enough(pairs, 0.01)",
        mistakes={
            "21 of 30 are reached by luck twice in a hundred": 30,
            "14 of 20 are reached by luck once in 17": 20,
            "7 of 10 are reached by luck once in six": 10,
            "is a smaller number of pairs enough?": 50,
            "that is how many are right: of how many pairs?": 28,
        },
    ),
    right="28 of 40 by luck: fewer than one in a hundred; 21 of 30 are still twice as likely",
)
