"""Answers to the exercises: where a patch or a pixel stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


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


def half_of_the_gradient(by_row: Tensor, by_column: Tensor) -> Tensor:
    table = grid_with_loops(by_row, by_column)
    return table.where(torch.arange(len(table))[:, None] % 2 == 0, table.detach())


def scrambled_and_sorted(P: Tensor, order: Tensor) -> Tensor:
    found = P[order]
    order.copy_(order.sort().values)
    return found


def scrambled_in_place(P: Tensor, order: Tensor) -> Tensor:
    P.copy_(P[order])
    return P


RIGHT: dict[str, list[Any]] = {
    "grid-positions": [
        lambda rows, columns: (rows[:, None] + columns).flatten(0, 1),
        grid_with_loops,
        lambda rows, columns: rows.repeat_interleave(len(columns), 0) + columns.repeat(len(rows), 1),
        lambda rows, columns: torch.kron(rows, torch.ones(len(columns), 1)) + columns.tile(len(rows), 1),
        lambda rows, columns: (rows.unsqueeze(1) + columns.unsqueeze(0)).view(-1, rows.shape[1]),
        lambda rows, columns: torch.vmap(lambda row: row + columns)(rows).flatten(0, 1),
        lambda rows, columns: (rows[:, None] + columns).flatten(0, 1).double(),
    ],
    "scrambled-positions": [
        lambda P, order: P[order],
        lambda P, order: torch.stack([P[i] for i in order.tolist()]),
        lambda P, order: P.index_select(0, order),
        lambda P, order: F.one_hot(order).float() @ P,
        lambda P, order: torch.gather(P, 0, order[:, None].expand_as(P)),
        lambda P, order: P.numpy()[order.numpy()],
        lambda P, order: F.embedding(order, P),
    ],
    "use-grid": [[0.93], [0.91]],
    "use-scrambled": [(0.06, 0.969), torch.tensor([0.1, 0.965])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("scrambled-positions", scrambled_and_sorted, "works in place"),
    (
        "grid-positions",
        lambda rows, columns: (rows + columns[:, None]).flatten(0, 1),
        "the same row, the next column",
    ),
    ("grid-positions", lambda rows, columns: (rows[:, None] * columns).flatten(0, 1), "do not multiply"),
    ("grid-positions", lambda rows, columns: rows.repeat_interleave(len(columns), 0), "and the columns?"),
    ("grid-positions", lambda rows, columns: columns.repeat(len(rows), 1), "and the rows?"),
    ("grid-positions", lambda rows, columns: (rows + columns).repeat(len(columns), 1), "run it yourself"),
    ("grid-positions", lambda rows, columns: rows[:, None] + columns, "write the shape"),
    ("grid-positions", lambda rows, columns: 2 * grid_with_loops(rows, columns), "went into place 1"),
    (
        "grid-positions",
        lambda rows, columns: (columns[:, None] + rows).flatten(0, 1),
        "the same row, the next column",
    ),
    (
        "grid-positions",
        lambda rows, columns: rows.repeat(len(columns), 1) + columns.repeat(len(rows), 1),
        "only one number for both",
    ),
    (
        "grid-positions",
        lambda rows, columns: rows.repeat(len(columns), 1) + columns.repeat_interleave(len(rows), 0),
        "the same row, the next column",
    ),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows, columns) / 2, "not the mean"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows, -columns), "not the difference"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows, columns.flip(0)), "went into place 1"),
    ("grid-positions", lambda rows, columns: torch.cat([rows, columns]), "write the shape"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows, columns).detach(), "what cuts the result off?"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows, columns.detach()), "what cuts the result off?"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows.data, columns), "what cuts the result off?"),
    ("grid-positions", torch.no_grad()(grid_with_loops), "what cuts the result off?"),
    ("grid-positions", lambda rows, columns: torch.tensor(grid_with_loops(rows, columns).tolist()), "what cuts the"),
    ("grid-positions", lambda rows, columns: nn.Parameter(grid_with_loops(rows, columns)), "what cuts the result off?"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows.round(), columns), "is a part of the way cut off?"),
    ("grid-positions", half_of_the_gradient, "is a part of the way cut off?"),
    ("grid-positions", lambda rows, columns: [*grid_with_loops(rows, columns)], "return one tensor"),
    (
        "grid-positions",
        lambda rows, columns: np.add(rows.numpy()[:, None], columns.numpy()).reshape(-1, rows.shape[1]),
        "NumPy knows no gradients",
    ),
    ("use-scrambled", (0.3, 0.97), "without training them again"),
    ("use-scrambled", (0.06, 0.985), "tested on scrambled digits"),
    ("use-scrambled", 0.02, "the starter's form"),
    ("use-grid", [0.75], "replace the positions"),
    ("scrambled-positions", lambda P, order: P.clone().index_copy(0, order, P), "that undoes the order"),
    ("scrambled-positions", lambda P, order: P + order[:, None], "which rows of P to take"),
    ("scrambled-positions", lambda P, order: P[order.flip(0)], "which row of P was its own?"),
    ("grid-positions", grid_in_place, "works in place"),
    ("grid-positions", grid_changing_columns, "works in place"),
    ("scrambled-positions", lambda P, order: P[order.argsort()], "that undoes the order"),
    ("scrambled-positions", lambda P, order: P, "with the old table"),
    ("scrambled-positions", lambda P, order: P[:, order], "not which feature"),
    ("scrambled-positions", lambda P, order: P[order][order], "once is enough"),
    ("scrambled-positions", lambda P, order: P.sort(dim=0).values, "knows nothing of it"),
    ("scrambled-positions", lambda P, order: P[order].flip(1), "which row of P was its own?"),
    ("scrambled-positions", scrambled_in_place, "works in place"),
]
