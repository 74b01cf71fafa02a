"""Checkers of the chapter "Relative positions, and longer than you trained"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Relative positions, and longer than you trained",
    {
        "predict-relative": "Exercise 7.1",
        "debug-rotary": "Exercise 7.2",
        "measure-window": "Exercise 7.3",
        "use-window": "Exercise 7.3",
        "debug-stretching": "Exercise 7.4",
        "rotary-picture": "Exercise 7.5",
    },
)
