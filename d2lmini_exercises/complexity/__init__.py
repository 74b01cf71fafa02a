"""Checkers of the chapter "CNN, RNN, self-attention: work, waiting, path"."""

from d2lmini_exercises.engine import list_in_order

list_in_order("predict-stack", "design-dilations", "debug-counter", "measure-additive", "predict-depth")
