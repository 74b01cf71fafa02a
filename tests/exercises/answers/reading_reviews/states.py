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


def maximum_by_loop(H: Tensor, valid_lens: Tensor) -> Tensor:
    zeros = torch.zeros(H.shape[2])
    return torch.stack([h[:n].amax(dim=0) if n else zeros for h, n in zip(H, valid_lens.tolist(), strict=True)])


def maximum_in_numpy(H: Tensor, valid_lens: Tensor) -> Any:
    counts = np.arange(H.shape[1])[None, :, None] < valid_lens.numpy()[:, None, None]
    found = np.where(counts, H.numpy(), -np.inf).max(axis=1)
    return np.where(valid_lens.numpy()[:, None] > 0, found, 0)


RIGHT: dict[str, list[Any]] = {
    "debug-maximum": [maximum(), maximum_by_loop, maximum_in_numpy],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-maximum", maximum(filler=-1e9), "smaller than any number"),
    ("debug-maximum", lambda H, lens: H.amin(dim=1) - 1, "what never wins"),
]
