"""Checkers of the chapter "Right shapes, wrong answers"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "Right shapes, wrong answers",
    Task(
        "Exercise 16.1",
        "predict-kills",
        "which tests can see the change at all, and does the model still do each thing in the same way twice?",
        '"Ten bugs, ten tests, one loss": find the bug of the table that is the most like it',
    ),
    Task(
        "Exercise 16.2",
        "test-softmax",
        "what must hold for every softmax, and on which scores and masks would a plain one fail?",
        '"Bugs in the weights", and "A test can be blind" for sizes and numbers',
    ),
    Task(
        "Exercise 16.3",
        "test-heads",
        "which number goes where? Would your test notice if two heads were exchanged in both functions?",
        '"Bugs in the layout", and "A test can be blind"',
    ),
    Task(
        "Exercise 16.4",
        "test-decoder",
        "which two ways to the same logits can be compared, and what may a change of a later token not do?",
        '"Tests that need no answer" and "Bugs around the layer"',
    ),
    Task(
        "Exercise 16.5",
        "debug-reader",
        "which tokens are read by whom, and over how many of them is the mean taken?",
        '"Bugs in the weights" and "Bugs around the layer"',
    ),
)
