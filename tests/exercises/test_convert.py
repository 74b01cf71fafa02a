"""Numbers are read from whatever holds them in order, and compared as closely as their dtype allows."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from d2lmini_exercises.engine import WrongAnswer, convert_tensor, is_near
from d2lmini_exercises.engine.core import expect_close


def count() -> Iterator[int]:
    yield from (1, 2, 3)


@pytest.mark.parametrize(
    "found",
    [
        [1, 2, 3],
        (1.0, torch.tensor(2.0), np.float32(3)),
        np.array([1, 2, 3], dtype=np.int8),
        count(),
        {"a": 1, "b": 2, "c": 3}.values(),
        [[1], [2], [3]],
        torch.tensor([[1, 2, 3]]),
        [Fraction(1), True + 1, 3],
        torch.tensor([1.0, 2, 3]).to_sparse(),
        torch.tensor([1 + 0j, 2, 3]),
    ],
    ids=lambda found: type(found).__name__,
)
def test_numbers_are_read_from_anything_with_an_order(found: Any) -> None:
    assert expect_close(found, torch.tensor([1.0, 2, 3]), claim="", given="", hint="").tolist() == [1, 2, 3]


@pytest.mark.parametrize("found", ["123", {1, 2, 3}, {1: 1, 2: 2, 3: 3}, [1, "2", 3], None, np.array(["1", "2", "3"])])
def test_what_has_no_order_or_no_numbers_is_refused(found: Any) -> None:
    assert convert_tensor(found, torch.zeros(3)) is None


def test_a_matrix_keeps_its_shape() -> None:
    found = convert_tensor(torch.zeros(3), torch.zeros(1, 3))
    assert found is not None and found.shape == (3,)


def test_tolerances_follow_the_dtype() -> None:
    one, ends = torch.ones(3, dtype=torch.float64), {torch.float16: (2e-3, 1e-2), torch.bfloat16: (2e-2, 8e-2)}
    for dtype, (near, far) in (ends | dict.fromkeys([torch.float32, torch.float64], (9e-5, 2e-4))).items():
        assert is_near((one + near).to(dtype), one, 1e-4), dtype
        assert not is_near((one + far).to(dtype), one, 1e-4), dtype


def test_an_imaginary_part_is_seen() -> None:
    with pytest.raises(WrongAnswer) as wrong:
        expect_close(torch.tensor([1 + 7j]), torch.tensor([1.0]), claim="", given="", hint="")
    assert "where does the imaginary part come from?" in wrong.value.hint
