"""Answers to the exercise of "The table"."""

from typing import Any

RIGHT: dict[str, list[Any]] = {"other-lengths": [(65, 17, 69), [65.0, 17.0, 69.0]]}
WRONG: list[tuple[str, Any, str]] = [
    ("other-lengths", (100, 17, 69), "two formulas"),
    ("other-lengths", (65, 17, 100), "how many tokens back"),
]
