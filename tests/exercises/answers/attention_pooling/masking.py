"""Answers to the exercise on a masked softmax with faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


def softmax(
    *, fill: float = -math.inf, in_place: bool = False, empty: bool = True
) -> Callable[[Tensor, Tensor], Tensor]:
    """The masked softmax of the debugging exercise, with some of its faults fixed."""

    def masked(X: Tensor, valid_lens: Tensor) -> Tensor:
        scores = X if in_place else X.clone()
        nothing = (valid_lens == 0)[:, None, None]
        scores.masked_fill_(torch.arange(X.shape[-1]) >= valid_lens[:, None, None], fill)
        if not empty:
            return F.softmax(scores, -1)
        return F.softmax(scores.masked_fill(nothing, 0), -1).masked_fill(nothing, 0)

    return masked


def shown(X: Tensor, valid_lens: Tensor) -> Tensor:
    return (torch.arange(X.shape[-1]) < valid_lens[:, None, None]).expand(X.shape)


def empty_rows_in_place(X: Tensor, valid_lens: Tensor) -> Tensor:
    weights = softmax(empty=False)(X.masked_fill((valid_lens == 0)[:, None, None], 0), valid_lens.clamp(min=1))
    weights[valid_lens == 0] = 0
    return weights


def additive_mask(X: Tensor, valid_lens: Tensor) -> Tensor:
    return F.softmax(X + torch.where(shown(X, valid_lens), 0.0, -math.inf).to(X.dtype), -1).nan_to_num()


def filled_and_replaced(X: Tensor, valid_lens: Tensor) -> Tensor:
    """The gradient of masked_fill is 0 where it filled, so that no NaN gets through."""
    return F.softmax(X.masked_fill(~shown(X, valid_lens), -math.inf), -1).nan_to_num()


def lowest_number(X: Tensor, valid_lens: Tensor) -> Tensor:
    may = shown(X, valid_lens)
    return F.softmax(torch.where(may, X, torch.finfo(X.dtype).min), -1) * may


def by_exp(X: Tensor, valid_lens: Tensor) -> Tensor:
    may = shown(X, valid_lens)
    largest = X.masked_fill(~may, -math.inf).amax(-1, keepdim=True).clamp(min=torch.finfo(X.dtype).min)
    powers = torch.exp((X - largest).masked_fill(~may, -math.inf))
    return powers / powers.sum(-1, keepdim=True).masked_fill(~may.any(-1, keepdim=True), 1)


def by_logsumexp(X: Tensor, valid_lens: Tensor) -> Tensor:
    may = shown(X, valid_lens)
    scores = X.masked_fill(~may, -math.inf)
    nothing = ~may.any(-1, keepdim=True)
    total = torch.logsumexp(scores.masked_fill(nothing, 0), -1, keepdim=True)
    return torch.exp(scores.masked_fill(nothing, -math.inf) - total)


def by_loop(X: Tensor, valid_lens: Tensor) -> Tensor:
    rows = []
    for scores, length in zip(X, valid_lens.tolist(), strict=True):
        rows.append(F.pad(F.softmax(scores[:, :length], -1), (0, X.shape[-1] - length)))
    return torch.stack(rows)


def renormalised(X: Tensor, valid_lens: Tensor) -> Tensor:
    weights = F.softmax(X, -1) * shown(X, valid_lens)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)


def half_of_the_way(X: Tensor, valid_lens: Tensor) -> Tensor:
    """Right numbers; the sum under the fraction is taken for a constant."""
    may = shown(X, valid_lens)
    scores = X.masked_fill(~may, -math.inf)
    nothing = ~may.any(-1, keepdim=True)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True).detach().masked_fill(nothing, 0))
    return powers / powers.sum(-1, keepdim=True).detach().masked_fill(nothing, 1)


def without_the_largest(X: Tensor, valid_lens: Tensor) -> Tensor:
    powers = torch.exp(X) * shown(X, valid_lens)
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-12)


def filled(X: Tensor, valid_lens: Tensor, fill: float) -> Tensor:
    may = shown(X, valid_lens)
    return F.softmax(X.masked_fill(~may, fill), -1) * may.any(-1, keepdim=True)


RIGHT: dict[str, list[Any]] = {
    "debug-masked-softmax": [
        softmax(),
        d2l.masked_softmax,
        filled_and_replaced,
        lowest_number,
        by_exp,
        by_logsumexp,
        by_loop,
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-masked-softmax", without_the_largest, "does an exp overflow"),
    ("debug-masked-softmax", lambda X, lens: filled(X, lens, X.min().item() - 1e9), "below every score"),
    ("debug-masked-softmax", lambda X, lens: filled(X, lens, -1e38), "below every score"),
    ("debug-masked-softmax", renormalised, "Mask before it"),
    ("debug-masked-softmax", lambda X, lens: softmax()(X.float(), lens), "Cast the weights back"),
    ("debug-masked-softmax", lambda X, lens: softmax()(X.float(), lens).to(X.dtype), "is X cast on the way?"),
    ("debug-masked-softmax", softmax(fill=-3.4e38), "does every constant in your code fit?"),
    ("debug-masked-softmax", softmax(in_place=True), "works in place"),
    ("debug-masked-softmax", softmax(fill=-1e6, in_place=True, empty=False), "below every score"),
    ("debug-masked-softmax", half_of_the_way, "is a part of the way cut off?"),
    ("debug-masked-softmax", additive_mask, "too late for the gradient"),
    ("debug-masked-softmax", empty_rows_in_place, "was written into"),
    ("debug-masked-softmax", lambda X, lens: softmax()(X, lens[:1].repeat(len(X))), "keep what worked"),
]
