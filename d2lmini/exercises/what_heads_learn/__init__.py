"""Checkers of the chapter "What heads learn, and which matter"."""

from d2lmini.exercises.what_heads_learn import heads, pruning

__all__ = ["heads", "pruning"]
