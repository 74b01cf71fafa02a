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


def written_into_one(target: Tensor, lens: Tensor, bos: int, eos: int, *, clone: bool) -> tuple[Tensor, Tensor]:
    both = F.pad(target, (1, 1), value=bos)
    inputs, labels = both[:, :-1], both[:, 1:]
    labels = labels.clone() if clone else labels
    places = torch.arange(labels.shape[1])
    labels[places > lens[:, None]] = -100
    labels[places == lens[:, None]] = eos
    return inputs, labels


def targets_in_place(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    results = right_targets(target, lens, bos, eos)
    target[:, -1] = eos
    return results


RIGHT: dict[str, list[Any]] = {
    "shifted-targets": [
        right_targets,
        lambda *args: list(right_targets(*args)),
        by_rows,
        lambda *args: written_into_one(*args, clone=True),
    ]
}

WRONG: list[tuple[str, Any, str]] = [
    ("shifted-targets", lambda *args: written_into_one(*args, clone=False), "views of the same tensor"),
    ("shifted-targets", lambda *args: [part.int() for part in right_targets(*args)], "F.cross_entropy ask for it"),
    ("shifted-targets", lambda *args: [part[:, :-1] for part in right_targets(*args)], "write the shape"),
    ("shifted-targets", lambda t, n, bos, eos: right_targets(t, n, 7, eos), "bos goes in front of the row"),
    ("shifted-targets", lambda *args: [part + 1 for part in right_targets(*args)], "what comes next? After the last"),
    ("shifted-targets", targets_in_place, "works in place"),
    ("shifted-targets", lambda *args: right_targets(*args)[0], "return inputs, labels"),
    ("shifted-targets", lambda *args: [part.tolist() for part in right_targets(*args)], "return inputs, labels"),
]
