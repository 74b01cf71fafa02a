"""Verdicts that depend on chance or on an order are noticed, whichever seed a check begins with."""

import io
import random
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest
import torch

import d2lmini as d2l
from tests.exercises.answers import RIGHT


def run(name: str, answer: Any) -> str:
    """What a check prints."""
    with redirect_stdout(io.StringIO()) as out:
        d2l.check(name, answer)
    return out.getvalue()


@pytest.mark.parametrize("draw", [lambda: float(torch.rand(())), random.random, lambda: float(np.random.rand())])
def test_a_test_that_sometimes_refuses_what_is_right_is_refused(draw: Callable[[], float]) -> None:
    good: Any = RIGHT["test-softmax"][0]

    def moody(*given: Any) -> Any:
        found = good(*given)
        return draw() > 0.3 and found is not False

    assert not any(run("test-softmax", moody).startswith("✓") for _ in range(5))


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

    run("test-softmax", note)
    replay = iter(verdicts)

    def counting(softmax: Any) -> bool:
        softmax(torch.zeros(1, 1, 2), torch.ones(1, 1, 2, dtype=torch.bool))
        return next(replay)

    assert not run("test-softmax", counting).startswith("✓")
