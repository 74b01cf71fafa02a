"""Checkers of the chapter "Images as sequences"."""

from d2lmini_exercises.engine import list_in_order

list_in_order(
    "Images as sequences",
    {
        "predict-patches": "Exercise 11.1",
        "patchify": "Exercise 11.2",
        "debug-patch-tokens": "Exercise 11.3",
        "measure-patch": "Exercise 11.4",
        "scrambled-positions": "Exercise 11.5",
        "use-scrambled": "Exercise 11.5",
    },
)
