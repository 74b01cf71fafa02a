"""Answers to the exercise on a masked softmax with faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def softmax(fill: float = -math.inf) -> Callable[[Tensor, Tensor], Tensor]:
    """The masked softmax of the debugging exercise."""

    def masked(X: Tensor, valid_lens: Tensor) -> Tensor:
        scores = X.masked_fill(torch.arange(X.shape[-1]) >= valid_lens[:, None, None], fill)
        nothing = (valid_lens == 0)[:, None, None]
        return F.softmax(scores.masked_fill(nothing, 0), -1).masked_fill(nothing, 0)

    return masked


def shown(X: Tensor, valid_lens: Tensor) -> Tensor:
    return (torch.arange(X.shape[-1]) < valid_lens[:, None, None]).expand(X.shape)


def additive_mask(X: Tensor, valid_lens: Tensor) -> Tensor:
    return F.softmax(X + torch.where(shown(X, valid_lens), 0.0, -math.inf).to(X.dtype), -1).nan_to_num()


def by_exp(X: Tensor, valid_lens: Tensor) -> Tensor:
    may = shown(X, valid_lens)
    largest = X.masked_fill(~may, -math.inf).amax(-1, keepdim=True).clamp(min=torch.finfo(X.dtype).min)
    powers = torch.exp((X - largest).masked_fill(~may, -math.inf))
    return powers / powers.sum(-1, keepdim=True).masked_fill(~may.any(-1, keepdim=True), 1)


def by_loop(X: Tensor, valid_lens: Tensor) -> Tensor:
    rows = []
    for scores, length in zip(X, valid_lens.tolist(), strict=True):
        rows.append(F.pad(F.softmax(scores[:, :length], -1), (0, X.shape[-1] - length)))
    return torch.stack(rows)


def filled(X: Tensor, valid_lens: Tensor, fill: float) -> Tensor:
    may = shown(X, valid_lens)
    return F.softmax(X.masked_fill(~may, fill), -1) * may.any(-1, keepdim=True)


RIGHT: dict[str, list[Any]] = {
    "debug-masked-softmax": [softmax(), by_exp, by_loop],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-masked-softmax", lambda X, lens: filled(X, lens, -1e38), "below every score"),
    ("debug-masked-softmax", softmax(fill=-3.4e38), "does every constant in your code fit?"),
    ("debug-masked-softmax", additive_mask, "too late for the gradient"),
]
