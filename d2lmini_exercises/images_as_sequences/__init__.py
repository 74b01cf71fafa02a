"""Checkers of the chapter "Images as sequences"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "Images as sequences",
    Task(
        "Exercise 12.1",
        "predict-patches",
        "how many patches lie along a side, and which costs count tokens and which ones pairs of tokens?",
        '"A picture, cut into tokens", and formula (12.1)',
    ),
    Task(
        "Exercise 12.2",
        "patchify",
        "in which order do rows of the grid, columns of the grid, rows, columns and channels follow in the result?",
        '"A picture, cut into tokens"',
    ),
    Task(
        "Exercise 12.3",
        "debug-patch-tokens",
        "which four pixels belong to token 1, and does a digit's token depend on the other digits?",
        '"A picture, cut into tokens"',
    ),
    Task(
        "Exercise 12.4",
        "measure-patch",
        "which pixels of picture i go, and against what are the answers compared, before and after?",
        '"What a smaller patch costs" has the numbering of patches in its pictures',
    ),
    Task(
        "Exercise 12.5",
        "scrambled-positions use-scrambled",
        "where in the old picture stood the pixel that token 0 holds now?",
        '"What positions are worth"',
    ),
)
