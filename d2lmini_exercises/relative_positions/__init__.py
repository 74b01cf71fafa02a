"""Checkers of the chapter "Relative positions, and longer than you trained"."""

from d2lmini_exercises.engine import list_in_order

list_in_order("predict-relative", "debug-rotary", "measure-window", "use-window", "debug-stretching", "rotary-picture")
