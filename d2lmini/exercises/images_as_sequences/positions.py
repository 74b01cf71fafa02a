"""Where a patch or a pixel stands."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.core import checker, expect_close, expect_function
from d2lmini.exercises.gradients import expect_gradients
from d2lmini.exercises.inputs import draw_inputs
from d2lmini.exercises.prediction import Number, prediction


@checker("grid-positions", trained=True)
def check_grid_positions(grid_positions: Any) -> str:
    """`grid_positions(by_row, by_column)`: a table of positions from a vector a row and a vector a column."""
    expect_function(grid_positions)
    for seed, rows, columns, d in ((1, 2, 3, 5), (2, 4, 3, 2), (3, 4, 4, 4), (4, 1, 6, 3)):
        (by_row, by_column), draw = draw_inputs(seed, most=9, by_row=(rows, d), by_column=(columns, d))
        expect_close(
            grid_positions(by_row, by_column),
            _make_grid(by_row, by_column),
            claim="place (i, j) has the sum of row vector i and column vector j",
            given=draw,
            hint="print which row and which column went into place 1",
            mistakes=_list_wrong_tables(by_row, by_column),
        )
        expect_gradients(grid_positions, _make_grid, given=draw, by_row=by_row, by_column=by_column)
    return "a row vector and a column vector at each place, row by row, and both can learn"


def _make_grid(by_row: Tensor, by_column: Tensor) -> Tensor:
    return (by_row[:, None] + by_column).flatten(0, 1)


def _list_wrong_tables(by_row: Tensor, by_column: Tensor) -> dict[str, Tensor]:
    rows, columns = len(by_row), len(by_column)
    wrong = {
        "token 1 lies to the right of token 0: the same row, the next column": (
            (by_row + by_column[:, None]).flatten(0, 1)
        ),
        "the grid has as many rows as by_row: a row vector belongs to all columns of its row": (
            by_row.repeat(columns, 1) + by_column.repeat_interleave(rows, 0)
        ),
        "place (i, j) has row i and column j: yours has only one number for both": (
            by_row.repeat(columns, 1) + by_column.repeat(rows, 1)
        ),
        "add them, do not multiply": (by_row[:, None] * by_column).flatten(0, 1),
        "the sum, not the mean": (by_row[:, None] + by_column).flatten(0, 1) / 2,
        "the sum, not the difference": (by_row[:, None] - by_column).flatten(0, 1),
        "and the columns?": by_row.repeat_interleave(columns, 0),
        "and the rows?": by_column.repeat(rows, 1),
    }
    return wrong


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


@checker("scrambled-positions")
def check_scrambled_positions(scrambled_positions: Any) -> str:
    """`scrambled_positions(P, order)`: the table for pictures whose pixel `i` is pixel `order[i]`."""
    expect_function(scrambled_positions)
    for seed, numbers, d in ((1, [3, 0, 4, 1, 2], 5), (2, [1, 2, 0, 5, 6, 4, 3], 3), (3, [2, 0, 1], 4)):
        (P,), draw = draw_inputs(seed, most=9, P=(len(numbers), d))
        order = torch.tensor(numbers)
        expect_close(
            scrambled_positions(P, order),
            P[order],
            claim="each pixel has the position that it had before",
            given=f"{draw}; order = torch.tensor({numbers})",
            hint="pixel order[0] of the picture is now token 0: which row of P was its own?",
            mistakes=_list_wrong_orders(P, order),
        )
    return "each token has the position of the pixel that it holds, in three orders"


def _list_wrong_orders(P: Tensor, order: Tensor) -> dict[str, Tensor]:
    wrong = {
        "that undoes the order: follow one pixel. Token 0 holds pixel order[0]": P[order.argsort()],
        "with the old table, pixel order[0] would get the position of pixel 0": P,
        "once is enough": P[order][order],
        "the order is given; sorting the table knows nothing of it": P.sort(dim=0).values,
        "the order is no table of positions: it says which rows of P to take": P + order[:, None],
    }
    if P.shape[0] == P.shape[1]:
        wrong["order says which row, not which feature"] = P[:, order]
    return wrong


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
