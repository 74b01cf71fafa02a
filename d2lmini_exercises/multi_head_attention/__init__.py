"""Checkers of the chapter "Multi-head attention"."""

from d2lmini_exercises.engine import list_in_order

list_in_order("predict-heads", "split-heads", "multi-head-attention", "debug-multi-head", "measure-heads", "use-heads")
