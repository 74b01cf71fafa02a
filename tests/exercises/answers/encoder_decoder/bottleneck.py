"""Answers to the exercises: a memory squeezed into one vector, and what is kept of it, counted."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l


def see(memory: Tensor, lens: Tensor) -> Tensor:
    """Which tokens are real, (batch, n, 1)."""
    return (torch.arange(memory.shape[1]) < lens[:, None])[..., None]


def squeeze(memory: Tensor, lens: Tensor) -> Tensor:
    return memory.masked_fill(~see(memory, lens), 0).sum(dim=1, keepdim=True) / lens[:, None, None]


def by_rows(memory: Tensor, lens: Tensor) -> Tensor:
    return torch.stack([memory[i, :n].mean(dim=0, keepdim=True) for i, n in enumerate(lens.tolist())])


def by_nanmean(memory: Tensor, lens: Tensor) -> Tensor:
    return memory.where(see(memory, lens), torch.nan).nanmean(dim=1, keepdim=True)


def by_attention(memory: Tensor, lens: Tensor) -> Tensor:
    """Equal scores give a mean."""
    nobody = memory.new_zeros(len(memory), 1, 1)
    keys = memory.new_zeros(len(memory), memory.shape[1], 1)
    values = memory.masked_fill(~see(memory, lens), 0)
    return d2l.DotProductAttention(0)(nobody, keys, values, lens)


def by_nested(memory: Tensor, lens: Tensor) -> Tensor:
    rows = [row.narrow(0, 0, int(n)) for row, n in zip(memory, lens, strict=True)]
    sums = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).sum(dim=1)
    return (sums.T / lens).T.unsqueeze(1)


def by_product(memory: Tensor, lens: Tensor) -> Tensor:
    return (memory * see(memory, lens)).sum(dim=1, keepdim=True) / lens[:, None, None]


def by_differences(memory: Tensor, lens: Tensor) -> Tensor:
    """The sum of all, less that of the padding."""
    padding = memory.masked_fill(see(memory, lens), 0).sum(dim=1, keepdim=True)
    return (memory.sum(dim=1, keepdim=True) - padding) / lens[:, None, None]


def in_place(memory: Tensor, lens: Tensor) -> Tensor:
    memory[~see(memory, lens)[..., 0]] = 0
    return memory.sum(dim=1, keepdim=True) / lens[:, None, None]


RIGHT: dict[str, list[Any]] = {
    "predict-decoder": [(35, 3072), torch.tensor([35, 3072])],
    "squeeze": [squeeze, by_rows, by_nanmean, by_attention, by_nested],
    "use-squeeze": [(1,), 1, torch.tensor(1), [1.0]],
}

WRONG: list[tuple[str, Any, str]] = [
    ("squeeze", lambda memory, lens: squeeze(memory, lens.flip(0)), "for the shortest sentence alone"),
    ("squeeze", by_product, "0 times NaN is NaN"),
    ("squeeze", by_differences, "never added and taken away"),
    ("squeeze", in_place, "works in place"),
    ("squeeze", lambda memory, lens: squeeze(memory.detach(), lens), "what cuts the result off?"),
    ("squeeze", lambda memory, lens: squeeze(memory, lens).tolist(), "return one tensor"),
    ("use-squeeze", 110, "a softmax over one score"),
    ("use-squeeze", (1, 11), "one number, without quotes or brackets"),
    ("predict-decoder", (35, 1), "how many vectors are kept"),
    ("predict-decoder", (1, 3072), "who asks, and who is asked?"),
    ("predict-decoder", (35,), "look at the starter's form"),
]
