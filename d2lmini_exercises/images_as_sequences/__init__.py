"""Checkers of the chapter "Images as sequences"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "predict-patches", "patchify", "debug-patch-tokens", "measure-patch", "scrambled-positions", "use-scrambled"
)
