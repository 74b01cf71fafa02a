"""Answers to the exercises: a memory squeezed into one vector, and what is kept of it, counted."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def see(memory: Tensor, lens: Tensor) -> Tensor:
    """Which tokens are real, (batch, n, 1)."""
    return (torch.arange(memory.shape[1]) < lens[:, None])[..., None]


def squeeze(memory: Tensor, lens: Tensor) -> Tensor:
    return memory.masked_fill(~see(memory, lens), 0).sum(dim=1, keepdim=True) / lens[:, None, None]


def by_rows(memory: Tensor, lens: Tensor) -> Tensor:
    return torch.stack([memory[i, :n].mean(dim=0, keepdim=True) for i, n in enumerate(lens.tolist())])


def by_nanmean(memory: Tensor, lens: Tensor) -> Tensor:
    return memory.where(see(memory, lens), torch.nan).nanmean(dim=1, keepdim=True)


def by_product(memory: Tensor, lens: Tensor) -> Tensor:
    return (memory * see(memory, lens)).sum(dim=1, keepdim=True) / lens[:, None, None]


def by_differences(memory: Tensor, lens: Tensor) -> Tensor:
    """The sum of all, less that of the padding."""
    padding = memory.masked_fill(see(memory, lens), 0).sum(dim=1, keepdim=True)
    return (memory.sum(dim=1, keepdim=True) - padding) / lens[:, None, None]


RIGHT: dict[str, list[Any]] = {
    "predict-decoder": [(35, 3072), torch.tensor([35, 3072])],
    "squeeze": [squeeze, by_rows, by_nanmean],
    "use-squeeze": [(1,), torch.tensor(1)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("squeeze", by_product, "0 times NaN is NaN"),
    ("squeeze", by_differences, "never added and taken away"),
    ("squeeze", lambda memory, lens: squeeze(memory.detach(), lens), "what cuts the result off?"),
    ("use-squeeze", 110, "a softmax over one score"),
    ("predict-decoder", (35, 1), "how many vectors are kept"),
    ("predict-decoder", (1, 3072), "who asks, and who is asked?"),
]
