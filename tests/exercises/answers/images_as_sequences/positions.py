"""Answers to the exercises: where a patch or a pixel stands."""

from __future__ import annotations

from typing import Any

import torch

RIGHT: dict[str, list[Any]] = {
    "scrambled-positions": [
        lambda P, order: P[order],
        lambda P, order: torch.stack([P[i] for i in order.tolist()]),
        lambda P, order: P.numpy()[order.numpy()],
    ],
    "use-scrambled": [(0.06, 0.969), torch.tensor([0.1, 0.965])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("scrambled-positions", lambda P, order: P[order.flip(0)], "which row of P was its own?"),
    ("use-scrambled", (0.3, 0.97), "without training them again"),
    ("use-scrambled", (0.06, 0.985), "tested on scrambled digits"),
]
