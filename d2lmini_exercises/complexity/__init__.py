"""Checkers of the chapter "CNN, RNN, self-attention: work, waiting, path"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "CNN, RNN, self-attention",
    {
        "predict-stack": "Exercise 4.1",
        "design-dilations": "Exercise 4.2",
        "debug-counter": "Exercise 4.3",
        "measure-additive": "Exercise 4.4",
        "predict-depth": "Exercise 4.5",
    },
)
