"""Answers to the exercises of "Right shapes"."""

from __future__ import annotations

from typing import Any

import torch

RIGHT: dict[str, list[Any]] = {
    "right-shapes-mean": [14, 14.0, (48 - 6) / 3],
    "right-shapes-weights": [
        lambda values, weights: (weights * values).sum() / weights.sum(),
        lambda values, weights: values @ (weights / weights.sum()),
    ],
}
WRONG: list[tuple[str, Any, str]] = [
    ("right-shapes-mean", 42, "that is the sum"),
    ("right-shapes-mean", 10.5, "three values are left"),
    ("right-shapes-mean", 12, "the mean changes"),
    ("right-shapes-mean", 7, "what do the four values add up to"),
    ("right-shapes-weights", lambda values, weights: weights @ values, "count together"),
    ("right-shapes-weights", lambda values, weights: (weights * values).mean(), "not by the number"),
    ("right-shapes-weights", lambda values, weights: values.mean(), "make no difference"),
    ("right-shapes-weights", lambda values, weights: values @ torch.softmax(weights, 0), "multiply, add"),
    ("right-shapes-weights", 3.0, "pass the function itself"),
]
