"""Checkers of the chapter "Self-attention"."""

from d2lmini_exercises.engine import list_in_order

list_in_order("predict-causal-row", "causal-self-attention", "debug-self-attention", "use-equivariance", "repair-keys")
