"""Answers to the exercise on what a query would read without one of its keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


def leave_out(
    *,
    hide: Callable[[Tensor, Tensor], Tensor] = lambda scores, may: scores.masked_fill(~may, -math.inf),
    after: Callable[[Tensor, Tensor], Tensor] = lambda weights, may: weights.nan_to_num(),
) -> Callable[..., Tensor]:
    """The outputs without one key, right unless told otherwise."""

    def function(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = queries @ keys.T / math.sqrt(queries.shape[1])
        may = mask[:, None] & ~torch.eye(len(keys)).bool()
        return after(hide(scores[:, None].expand(may.shape), may).softmax(2), may) @ values

    return function


def pool(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return d2l.masked_softmax((queries @ keys.T / math.sqrt(queries.shape[1]))[None], mask=mask)[0] @ values


def by_deleting(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """A loop that removes the key from keys, values and mask."""
    outputs = []
    for j in range(len(keys)):
        rest = [i for i in range(len(keys)) if i != j]
        outputs.append(pool(queries, keys[rest], values[rest], mask[:, rest]))
    return torch.stack(outputs, 1)


def by_numpy(*arguments: Tensor) -> Any:
    Q, K, V, mask = (argument.numpy() for argument in arguments)
    scores = np.where(mask, Q @ K.T / np.sqrt(Q.shape[1]), -np.inf)
    found = np.zeros((len(Q), len(K), V.shape[1]))
    for i in range(len(Q)):
        for j in range(len(K)):
            rest = np.delete(scores[i], j)
            if np.isfinite(rest).any():
                powers = np.exp(rest - rest.max())
                found[i, j] = powers / powers.sum() @ np.delete(V, j, 0)
    return found


def by_shortcut(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """(f - α v) / (1 - α), which has no digits left where α is nearly 1."""
    scores = (queries @ keys.T / math.sqrt(queries.shape[1])).masked_fill(~mask, -math.inf)
    alpha = F.softmax(scores, 1).nan_to_num()[:, :, None]
    found = ((alpha * values).sum(1, keepdim=True) - alpha * values) / (1 - alpha)
    return found.masked_fill((mask[:, None] & ~torch.eye(len(keys)).bool()).sum(2, keepdim=True) == 0, 0)


def by_shortcut_in_float64(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return by_shortcut(queries.double(), keys.double(), values.double(), mask).nan_to_num()


def empty_rows(weights: Tensor, may: Tensor) -> Tensor:
    return weights * may.any(-1, keepdim=True)


RIGHT: dict[str, list[Any]] = {
    "masked-pooling": [leave_out(), by_deleting, by_numpy],
}

WRONG: list[tuple[str, Any, str]] = [
    ("masked-pooling", by_shortcut_in_float64, "how many digits are left"),
    *[
        (
            "masked-pooling",
            leave_out(hide=lambda s, may, fill=fill: s.masked_fill(~may, fill), after=empty_rows),
            "which number is below every score?",
        )
        for fill in (-1e5, -1e38)
    ],
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s.clamp(-1e4, 1e4).masked_fill(~may, -math.inf)),
        "are large scores cut off?",
    ),
]
