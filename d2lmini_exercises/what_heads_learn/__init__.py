"""Checkers of the chapter "What heads learn, and which you would miss"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "What heads learn, and which you would miss",
    {
        "predict-staircase": "Exercise 9.1",
        "find-twins": "Exercise 9.2",
        "prune-carefully": "Exercise 9.3",
        "prefix-matching": "Exercise 9.4",
        "received-weight": "Exercise 9.5",
    },
)
