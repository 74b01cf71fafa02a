"""Answers to the exercises of "Elsewhere"."""

from __future__ import annotations

from typing import Any

import torch

RIGHT: dict[str, list[Any]] = {
    "elsewhere-mean": [14, 14.0, (48 - 6) / 3],
    "elsewhere-weights": [
        lambda values, weights: (weights * values).sum() / weights.sum(),
        lambda values, weights: values @ (weights / weights.sum()),
    ],
}
WRONG: list[tuple[str, Any, str]] = [
    ("elsewhere-mean", 42, "that is the sum"),
    ("elsewhere-mean", 10.5, "three values are left"),
    ("elsewhere-mean", 12, "the mean changes"),
    ("elsewhere-mean", 7, "what do the four values add up to"),
    ("elsewhere-weights", lambda values, weights: weights @ values, "count together"),
    ("elsewhere-weights", lambda values, weights: (weights * values).mean(), "not by the number"),
    ("elsewhere-weights", lambda values, weights: values.mean(), "make no difference"),
    ("elsewhere-weights", lambda values, weights: values @ torch.softmax(weights, 0), "multiply, add"),
    ("elsewhere-weights", 3.0, "pass the function itself"),
]
