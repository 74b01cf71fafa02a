"""Checkers of the chapter "Encoder and decoder"."""

from d2lmini_exercises.engine import list_in_order

list_in_order("predict-decoder", "debug-decoder", "shifted-targets", "cached-attention", "check-draft")
