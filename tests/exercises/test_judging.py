"""Verdicts that depend on chance or on an order are noticed, whichever seed a check begins with."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from d2lmini_exercises.engine.core import judge
from tests.exercises.answers import RIGHT


@pytest.mark.parametrize("draw", [lambda: float(torch.rand(())), random.random, lambda: float(np.random.rand())])
def test_a_test_that_sometimes_refuses_what_is_right_is_refused(draw: Callable[[], float]) -> None:
    good: Any = RIGHT["test-softmax"][0]

    def moody(*given: Any) -> Any:
        found = good(*given)
        return draw() > 0.3 and found is not False

    assert not any(judge("test-softmax", moody).result == "right" for _ in range(5))


def test_counting_the_calls_is_refused() -> None:
    """Which ones are right was found out with a right test; a second order gives it away."""
    good: Any = RIGHT["test-softmax"][0]
    verdicts: list[bool] = []

    def note(*given: Any) -> bool:
        try:
            found = good(*given) is not False
        except AssertionError:
            found = False
        verdicts.append(found)
        return found

    judge("test-softmax", note)
    replay = iter(verdicts)

    def counting(softmax: Any) -> bool:
        softmax(torch.zeros(1, 1, 2), torch.ones(1, 1, 2, dtype=torch.bool))
        return next(replay)

    assert judge("test-softmax", counting).result == "wrong"
