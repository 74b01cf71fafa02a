"""Where a patch or a pixel stands."""

from __future__ import annotations

from typing import Any

import torch

from d2lmini.exercises.core import checker, expect_close, expect_function, expect_unchanged


@checker("grid-positions")
def check_grid_positions(grid_positions: Any) -> str:
    """`grid_positions(by_row, by_column)`: a table of positions from a vector a row and a vector a column."""
    expect_function(grid_positions)
    for rows, columns in ((4, 4), (2, 3)):
        by_row, by_column = torch.randn(rows, 5), torch.randn(columns, 5)
        given = by_row.clone(), by_column.clone()
        got = grid_positions(*given)
        expect_unchanged("by_row", given[0], by_row)
        expect_unchanged("by_column", given[1], by_column)
        mistakes = {
            "token 1 lies to the right of token 0: the same row, the next column": (
                by_row + by_column[:, None]
            ).flatten(0, 1),
            "add them, do not multiply": (by_row[:, None] * by_column).flatten(0, 1),
            "and the columns?": by_row.repeat_interleave(columns, 0),
            "and the rows?": by_column.repeat(rows, 1),
        }
        if rows == columns:
            mistakes["place (i, j) has row i and column j: yours has only one number for both"] = (
                by_row + by_column
            ).repeat(columns, 1)
        expect_close(
            got,
            (by_row[:, None] + by_column).flatten(0, 1),
            claim="place (i, j) has the sum of row vector i and column vector j",
            given=f"{rows} rows, {columns} columns, d = 5",
            hint="print which row and which column went into place 1",
            mistakes=mistakes,
        )
    return "a row vector and a column vector at each place, row by row"


@checker("scrambled-positions")
def check_scrambled_positions(scrambled_positions: Any) -> str:
    """`scrambled_positions(P, order)`: the table for pictures whose pixel `i` is pixel `order[i]`."""
    expect_function(scrambled_positions)
    P, order = torch.randn(64, 64), torch.randperm(64)
    before = P.clone()
    given_order = order.clone()
    got = scrambled_positions(P, given_order)
    expect_unchanged("P", P, before)
    expect_unchanged("order", given_order, order)
    expect_close(
        got,
        before[order],
        claim="each pixel has the position that it had before",
        given="a random order of 64 pixels",
        hint="pixel order[0] of the picture is now token 0: which row of P was its own?",
        mistakes={
            "that undoes the order: follow one pixel. Token 0 holds pixel order[0]": before[order.argsort()],
            "with the old table, pixel order[0] would get the position of pixel 0": before,
            "order says which row, not which feature": before[:, order],
            "once is enough": before[order][order],
            "the order is given; sorting the table knows nothing of it": before.sort(dim=0).values,
        },
    )
    return "token and position go together, so the logits are the same"
