"""Tables of what is refused: a row a check, the argument that its ValueError must name, and wrong calls by the value
that it must name."""

import re
from collections.abc import Callable
from typing import Any

import pytest

Row = tuple[Callable[..., Any], str, dict[str, tuple[Any, ...]]]


def refused(rows: list[Row]) -> Callable[..., None]:
    """A test of each row of a table."""

    def test(row: Row) -> None:
        check, name, wrong = row
        for value, given in wrong.items():
            with pytest.raises(ValueError) as refused:
                check(*given)
            message = str(refused.value)
            assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) and value in message, f"{value}: {message}"

    return pytest.mark.parametrize("row", rows)(test)


def rejected(*rows: Any, by: Callable[[Any], Any] = lambda call: call()) -> Callable[..., None]:
    """A test of each row: what is refused, and the message."""

    def test(given: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            by(given)

    return pytest.mark.parametrize(("given", "message"), rows)(test)
