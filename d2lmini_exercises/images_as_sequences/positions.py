"""Where a patch or a pixel stands."""

from __future__ import annotations

from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.prediction import Number, prediction

exercise(
    "scrambled-positions",
    lambda P, order: P[order],
    tuple(
        Case(f"{draw(seed, most=9, P=(len(order), d))}; order = torch.tensor({order})")
        for seed, order, d in ((1, [3, 0, 4, 1, 2], 5), (2, [1, 2, 0, 5, 6, 4, 3], 3), (3, [2, 0, 1], 4))
    ),
    {
        "that undoes the order: follow one pixel. Token 0 holds pixel order[0]": lambda P, order: P[order.argsort()],
        "with the old table, pixel order[0] would get the position of pixel 0": lambda P, order: P,
        "once is enough": lambda P, order: P[order][order],
        "the order is given; sorting the table knows nothing of it": lambda P, order: P.sort(dim=0).values,
        "the order is no table of positions: it says which rows of P to take": lambda P, order: P + order[:, None],
        "order says which row, not which feature": lambda P, order: P[:, order],
    },
    claim="each pixel has the position that it had before",
    verified="each token has the position of the pixel that it holds, in three orders",
    hint="pixel order[0] of the picture is now token 0: which row of P was its own?",
)

# Accuracy on scrambled digits of the chapter's CNNs: trained on digits, and trained on scrambled digits.
prediction(
    "use-scrambled",
    Number(
        "the first accuracy",
        0.07,
        hint="the three models of models['CNN'] on scrambled test digits, without training them again",
        mistakes={
            "that is the accuracy on digits that are not scrambled": 0.98,
            "a share is a number between 0 and 1": (5, 6, 7, 8),
        },
        tolerance=0.06,
    ),
    Number(
        "the second accuracy",
        0.97,
        hint="fit(CNN, seed, X=scrambled training digits), tested on scrambled digits, in the mean of two seeds",
        mistakes={
            "scramble the digits that it is trained on, too": (0.05, 0.08),
            "scramble the test digits in the same way as those of the training": (0.11, 0.14),
            "a share is a number between 0 and 1": 97,
        },
        tolerance=0.014,
    ),
    right="no better than guessing, until it is trained on scrambled digits; then it loses a hundredth or two",
)
