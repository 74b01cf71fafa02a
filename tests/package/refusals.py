"""Tables of what is refused: a row a check, the argument that its ValueError must name, and wrong calls by the value
that it must name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

Row = tuple[Callable[..., Any], str, dict[str, tuple[Any, ...]]]


def assert_refused(row: Row) -> None:
    check, name, wrong = row
    for value, given in wrong.items():
        with pytest.raises(ValueError) as refused:
            check(*given)
        message = str(refused.value)
        assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) and value in message, f"{value}: {message}"
