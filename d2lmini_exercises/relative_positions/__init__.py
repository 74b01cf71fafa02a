"""Checkers of the chapter "How to tell a distance"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "How to tell a distance",
    Task(
        "Exercise 7.1",
        "predict-relative",
        "how many different offsets remain, which slope has the third head, and how fast is the slowest pair?",
        'formulas (7.2) and (7.4), and "Turn, do not add" for the speeds',
    ),
    Task(
        "Exercise 7.2",
        "debug-rotary",
        "when query and key stand side by side, by which angle do they differ?",
        'formula (7.1) in "Turn, do not add"',
    ),
    Task(
        "Exercise 7.3",
        "measure-window use-window",
        "what is the weight of the key next door, divided by that of the query's own place?",
        'formula (7.4) in "A penalty that grows: ALiBi"',
    ),
    Task(
        "Exercise 7.4",
        "rotary-picture",
        "which patches have the same row, and what do their first halves have in common?",
        '"Turn, do not add"; `d2l.apply_rotary` says which dimension is that of the positions',
    ),
)
