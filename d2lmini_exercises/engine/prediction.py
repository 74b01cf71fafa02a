"""Predictions as data: what was asked for, and what well-known mistakes give."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from d2lmini_exercises.engine.convert import read_numbers
from d2lmini_exercises.engine.core import find_hint, is_near, register
from d2lmini_exercises.engine.reports import WrongAnswer

# The hint for a well-known mistake, and the number or numbers that it gives.
Mistakes = Mapping[str, float | tuple[float, ...]]


@dataclass(frozen=True)
class Number:
    """One number of a prediction.

    Args:
        name: what a report calls it.
        right: the number itself, which a report never shows.
        hint: for a number that none of the mistakes gives.
        tolerance: how far from `right`, or from the number of a mistake, an answer may be.
    """

    name: str
    right: float
    hint: str
    tolerance: float = 0.01

    def expect(self, got: float, mistakes: Mistakes) -> None:
        """Check a predicted number without giving the right one away.

        Raises:
            WrongAnswer: if `got` is another number.
        """
        if not is_near(got, self.right, self.tolerance):
            hint = find_hint(got, mistakes, self.hint, self.tolerance)
            raise WrongAnswer(f"{self.name} is another number", hint, got=got)


@dataclass(frozen=True, eq=False)
class Prediction:
    """An exercise whose answer is some numbers, each with its mistakes; `verified` is the sentence for the right ones.

    Raises:
        ValueError: if two hints are for the same number, or a hint is for the right one.
    """

    numbers: Mapping[Number, Mistakes]
    verified: str

    def __post_init__(self) -> None:
        for number, mistakes in self.numbers.items():
            known = [("", number.right), *_list_single(mistakes)]
            for (one, a), (other, b) in itertools.combinations(known, 2):
                if one != other and is_near(a, b, number.tolerance):
                    several = f"{one!r} {a} and {other!r} {b}"
                    raise ValueError(f"mistakes of {number.name} must give different numbers: {several}")

    def __call__(self, answer: Any) -> str:
        """Judge an answer, number by number.

        Raises:
            WrongAnswer: for the first one that is not right.
        """
        found = read_numbers(answer, len(self.numbers))
        for (number, mistakes), got in zip(self.numbers.items(), found, strict=True):
            number.expect(got, mistakes)
        return self.verified

    def list_mistakes(self) -> list[tuple[str, Callable[[], str]]]:
        """The hint for each mistake, and what judges it."""
        right = tuple(number.right for number in self.numbers)
        return [
            (hint, partial(self, (*right[:place], float(wrong), *right[place + 1 :])))
            for place, mistakes in enumerate(self.numbers.values())
            for hint, wrong in _list_single(mistakes)
        ]


def _list_single(mistakes: Mistakes) -> Iterator[tuple[str, float]]:
    for hint, some in mistakes.items():
        yield from ((hint, wrong) for wrong in (some if isinstance(some, tuple) else (some,)))


def prediction(name: str, numbers: Mapping[Number, Mistakes], *, right: str) -> None:
    """Register the exercise `name`, whose answer is these numbers; `right` is the sentence for a right answer."""
    register(name, Prediction(numbers, right), untried=lambda: "how you found it")
