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
    scale: Callable[[Tensor], float] = lambda queries: math.sqrt(queries.shape[1]),
    hide: Callable[[Tensor, Tensor], Tensor] = lambda scores, may: scores.masked_fill(~may, -math.inf),
    after: Callable[[Tensor, Tensor], Tensor] = lambda weights, may: weights.nan_to_num(),
) -> Callable[..., Tensor]:
    """The outputs without one key, right unless told otherwise."""

    def function(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = queries @ keys.T / scale(queries)
        may = mask[:, None] & ~torch.eye(len(keys)).bool()
        return after(hide(scores[:, None].expand(may.shape), may).softmax(2), may) @ values

    return function


def renormalised(weights: Tensor, may: Tensor) -> Tensor:
    return (weights * may / (weights * may).sum(-1, keepdim=True)).nan_to_num()


def pool(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return d2l.masked_softmax((queries @ keys.T / math.sqrt(queries.shape[1]))[None], mask=mask)[0] @ values


def by_deleting(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """A loop that removes the key from keys, values and mask."""
    outputs = []
    for j in range(len(keys)):
        rest = [i for i in range(len(keys)) if i != j]
        outputs.append(pool(queries, keys[rest], values[rest], mask[:, rest]))
    return torch.stack(outputs, 1)


def by_pytorch(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    others = mask[:, None] & ~torch.eye(len(keys)).bool()
    repeated = queries[:, None].expand(-1, len(keys), -1)
    K, V = (part.expand(len(queries), -1, -1) for part in (keys, values))
    return F.scaled_dot_product_attention(repeated, K, V, others).where(others.any(2, keepdim=True), 0)


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


def in_place(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    found = leave_out()(queries, keys, values, mask)
    mask.fill_diagonal_(False)
    return found


def empty_rows(weights: Tensor, may: Tensor) -> Tensor:
    return weights * may.any(-1, keepdim=True)


def with_a_threshold(largest: float, *, double: bool = False) -> Callable[..., Tensor]:
    """The shortcut, and the whole computation only for weights above a threshold."""

    def function(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        found = leave_out()(queries, keys, values, mask)
        if double:
            queries, keys, values = queries.double(), keys.double(), values.double()
        scores = (queries @ keys.T / math.sqrt(queries.shape[1])).masked_fill(~mask, -math.inf)
        alpha = F.softmax(scores, 1).nan_to_num()[:, :, None]
        short = ((alpha * values).sum(1, keepdim=True) - alpha * values) / (1 - alpha)
        return torch.where(alpha >= largest, found.to(short.dtype), short)

    return function


def by_exp(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Powers of e without taking the largest score away."""
    may = mask[:, None] & ~torch.eye(len(keys)).bool()
    powers = torch.exp(queries @ keys.T / math.sqrt(queries.shape[1]))[:, None] * may
    return powers / powers.sum(2, keepdim=True).masked_fill(~may.any(2, keepdim=True), 1) @ values


def mask_in_place(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    outputs = []
    for j in range(len(keys)):
        mask[:, j] = False
        outputs.append(pool(queries, keys, values, mask))
        mask[:, j] = True
    return torch.stack(outputs, 1)


RIGHT: dict[str, list[Any]] = {
    "masked-pooling": [
        leave_out(),
        by_deleting,
        by_pytorch,
        by_numpy,
        lambda *a: leave_out()(*(x.double() for x in a[:3]), a[3]),
        lambda *a: [[list(row) for row in query] for query in leave_out()(*a)],
        leave_out(hide=lambda s, may: s.masked_fill(~may, torch.finfo(s.dtype).min), after=lambda w, may: w * may),
        with_a_threshold(0.9),
        with_a_threshold(0.999999, double=True),
        leave_out(hide=lambda s, may: torch.where(may, s, -torch.inf)),
        lambda *a: leave_out()(*a).tolist(),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("masked-pooling", with_a_threshold(0.99), "how many digits are left"),
    ("masked-pooling", with_a_threshold(1 - 1e-13, double=True), "how many digits are left"),
    ("masked-pooling", by_shortcut_in_float64, "how many digits are left"),
    *[
        (
            "masked-pooling",
            leave_out(hide=lambda s, may, fill=fill: s.masked_fill(~may, fill), after=empty_rows),
            "which number is below every score?",
        )
        for fill in (-1e5, -1e38)
    ],
    ("masked-pooling", leave_out(hide=lambda s, may: s - 1e30 * ~may, after=empty_rows), "what is left for the other"),
    ("masked-pooling", leave_out(hide=lambda s, may: s, after=renormalised), "what is left for the other keys"),
    ("masked-pooling", by_exp, "does an exp overflow"),
    ("masked-pooling", lambda *a: by_exp(*a).nan_to_num(), "does an exp overflow"),
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s.clamp(-1e4, 1e4).masked_fill(~may, -math.inf)),
        "are large scores cut off?",
    ),
    ("masked-pooling", mask_in_place, "in place"),
    ("masked-pooling", in_place, "in place"),
    ("masked-pooling", lambda *a: leave_out()(*a).transpose(0, 1), "shape of each step"),
    ("masked-pooling", leave_out(scale=lambda queries: 3), "stand for a size of the first example"),
    ("masked-pooling", lambda *a: leave_out()(*a) + 0.001, "print each"),
    ("masked-pooling", leave_out()(*(torch.eye(3),) * 3, torch.ones(3, 3).bool()), "pass the function itself"),
]
