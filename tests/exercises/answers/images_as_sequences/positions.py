"""Answers to the exercises: where a patch or a pixel stands."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def scrambled_and_sorted(P: Tensor, order: Tensor) -> Tensor:
    found = P[order]
    order.copy_(order.sort().values)
    return found


RIGHT: dict[str, list[Any]] = {
    "scrambled-positions": [
        lambda P, order: P[order],
        lambda P, order: torch.stack([P[i] for i in order.tolist()]),
        lambda P, order: P.index_select(0, order),
        lambda P, order: F.one_hot(order).float() @ P,
        lambda P, order: torch.gather(P, 0, order[:, None].expand_as(P)),
        lambda P, order: P.numpy()[order.numpy()],
        lambda P, order: F.embedding(order, P),
    ],
    "use-scrambled": [(0.06, 0.969), torch.tensor([0.1, 0.965])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("scrambled-positions", lambda P, order: P[order.flip(0)], "which row of P was its own?"),
    ("scrambled-positions", scrambled_and_sorted, "works in place"),
    ("use-scrambled", (0.3, 0.97), "without training them again"),
    ("use-scrambled", (0.06, 0.985), "tested on scrambled digits"),
    ("use-scrambled", 0.02, "the starter's form"),
]
