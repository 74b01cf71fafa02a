"""Checkers of the chapter "CNN, RNN, self-attention: work, waiting, path"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "CNN, RNN, self-attention",
    Task(
        "Exercise 4.1",
        "predict-stack",
        "how many matrix products does each layer make, of which sizes, and how many FLOPs is a multiply-add?",
        '"Work", and formula (4.1) for attention',
    ),
    Task(
        "Exercise 4.2",
        "design-dilations",
        "how many tokens does one layer add to what is seen, and from where must it take them to leave no gap?",
        '"How far is it from the first word to the last?", the dilated stack',
    ),
    Task(
        "Exercise 4.3",
        "debug-counter",
        "which of n, m and the width of a head does each product contain?",
        '"Work", and formula (4.1) for the case n = m',
    ),
    Task(
        "Exercise 4.4",
        "measure-additive",
        "which parts grow with n, which with n², and how do you measure one without the other?",
        'formula (1.4), in the fold of "Scaled dot-product attention" of chapter 1; "Work" for the counting',
    ),
    Task(
        "Exercise 4.5",
        "predict-depth",
        "how many layers does the stack need, and what does one of them cost?",
        '"Work" and "How far is it from the first word to the last?": both counts are there',
    ),
)
