"""Checkers of the chapter "Positional encoding: where am I?"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "Positional encoding",
    Task(
        "Exercise 5.1",
        "predict-positions",
        "which clock is each part about, and how fast is it?",
        "formulas (5.2) and (5.3)",
    ),
    Task(
        "Exercise 5.2",
        "odd-width",
        "for d = 5, which clock has a column of its own, and what is the exponent of its ω?",
        'formula (5.2) in "A row of clocks"',
    ),
    Task(
        "Exercise 5.3",
        "step-matrix",
        "what does one step do to the sine and the cosine of one clock, and in which rows of p do the two stand here?",
        'formula (5.4) in "A step is a turn"',
    ),
    Task(
        "Exercise 5.4",
        "debug-decoding",
        "at which position does the newest token stand, and which vectors does it meet in the past?",
        '"A row of clocks": what is added to a token, and when',
    ),
    Task(
        "Exercise 5.5",
        "learnable-positions",
        "how can few learned numbers make many different rows, and at which position does X begin?",
        '"Learned positions"',
    ),
)
