"""Predictions as data: what was asked for, and what well-known mistakes give."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from d2lmini_exercises.engine.core import WrongAnswer, find_hint, is_near, read_numbers, register


@dataclass(frozen=True)
class Number:
    """One number of a prediction.

    Args:
        name: what a report calls it.
        right: the number itself, which a report never shows.
        hint: for a number that none of the mistakes gives.
        mistakes: the hint for a well-known mistake, and the number or numbers that the mistake gives.
        tolerance: how far from `right`, or from the number of a mistake, an answer may be.

    Raises:
        ValueError: if two hints are for the same number, or a hint is for the right one.
    """

    name: str
    right: float
    hint: str
    mistakes: Mapping[str, float | tuple[float, ...]]
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        known = [("", self.right)]
        for hint, wrong in self.mistakes.items():
            known += [(hint, number) for number in (wrong if isinstance(wrong, tuple) else (wrong,))]
        for (one, a), (other, b) in itertools.combinations(known, 2):
            if one != other and is_near(a, b, self.tolerance):
                raise ValueError(f"mistakes of {self.name} must give different numbers: {one!r} {a} and {other!r} {b}")

    def expect(self, got: float) -> None:
        """Check a predicted number without giving the right one away.

        Raises:
            WrongAnswer: if `got` is another number.
        """
        if not is_near(got, self.right, self.tolerance):
            raise WrongAnswer(
                f"{self.name} is another number", find_hint(got, self.mistakes, self.hint, self.tolerance), got=got
            )


@dataclass(frozen=True, eq=False)
class Prediction:
    """An exercise whose answer is some numbers; `verified` is the sentence for the right ones."""

    numbers: tuple[Number, ...]
    verified: str

    def __call__(self, answer: Any) -> str:
        """Judge an answer, number by number.

        Raises:
            WrongAnswer: for the first one that is not right.
        """
        for number, got in zip(self.numbers, read_numbers(answer, len(self.numbers)), strict=True):
            number.expect(got)
        return self.verified

    @property
    def right(self) -> tuple[float, ...]:
        """The numbers asked for."""
        return tuple(number.right for number in self.numbers)

    def list_mistakes(self) -> list[tuple[str, Callable[[], str]]]:
        """The hint for each mistake, and what judges it."""
        return [
            (hint, partial(self, (*self.right[:place], float(wrong), *self.right[place + 1 :])))
            for place, number in enumerate(self.numbers)
            for hint, some in number.mistakes.items()
            for wrong in (some if isinstance(some, tuple) else (some,))
        ]


def prediction(name: str, *numbers: Number, right: str) -> None:
    """Register the exercise `name`, whose answer is these numbers; `right` is the sentence for a right answer."""
    register(name, Prediction(numbers, right), untried=lambda: "how you found it")
