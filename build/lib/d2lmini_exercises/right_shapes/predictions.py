"""How many of the chapter's tests kill a new mutant."""

from __future__ import annotations

from d2lmini_exercises.prediction import Number, prediction

prediction(
    "predict-kills",
    Number(
        "(a)",
        1,
        hint="sharper weights are still weights: which property speaks of how sharp they are?",
        mistakes={
            "every row still adds up to 1, but some test knows the right numbers": 0,
            "the same in each order, batch and step: these relations say nothing about the scale": (2, 3, 4, 5),
        },
    ),
    Number(
        "(b)",
        4,
        hint="go through the table: which tests change a later letter, read step by step, or know the right numbers?",
        mistakes={
            "the next letter is the target: one test asks about that alone": 3,
            "one key more, and the rows still add up to 1": 5,
            "does it matter to a single step which later keys a query may see? There are none": (1, 2),
        },
    ),
    Number(
        "(c)",
        0,
        hint="what moves, if its target moves?",
        mistakes={
            "nobody sees his target: the letter after next is not read": 1,
            "attention and decoding are untouched": (2, 3, 4),
        },
    ),
    Number(
        "(d)",
        1,
        hint="which test uses what decoding keeps?",
        mistakes={
            "how many letters do the tests read? More than four": 0,
            "only one test decodes step by step": (2, 3),
        },
    ),
    right="1, 4, 0 and 1: and (c) survives all ten",
)
