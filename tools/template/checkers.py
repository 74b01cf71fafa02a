"""Checkers of the chapter "TITLE"."""

from __future__ import annotations

from typing import Any

import torch

from d2lmini_exercises.core import checker, expect_close, expect_function
from d2lmini_exercises.prediction import Number, prediction

prediction(
    "NAME-mean",
    Number(
        "the mean",
        14.0,
        hint="what do the four values add up to?",
        mistakes={
            "that is the sum of the three: how many are they?": 42.0,
            "three values are left, not four": 10.5,
            "the mean changes if the value that goes differs from it": 12.0,
        },
    ),
    right="what is left adds up to 42",
)


@checker("NAME-weights")
def check_weights(answer: Any) -> str:
    """Weights that do not add up to 1, at two sizes, and one of them 0."""
    expect_function(answer)
    for values, weights in (([1.0, 4.0], [1.0, 2.0]), ([6.0, 3.0, 9.0], [3.0, 1.0, 0.0])):
        V, w = torch.tensor(values), torch.tensor(weights)  # (n,) each
        expect_close(
            answer(V, w),
            (w * V).sum() / w.sum(),
            claim="entry i counts weights[i] times",
            given=f"torch.tensor({values}), torch.tensor({weights})",
            hint="multiply, add, and divide: by what?",
            mistakes={
                "how often do the values count together? Divide by that": (w * V).sum(),
                "divide by the sum of the weights, not by the number of values": (w * V).mean(),
                "the weights make no difference to you": V.mean(),
            },
        )
    return "each value counts as often as its weight says"
