"""Answers to the exercises: a memory squeezed into one vector."""

from __future__ import annotations

from collections.abc import Callable
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


def weighted(change: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """The right sum, divided by another number."""
    return lambda memory, lens: squeeze(memory, lens) * lens[:, None, None] / change(lens)


def other_lens(change: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda memory, lens: squeeze(memory, change(lens).expand_as(lens))


def by_product(memory: Tensor, lens: Tensor) -> Tensor:
    return (memory * see(memory, lens)).sum(dim=1, keepdim=True) / lens[:, None, None]


def by_differences(memory: Tensor, lens: Tensor) -> Tensor:
    """The sum of all, less that of the padding."""
    padding = memory.masked_fill(see(memory, lens), 0).sum(dim=1, keepdim=True)
    return (memory.sum(dim=1, keepdim=True) - padding) / lens[:, None, None]


def in_place(memory: Tensor, lens: Tensor) -> Tensor:
    memory[~see(memory, lens)[..., 0]] = 0
    return memory.sum(dim=1, keepdim=True) / lens[:, None, None]


def by_zeros(memory: Tensor, lens: Tensor) -> Tensor:
    real = squeeze(memory, lens) * lens[:, None, None]
    count = (memory.masked_fill(~see(memory, lens), 0) != 0).any(dim=2).sum(dim=1)
    return real / count[:, None, None]


RIGHT: dict[str, list[Any]] = {
    "squeeze": [squeeze, by_rows, by_nanmean, by_attention, by_nested],
    "use-squeeze": [(1,), 1, torch.tensor(1), [1.0]],
}

_SQUEEZED: list[tuple[Any, str]] = [
    (lambda memory, lens: memory.mean(dim=1, keepdim=True), "padding is no token"),
    (
        lambda memory, lens: memory.masked_fill(~see(memory, lens), 0).mean(1, keepdim=True),
        "how many tokens are in it?",
    ),
    (weighted(lambda lens: lens.max()), "how many tokens are in it?"),
    (weighted(lambda lens: lens[:, None, None] + 1), "how many tokens are in it?"),
    (lambda memory, lens: memory.sum(dim=1, keepdim=True) / lens[:, None, None], "which tokens belong to the sum?"),
    (weighted(torch.ones_like), "look at the shapes"),
    (lambda memory, lens: squeeze(memory, lens) * lens[:, None, None], "not the sum"),
    (lambda memory, lens: memory.masked_fill(~see(memory, lens), -1e9).amax(1, keepdim=True), "not the largest"),
    (lambda m, lens: torch.stack([m[i, :n].median(0).values[None] for i, n in enumerate(lens)]), "not the median"),
    (lambda memory, lens: memory[:, :1], "one token is not the sentence"),
    (lambda memory, lens: memory[torch.arange(len(lens)), lens - 1][:, None], "one token is not the sentence"),
    (other_lens(lambda lens: lens[:1]), "a length of its own"),
    (other_lens(lambda lens: lens.min()), "a length of its own"),
    (other_lens(lambda lens: lens + 1), "count them"),
    (other_lens(lambda lens: (lens - 1).clamp(min=1)), "count them"),
    (other_lens(lambda lens: lens.flip(0)), "for the shortest sentence alone"),
    (lambda memory, lens: squeeze(memory, lens).mean(0, keepdim=True).expand(len(lens), 1, -1), "a vector of its own"),
    (lambda memory, lens: squeeze(memory.flip(1), lens), "the padding stands behind"),
    (
        lambda memory, lens: (
            (memory.masked_fill(see(memory, lens), 0).sum(1, keepdim=True)) / (memory.shape[1] - lens)[:, None, None]
        ),
        "the tokens of the padding",
    ),
    (by_zeros, "a real token may be zero"),
    (lambda memory, lens: squeeze(memory, lens)[:, 0], "stay three dimensions"),
    (lambda memory, lens: squeeze(memory, lens).expand_as(memory), "stay three dimensions"),
    (lambda memory, lens: squeeze(memory, lens).mT, "stay three dimensions"),
    (lambda memory, lens: None, "stay three dimensions"),
    (lambda memory, lens: memory.masked_fill(~see(memory, lens), 0).sum(1, keepdim=True) / lens, "look at the shapes"),
    (by_product, "0 times NaN is NaN"),
    (by_differences, "never added and taken away"),
    (in_place, "changes the caller's tensor"),
    (lambda memory, lens: squeeze(memory.detach(), lens), "what cuts the result off?"),
    (lambda memory, lens: squeeze(memory, lens).tolist(), "return one tensor"),
    (lambda memory, lens: 2 * squeeze(memory, lens), "for the shortest sentence alone"),
]
_VECTORS: list[tuple[Any, str]] = [
    (11, "what can a query change"),
    (10, "among how many?"),
    (0, "that is a vector, too"),
    (2, "known to the query alone"),
    (64, "a softmax over one score"),
    (5, "a softmax over one score"),
    (110, "a softmax over one score"),
    ((1, 11), "one number, without quotes or brackets"),
]
WRONG: list[tuple[str, Any, str]] = [
    *(("squeeze", *wrong) for wrong in _SQUEEZED),
    *(("use-squeeze", *wrong) for wrong in _VECTORS),
]
