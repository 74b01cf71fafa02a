"""Checkers of the chapter "Right shapes, wrong answers"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Right shapes, wrong answers",
    {
        "predict-kills": "Exercise 15.1",
        "test-softmax": "Exercise 15.2",
        "test-heads": "Exercise 15.3",
        "test-decoder": "Exercise 15.4",
        "debug-reader": "Exercise 15.5",
    },
)
