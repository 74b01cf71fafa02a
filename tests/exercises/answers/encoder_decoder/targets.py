"""Answers to the exercises: more on what a decoder is trained on."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def targets(
    target: Tensor, lens: Tensor, bos: int, eos: int, *, inputs: Tensor | None = None, labels: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Inputs and labels row by row, right unless told otherwise."""
    rows = [[*row[:n], eos] for row, n in zip(target.tolist(), lens.tolist(), strict=True)]
    width = target.shape[1] + 1
    right = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
    front = torch.cat([torch.full_like(target[:, :1], bos), target], dim=1)
    return front if inputs is None else inputs, right if labels is None else labels


def with_known_ends(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    return targets(target, lens, 10, 11)


def with_the_next_number(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    return targets(target, lens, bos, bos + 1)


def with_the_number_before(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    return targets(target, lens, eos - 1, eos)


def at_the_end(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    return targets(target, lens, bos, eos, labels=F.pad(target, (0, 1), value=eos))


def after_the_longest(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    return targets(target, lens.max().expand(len(lens)), bos, eos)


def as_views(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    both = F.pad(target, (1, 1), value=bos)
    inputs, labels = both[:, :-1], both[:, 1:]
    places = torch.arange(labels.shape[1])
    labels[places > lens[:, None]] = -100
    labels[places == lens[:, None]] = eos
    return inputs, labels


def as_clones(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    both = F.pad(target, (1, 1), value=bos)
    inputs, labels = both[:, :-1], both[:, 1:].clone()
    places = torch.arange(labels.shape[1])
    labels[places > lens[:, None]] = -100
    labels[places == lens[:, None]] = eos
    return inputs, labels


RIGHT: dict[str, list[Any]] = {"shifted-targets": [targets, as_clones]}

WRONG: list[tuple[str, Any, str]] = [
    ("shifted-targets", with_known_ends, "bos and eos are given"),
    ("shifted-targets", with_the_next_number, "bos and eos are given"),
    ("shifted-targets", with_the_number_before, "bos and eos are given"),
    ("shifted-targets", at_the_end, "not at the end of the row"),
    ("shifted-targets", after_the_longest, "not at the end of the row"),
    ("shifted-targets", as_views, "views of the same tensor"),
    ("shifted-targets", lambda t, n, bos, eos: targets(t, n, eos, bos), "eos is for the labels"),
    ("shifted-targets", lambda t, n, bos, eos: targets(t, n - 1, bos, eos), "in its place"),
    ("shifted-targets", lambda t, n, bos, eos: targets(t, (t != 0).sum(1), bos, eos), "0 may be a real token"),
]
