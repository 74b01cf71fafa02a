"""Checkers of the chapter "Multi-head attention"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "Multi-head attention",
    Task(
        "Exercise 3.1",
        "predict-heads",
        "how wide is one head, and which parts of the layer depend on that?",
        '"Scale and cost"',
    ),
    Task(
        "Exercise 3.2",
        "split-heads",
        "which numbers lie side by side in the memory of X, and which ones must in the result?",
        '"From a loop to the batch"',
    ),
    Task(
        "Exercise 3.3",
        "multi-head-attention",
        "which rows of W_in make the queries of head 1?",
        'formulas (3.1) and (3.2) in "The model"; the task says how W_in is stored',
    ),
    Task(
        "Exercise 3.4",
        "debug-multi-head",
        "of which example and which head is row 1 of the reshaped queries?",
        '"From a loop to the batch", and the width in "Scale and cost"',
    ),
    Task(
        "Exercise 3.5",
        "measure-heads use-heads",
        "which numbers does the reader have, which ones does it guess, and how are the two correlated?",
        'formula (3.4), in the first fold of "One mixture cannot answer two questions"',
    ),
)
