"""Checkers of the chapter "TITLE"."""

from __future__ import annotations

from d2lmini.exercises.prediction import Number, prediction

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
