"""Answers to the exercise of "The table"."""

from __future__ import annotations

from typing import Any

RIGHT: dict[str, list[Any]] = {"other-lengths": [(65, 17, 69), [65.0, 17.0, 69.0]]}
WRONG: list[tuple[str, Any, str]] = [
    ("other-lengths", (64, 17, 69), "from where on"),
    ("other-lengths", (128, 17, 69), "grows like n as well"),
    ("other-lengths", (100, 17, 69), "two formulas"),
    ("other-lengths", (65, 16, 69), "from where on"),
    ("other-lengths", (65, 5, 69), "share one key"),
    ("other-lengths", (65, 33, 69), "a key and a value"),
    ("other-lengths", (65, 17, 64), "reaches 15 back"),
    ("other-lengths", (65, 17, 68.2), "layers are whole"),
    ("other-lengths", (65, 17, 100), "how many tokens back"),
]
