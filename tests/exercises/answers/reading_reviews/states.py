"""Answers to the exercises: the maximum of a review."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def maximum(filler: float = -torch.inf) -> Any:
    """The maximum over the steps that count, where padding is filled with a number."""

    def answer(H: Tensor, valid_lens: Tensor) -> Tensor:
        padding = torch.arange(H.shape[1]) >= valid_lens[:, None]
        return H.masked_fill(padding[:, :, None], filler).amax(dim=1).masked_fill(valid_lens[:, None] == 0, 0.0)

    return answer


def maximum_in_place(H: Tensor, valid_lens: Tensor) -> Tensor:
    H[torch.arange(H.shape[1]) >= valid_lens[:, None]] = -torch.inf
    return H.amax(dim=1).masked_fill(valid_lens[:, None] == 0, 0.0)


def maximum_by_loop(H: Tensor, valid_lens: Tensor) -> Tensor:
    zeros = torch.zeros(H.shape[2])
    return torch.stack([h[:n].amax(dim=0) if n else zeros for h, n in zip(H, valid_lens.tolist(), strict=True)])


def maximum_in_numpy(H: Tensor, valid_lens: Tensor) -> Any:
    counts = np.arange(H.shape[1])[None, :, None] < valid_lens.numpy()[:, None, None]
    found = np.where(counts, H.numpy(), -np.inf).max(axis=1)
    return np.where(valid_lens.numpy()[:, None] > 0, found, 0)


def maximum_by_sort(H: Tensor, valid_lens: Tensor) -> Tensor:
    found = [h[:n].sort(dim=0).values[-1:].sum(dim=0) for h, n in zip(H, valid_lens.tolist(), strict=True)]
    return torch.stack(found)


def maximum_by_cummax(H: Tensor, valid_lens: Tensor) -> Tensor:
    best = H.cummax(dim=1).values[torch.arange(len(H)), (valid_lens - 1).clamp(min=0)]
    return torch.where(valid_lens[:, None] > 0, best, 0.0)


def maximum_and_lens(H: Tensor, valid_lens: Tensor) -> Tensor:
    found = maximum()(H, valid_lens)
    valid_lens -= 1
    return found


RIGHT: dict[str, list[Any]] = {
    "debug-maximum": [
        maximum(),
        maximum_by_loop,
        maximum_in_numpy,
        maximum_by_sort,
        maximum_by_cummax,
        lambda H, lens: maximum(filler=float(H.min()))(H, lens),
        maximum(filler=torch.finfo(torch.float32).min),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-maximum", maximum(filler=-1e9), "smaller than any number"),
    ("debug-maximum", lambda H, lens: maximum()(H, lens).relu(), "what is smaller than all"),
    ("debug-maximum", maximum_and_lens, "works in place"),
    ("debug-maximum", maximum_in_place, "so do /= and x[...] = y"),
    ("debug-maximum", lambda H, lens: H.amin(dim=1) - 1, "what never wins"),
]
