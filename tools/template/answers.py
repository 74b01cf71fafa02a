"""Answers to the exercises of "TITLE"."""

from __future__ import annotations

from typing import Any

RIGHT: dict[str, list[Any]] = {"NAME-mean": [14, 14.0, (48 - 6) / 3]}
WRONG: list[tuple[str, Any, str]] = [
    ("NAME-mean", 42, "that is the sum"),
    ("NAME-mean", 10.5, "three values are left"),
    ("NAME-mean", 12, "the mean changes"),
    ("NAME-mean", 7, "what do the four values add up to"),
]
