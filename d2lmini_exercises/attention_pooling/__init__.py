"""Checkers of the chapter "Attention pooling"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "predict-mixture",
    "masked-attention",
    "debug-masked-softmax",
    "measure-saturation",
    "use-saturation",
    "query-gradient",
)
