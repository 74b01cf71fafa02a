"""Checkers of the chapter "Positional encoding: where am I?"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Positional encoding",
    {
        "predict-positions": "Exercise 5.1",
        "odd-width": "Exercise 5.2",
        "step-matrix": "Exercise 5.3",
        "debug-decoding": "Exercise 5.4",
        "learnable-positions": "Exercise 5.5",
    },
)
