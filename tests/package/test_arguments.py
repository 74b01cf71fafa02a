"""Plain arguments: what passes, and that what does not is named, with what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from d2lmini.arguments import (
    check_choice,
    check_flag,
    check_groups,
    check_heads,
    check_names,
    check_number,
    check_offset,
    check_size,
)

Check = Callable[[str, Any], None]
CHECKS: dict[str, tuple[Check, list[Any], list[Any], str]] = {
    "size": (
        check_size,
        [1, 10**9, np.int64(2)],
        [0, -1, 2.0, True, "3", None],
        "x must be an integer of at least 1",
    ),
    "flag": (check_flag, [True, False], [1, 0, "yes", None], "x must be True or False"),
    "number": (
        lambda name, given: check_number(name, given, 0, 1),
        [0, 1, 0.5],
        [-1e-9, 1.5, math.nan, True, "0", None],
        "x must be a number from 0 to 1",
    ),
    "choice": (
        lambda name, given: check_choice(name, given, ("a", "b")),
        ["a", "b"],
        ["c", "", None],
        "x must be one of 'a', 'b'",
    ),
    "offset": (
        lambda _, given: check_offset(given),
        [0, 1, 2**52],
        [-1, 2**52 + 1, True, 1.0, "0", None],
        "offset must be an integer of at least 0 (and at most 2**52)",
    ),
}


@pytest.mark.parametrize("name", list(CHECKS))
def test_what_does_not_fit_is_refused_by_name(name: str) -> None:
    check, right, wrong, message = CHECKS[name]
    for given in right:
        check("x", given)
    for given in wrong:
        with pytest.raises(ValueError) as refused:
            check("x", given)
        assert str(refused.value) == f"{message}, got {given!r}"


def test_there_is_one_name_for_each_or_none() -> None:
    for right in (["a", "b"], ("a", "b"), None):
        check_names("x", right, 2, "rows")
    for wrong, found in ((["a"], "1"), ([], "0"), ("ab", "'ab'")):
        with pytest.raises(ValueError) as refused:
            check_names("x", wrong, 2, "rows")
        assert str(refused.value) == f"x must have one entry for each of the 2 rows, got {found}"


def test_heads_share_the_width_evenly_and_groups_the_heads() -> None:
    for num_hiddens, num_heads in ((1, 1), (6, 3), (8, 8)):
        check_heads(num_hiddens, num_heads)
        check_groups(num_hiddens, num_heads)
    refusals: list[tuple[Callable[[], None], str]] = [
        (lambda: check_heads(6, 4), "num_hiddens must be divisible by num_heads, got num_hiddens=6 and num_heads=4"),
        (lambda: check_heads(0, 1), "num_hiddens must be an integer of at least 1, got 0"),
        (lambda: check_heads(6, 0), "num_heads must be an integer of at least 1, got 0"),
        (lambda: check_groups(6, 4), "num_heads must be divisible by num_kv_heads, got num_heads=6 and num_kv_heads=4"),
        (lambda: check_groups(6, 0), "num_kv_heads must be an integer of at least 1, got 0"),
    ]
    for call, message in refusals:
        with pytest.raises(ValueError) as refused:
            call()
        assert str(refused.value) == message
