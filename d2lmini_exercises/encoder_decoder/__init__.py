"""Checkers of the chapter "Encoder and decoder"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Encoder and decoder",
    {
        "predict-decoder": "Exercise 8.1",
        "debug-decoder": "Exercise 8.2",
        "shifted-targets": "Exercise 8.3",
        "cached-attention": "Exercise 8.4",
        "check-draft": "Exercise 8.5",
    },
)
