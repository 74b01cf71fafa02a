"""Checkers of the chapter "Attention pooling"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "Attention pooling",
    Task(
        "Exercise 1.1",
        "predict-mixture",
        "what is e to the power of ln 2, and what are three weights that stand in this ratio?",
        'formula (1.1) in "A dictionary that returns mixtures": β stands before each score',
    ),
    Task(
        "Exercise 1.2",
        "masked-attention",
        "along which dimension do the weights of one query add up to 1, and what has no weight at all?",
        'formula (1.2), and "Masks: who may attend to what" for what comes first, mask or softmax',
    ),
    Task(
        "Exercise 1.3",
        "debug-masked-softmax",
        "what does each row add up to, also one without a key, and is X afterwards what it was before?",
        '"Masks: who may attend to what", and the fold "Does this hold?" below it',
    ),
    Task(
        "Exercise 1.4",
        "measure-saturation use-saturation",
        "how many numbers is the median taken of, and which one does each query give?",
        '"Scaled dot-product attention", where queries and keys are drawn for several widths',
    ),
    Task(
        "Exercise 1.5",
        "query-gradient",
        "when the query moves, which keys gain weight, and which ones pay for it?",
        'formula (1.3), in the fold of "Scaled dot-product attention": the rest is the chain rule',
    ),
)
