"""Checkers of the chapter "Encoder and decoder"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "Encoder and decoder",
    Task(
        "Exercise 9.1",
        "predict-decoder",
        "who asks and who is asked in cross-attention, and of which tokens are keys and values kept?",
        '"Rows and columns" and "Decoding with a cache"',
    ),
    Task(
        "Exercise 9.2",
        "debug-decoder",
        "from where do the queries, the keys and the values of each attention come, and who may see whom?",
        '"Two stacks"; formula (6.3) for the order of norm and sum',
    ),
    Task(
        "Exercise 9.3",
        "shifted-targets",
        "for target 7, 8 of which both count: what does the decoder read at each place, and what should it say?",
        '"A sentence, backwards"',
    ),
    Task(
        "Exercise 9.4",
        "cached-attention",
        "after many more tokens than the window holds: which ones are kept, and where does the newest one stand?",
        '"Decoding with a cache"',
    ),
    Task(
        "Exercise 9.5",
        "check-draft",
        "what has the decoder read when it says what follows the second token of the draft?",
        '"Decoding with a cache": one step may take several tokens',
    ),
)
