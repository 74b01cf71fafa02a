"""Answers to the exercises: where a patch or a pixel stands."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def grid_with_loops(by_row: Tensor, by_column: Tensor) -> Tensor:
    return torch.stack([row + column for row in by_row for column in by_column])


def grid_in_place(by_row: Tensor, by_column: Tensor) -> Tensor:
    table = grid_with_loops(by_row, by_column)
    by_row += 1
    return table


def grid_changing_columns(by_row: Tensor, by_column: Tensor) -> Tensor:
    table = grid_with_loops(by_row, by_column)
    by_column += 1
    return table


def scrambled_and_sorted(P: Tensor, order: Tensor) -> Tensor:
    found = P[order]
    order.copy_(order.sort().values)
    return found


def scrambled_in_place(P: Tensor, order: Tensor) -> Tensor:
    P.copy_(P[order])
    return P


RIGHT: dict[str, list[Any]] = {
    "grid-positions": [lambda rows, columns: (rows[:, None] + columns).flatten(0, 1), grid_with_loops],
    "scrambled-positions": [lambda P, order: P[order], lambda P, order: torch.stack([P[i] for i in order.tolist()])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("scrambled-positions", scrambled_and_sorted, "work on a new tensor"),
    (
        "grid-positions",
        lambda rows, columns: (rows + columns[:, None]).flatten(0, 1),
        "the same row, the next column",
    ),
    ("grid-positions", lambda rows, columns: (rows[:, None] * columns).flatten(0, 1), "do not multiply"),
    ("grid-positions", lambda rows, columns: rows.repeat_interleave(len(columns), 0), "and the columns?"),
    ("grid-positions", lambda rows, columns: columns.repeat(len(rows), 1), "and the rows?"),
    ("grid-positions", lambda rows, columns: (rows + columns).repeat(len(columns), 1), "only one number for both"),
    ("grid-positions", lambda rows, columns: rows[:, None] + columns, "write the shape"),
    ("grid-positions", lambda rows, columns: 2 * grid_with_loops(rows, columns), "went into place 1"),
    ("grid-positions", grid_in_place, "work on a new tensor"),
    ("grid-positions", grid_changing_columns, "work on a new tensor"),
    ("scrambled-positions", lambda P, order: P[order.argsort()], "that undoes the order"),
    ("scrambled-positions", lambda P, order: P, "with the old table"),
    ("scrambled-positions", lambda P, order: P[:, order], "not which feature"),
    ("scrambled-positions", lambda P, order: P[order][order], "once is enough"),
    ("scrambled-positions", lambda P, order: P.sort(dim=0).values, "knows nothing of it"),
    ("scrambled-positions", lambda P, order: P[order].flip(1), "which row of P was its own?"),
    ("scrambled-positions", scrambled_in_place, "work on a new tensor"),
]
