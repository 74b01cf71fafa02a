"""Answers to the exercises: what a decoder is trained on: inputs and labels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def right_targets(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    places = torch.arange(target.shape[1] + 1)
    labels = F.pad(target, (0, 1)).masked_fill(places > lens[:, None], -100)
    return F.pad(target, (1, 0), value=bos), labels.masked_fill(places == lens[:, None], eos)


def by_rows(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    rows = [[*row[:n], eos] for row, n in zip(target.tolist(), lens.tolist(), strict=True)]
    labels = torch.tensor([row + [-100] * (target.shape[1] + 1 - len(row)) for row in rows])
    return torch.cat([torch.full_like(target[:, :1], bos), target], dim=1), labels


RIGHT: dict[str, list[Any]] = {"shifted-targets": [right_targets, by_rows]}

WRONG: list[tuple[str, Any, str]] = [
    ("shifted-targets", lambda *args: [part.int() for part in right_targets(*args)], "F.cross_entropy ask for it"),
    ("shifted-targets", lambda t, n, bos, eos: right_targets(t, n, 7, eos), "bos goes in front of the row"),
    ("shifted-targets", lambda *args: right_targets(*args)[0], "return inputs, labels"),
]
