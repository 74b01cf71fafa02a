"""What checkers measure with: numbers in a cache of any form, and gradients of any answer."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from d2lmini_exercises.encoder_decoder.caching import count_numbers
from d2lmini_exercises.engine import WrongAnswer
from d2lmini_exercises.engine.gradients import expect_gradients


@pytest.mark.parametrize(
    ("cache", "count"),
    [
        (None, 0),
        (torch.zeros(2, 3), 6),
        ((np.zeros(4), torch.zeros(2)), 6),
        (deque([torch.zeros(3), torch.zeros(5)]), 8),
        ({"keys": torch.zeros(2), "text": "abc"}, 5),
        (SimpleNamespace(keys=torch.zeros(7)), 7),
    ],
)
def test_numbers_are_counted_in_whatever_holds_them(cache: Any, count: int) -> None:
    assert count_numbers(cache) == count


def test_what_occurs_twice_counts_once() -> None:
    keys = torch.zeros(4)
    assert count_numbers([keys, keys]) == 4


def test_an_error_that_is_not_about_gradients_passes_through() -> None:
    def fails(X: Tensor) -> Tensor:
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        expect_gradients(fails, torch.sin, given="X = torch.ones(2)", X=torch.ones(2))
    with pytest.raises(WrongAnswer, match="it can be trained") as wrong:
        expect_gradients(lambda X: X.numpy(), torch.sin, given="X = torch.ones(2)", X=torch.ones(2))
    assert "NumPy knows no gradients" in wrong.value.hint
