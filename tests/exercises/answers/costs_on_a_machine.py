"""Answers to the exercise of the chapter "What a machine makes of it"."""

from typing import Any

RIGHT: dict[str, list[Any]] = {"predict-memory": [(11585, 4), (11590.0, 4.0)]}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-memory", (5000, 4), "one pair of tokens"),
    ("predict-memory", (11585, 5), "multiply them"),
]
