"""Where a patch or a pixel stands."""

from __future__ import annotations

from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.prediction import Number, prediction

exercise(
    "grid-positions",
    lambda by_row, by_column: (by_row[:, None] + by_column).flatten(0, 1),
    tuple(
        Case(draw(seed, most=9, by_row=(rows, d), by_column=(columns, d)))
        for seed, rows, columns, d in ((1, 2, 3, 5), (2, 4, 3, 2), (3, 4, 4, 4), (4, 1, 6, 3))
    ),
    {
        "token 1 lies to the right of token 0: the same row, the next column": lambda r, c: (r + c[:, None]).flatten(
            0, 1
        ),
        "place (i, j) has row i and column j: yours has only one number for both": (
            lambda r, c: r.repeat(len(c), 1) + c.repeat(len(r), 1)
        ),
        "add them, do not multiply": lambda r, c: (r[:, None] * c).flatten(0, 1),
        "the sum, not the mean": lambda r, c: (r[:, None] + c).flatten(0, 1) / 2,
        "the sum, not the difference": lambda r, c: (r[:, None] - c).flatten(0, 1),
        "and the columns?": lambda r, c: r.repeat_interleave(len(c), 0),
        "and the rows?": lambda r, c: c.repeat(len(r), 1),
    },
    claim="place (i, j) has the sum of row vector i and column vector j",
    verified="a row vector and a column vector at each place, row by row, and both can learn",
    hint="print which row and which column went into place 1",
    trained=True,
)

# Mean accuracy of two encoders of the chapter with these positions.
prediction(
    "use-grid",
    Number(
        "the accuracy",
        0.92,
        hint="replace the positions of Encoder(positions=False) by a module that adds the table, and fit two seeds",
        mistakes={
            "without positions it is that much: does your model add the table?": (0.55, 0.6, 0.5),
            "a share is a number between 0 and 1": 93,
        },
        tolerance=0.04,
    ),
    right="about as good as a vector for each place, with half as many parameters for the positions",
)


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
