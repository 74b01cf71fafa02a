"""Checkers of the chapter "Self-attention"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Self-attention",
    {
        "predict-causal-row": "Exercise 2.1",
        "causal-self-attention": "Exercise 2.2",
        "debug-self-attention": "Exercise 2.3",
        "use-equivariance": "Exercise 2.4",
        "repair-keys": "Exercise 2.5",
    },
)
