"""Plain arguments: what passes, and that what does not is named, with what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from d2lmini.arguments import check_choice, check_flag, check_names, check_number, check_size


@pytest.mark.parametrize(
    ("check", "right", "wrong", "message"),
    [
        (
            check_size,
            [1, 10**9, np.int64(2)],
            [0, -1, 2.0, True, "3", None],
            "x must be an integer of at least 1, got ",
        ),
        (check_flag, [True, False], [1, 0, "yes", None], "x must be True or False, got "),
        (
            lambda name, given: check_number(name, given, 0, 1),
            [0, 1, 0.5],
            [-1e-9, 1.5, math.nan, True, "0", None],
            "x must be a number from 0 to 1, got ",
        ),
        (
            lambda name, given: check_choice(name, given, ("a", "b")),
            ["a"],
            ["c", "", None],
            "x must be one of 'a', 'b', got ",
        ),
        (
            lambda name, given: check_names(name, given, 2, "rows"),
            [["a", "b"], ("a", "b"), None],
            [["a"], [], "ab"],
            "x must have one entry for each of the 2 rows, got ",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    check: Callable[[str, Any], None], right: list[Any], wrong: list[Any], message: str
) -> None:
    for given in right:
        check("x", given)
    for given in wrong:
        with pytest.raises(ValueError, match=message):
            check("x", given)
