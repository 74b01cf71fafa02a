"""Checkers of the chapter "Positional encoding: where am I?"."""

from d2lmini_exercises.engine import list_in_order

list_in_order("predict-positions", "odd-width", "step-matrix", "debug-decoding", "learnable-positions")
