"""Checkers of the chapter "Attention pooling"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Attention pooling",
    {
        "predict-mixture": "Exercise 1.1",
        "masked-attention": "Exercise 1.2",
        "debug-masked-softmax": "Exercise 1.3",
        "measure-saturation": "Exercise 1.4",
        "use-saturation": "Exercise 1.4",
        "query-gradient": "Exercise 1.5",
    },
)
