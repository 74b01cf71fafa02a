"""Growth: exact for polynomials, and for layers whose costs are known."""

import math
from collections.abc import Callable

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


@pytest.mark.parametrize(
    ("measure", "growth"),
    [
        (lambda n: 7, "same"),
        (lambda n: 3 * n, "x2"),
        (lambda n: n.bit_length(), "+1"),
        (lambda n: 4 - n.bit_length(), "-1"),
        (lambda n: n**5, "x32"),
        (lambda n: 0.1 * n, "x2"),
        (lambda n: 0.1 * n**3, "x8"),
        (lambda n: math.log2(n) / 10, "+0.1"),
        (np.int64, "x2"),
        (np.float32, "x2"),
        (lambda n: np.array(n * n), "x4"),
        (lambda n: torch.tensor(n * n), "x4"),
        (lambda n: 0, "same"),
    ],
)
def test_growth_under_doubling(measure: Callable[[int], float], growth: str) -> None:
    assert d2l.describe_growth(measure, 8) == growth


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.describe_growth(lambda n: n, 0), "n must be an integer of at least 1, got 0"),
    (lambda: d2l.take_differences(lambda n: n, 1, 0), "order must be an integer of at least 1, got 0"),
    (lambda: d2l.take_differences(lambda n: n, 1, 1.5), "order must be .* got 1.5"),
    (lambda: d2l.describe_growth(lambda n: None, 4), "measure must return a finite number, got None at n = 4"),
    (lambda: d2l.describe_growth(lambda n: math.inf, 4), "measure must return a finite number, got inf at n = 4"),
    (lambda: d2l.describe_growth(lambda n: torch.ones(2), 4), "measure must return a finite number, got tensor"),
    (lambda: d2l.describe_growth(lambda n: n > 2, 4), "measure must return a finite number, got True at n = 4"),
    (lambda: d2l.take_differences(lambda n: math.nan, 4, 1), "measure must return a finite number, got nan at"),
    (lambda: d2l.describe_growth(lambda n: 3 ** n.bit_length(), 4), "4, 8, 16 it is 27, 81, 243: no simple growth"),
    (lambda: d2l.describe_growth(lambda n: n * n + 1, 10**7), "no simple growth"),
    (lambda: d2l.describe_growth(lambda n: 1 / n, 4), "no simple growth"),
    (lambda: d2l.describe_growth(lambda n: n - 4, 4), "no simple growth"),
    (lambda: d2l.describe_growth(lambda n: 8 * n * 64 + 32 * n * n, 1000), "no simple growth"),
)
