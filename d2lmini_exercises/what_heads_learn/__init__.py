"""Checkers of the chapter "What heads learn, and which matter"."""

from d2lmini_exercises.core import list_in_order

list_in_order("predict-staircase", "gate-importance", "find-twins", "use-twins", "prune-carefully", "prefix-matching")
