"""Answers to the exercises of "TITLE"."""

from typing import Any

import torch

RIGHT: dict[str, list[Any]] = {
    "NAME-mean": [14, 14.0, (48 - 6) / 3],
    "NAME-weights": [
        lambda values, weights: (weights * values).sum() / weights.sum(),
        lambda values, weights: values @ (weights / weights.sum()),
    ],
}
WRONG: list[tuple[str, Any, str]] = [
    ("NAME-mean", 7, "what do the four values add up to"),
    ("NAME-weights", lambda values, weights: values @ torch.softmax(weights, 0), "multiply, add"),
    ("NAME-weights", 3.0, "pass the function itself"),
]
