"""Checkers of the chapter "What heads learn, and which you would miss"."""

from d2lmini_exercises.engine import list_in_order

list_in_order("predict-staircase", "find-twins", "prune-carefully", "prefix-matching", "received-weight")
