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


def half_of_the_gradient(by_row: Tensor, by_column: Tensor) -> Tensor:
    table = grid_with_loops(by_row, by_column)
    return table.where(torch.arange(len(table))[:, None] % 2 == 0, table.detach())


def scrambled_and_sorted(P: Tensor, order: Tensor) -> Tensor:
    found = P[order]
    order.copy_(order.sort().values)
    return found


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
    ("grid-positions", lambda rows, columns: (rows + columns).repeat(len(columns), 1), "run it yourself"),
    ("grid-positions", lambda rows, columns: rows[:, None] + columns, "write the shape"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows, columns.flip(0)), "went into place 1"),
    ("grid-positions", lambda rows, columns: grid_with_loops(rows, columns.detach()), "what cuts the result off?"),
    ("grid-positions", lambda rows, columns: nn.Parameter(grid_with_loops(rows, columns)), "what cuts the result off?"),
    ("grid-positions", half_of_the_gradient, "is a part of the way cut off?"),
    ("grid-positions", lambda rows, columns: [*grid_with_loops(rows, columns)], "return one tensor"),
    (
        "grid-positions",
        lambda rows, columns: np.add(rows.numpy()[:, None], columns.numpy()).reshape(-1, rows.shape[1]),
        "NumPy knows no gradients",
    ),
    ("grid-positions", grid_in_place, "works in place"),
    ("scrambled-positions", lambda P, order: P[order.flip(0)], "which row of P was its own?"),
    ("scrambled-positions", scrambled_and_sorted, "works in place"),
    ("use-grid", [0.75], "replace the positions"),
    ("use-scrambled", (0.3, 0.97), "without training them again"),
    ("use-scrambled", (0.06, 0.985), "tested on scrambled digits"),
    ("use-scrambled", 0.02, "the starter's form"),
]
