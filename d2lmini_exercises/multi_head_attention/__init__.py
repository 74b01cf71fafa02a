"""Checkers of the chapter "Multi-head attention"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Multi-head attention",
    {
        "predict-heads": "Exercise 3.1",
        "split-heads": "Exercise 3.2",
        "multi-head-attention": "Exercise 3.3",
        "debug-multi-head": "Exercise 3.4",
        "measure-heads": "Exercise 3.5",
        "use-heads": "Exercise 3.5",
    },
)
