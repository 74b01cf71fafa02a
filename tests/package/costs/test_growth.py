"""Growth: exact for polynomials, and for layers whose costs are known."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import d2lmini as d2l
from tests.package.refusals import rejected


@given(a=st.integers(1, 50), b=st.integers(-20, 20), c=st.integers(-20, 20), n=st.integers(1, 40))
def test_differences_are_exact_for_polynomials(a: int, b: int, c: int, n: int) -> None:
    def measure(n: int) -> int:
        return a * n * n + b * n + c

    assert d2l.take_differences(measure, n, 2) == 2 * a and d2l.take_differences(measure, n, 3) == 0
    assert d2l.take_differences(measure, n, 1) == a * (2 * n + 1) + b


@pytest.mark.parametrize("kind", [int, float, np.int64, np.float32, np.array, torch.tensor])
def test_numbers_of_numpy_and_pytorch_are_numbers(kind: Callable[[int], Any]) -> None:
    assert d2l.take_differences(lambda n: kind(3 * n), 4, 1) == 3


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.take_differences(lambda n: n, 0, 1), "n must be an integer of at least 1, got 0"),
    (lambda: d2l.take_differences(lambda n: n, 1, 0), "order must be an integer of at least 1, got 0"),
    (lambda: d2l.take_differences(lambda n: n, 1, 1.5), "order must be .* got 1.5"),
    (lambda: d2l.take_differences(lambda n: None, 4, 1), "measure must return a finite number, got None at n = 4"),
    (lambda: d2l.take_differences(lambda n: math.inf, 4, 1), "measure must return a finite number, got inf at n = 4"),
    (lambda: d2l.take_differences(lambda n: torch.ones(2), 4, 1), "measure must return a finite number, got tensor"),
    (lambda: d2l.take_differences(lambda n: n > 2, 4, 1), "measure must return a finite number, got True at n = 4"),
    (lambda: d2l.take_differences(lambda n: math.nan, 4, 1), "measure must return a finite number, got nan at"),
)
