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
    dim: int = 2,
    scale: Callable[[Tensor, Tensor], float] = lambda queries, keys: math.sqrt(queries.shape[1]),
    others: Callable[[Tensor], Tensor] = lambda itself: ~itself,
    shown: Callable[[Tensor], Tensor] = lambda mask: mask,
    hide: Callable[[Tensor, Tensor], Tensor] = lambda scores, may: scores.masked_fill(~may, -math.inf),
    weigh: Callable[..., Tensor] = F.softmax,
    after: Callable[[Tensor, Tensor], Tensor] = lambda weights, may: weights.nan_to_num(),
) -> Callable[..., Tensor]:
    """The outputs without one key, right unless told otherwise."""

    def function(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = queries @ keys.T / scale(queries, keys)
        may = shown(mask)[:, None] & others(torch.eye(len(keys)).bool())
        return after(weigh(hide(scores[:, None].expand(may.shape), may), dim), may) @ values

    return function


def untouched(scores: Tensor, may: Tensor) -> Tensor:
    return scores


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


def by_deleting_too_much(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return by_deleting(queries, keys, values, mask) * mask[:, :, None]


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


def by_the_plain_formula(nan: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """The formula of the exercise, as it stands; it is 0/0 where key j has all the weight."""

    def function(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = (queries @ keys.T / math.sqrt(queries.shape[1])).masked_fill(~mask, -math.inf)
        alpha = nan(F.softmax(scores, 1))[:, :, None]
        return ((alpha * values).sum(1, keepdim=True) - alpha * values) / (1 - alpha)

    return function


def by_shortcut_in_float64(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return by_shortcut(queries.double(), keys.double(), values.double(), mask).nan_to_num()


def key_of_zeros(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    emptied = [keys * (torch.arange(len(keys)) != j)[:, None] for j in range(len(keys))]
    return torch.stack([pool(queries, others, values, mask) for others in emptied], 1)


def loses_a_single_key(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    own = pool(queries, keys, values, mask)[:, None]
    single = mask & (mask.sum(1, keepdim=True) == 1)
    return torch.where(single[:, :, None], own, leave_out()(queries, keys, values, mask))


def difference(*arguments: Tensor) -> Tensor:
    return leave_out(others=lambda itself: ~itself | True)(*arguments) - leave_out()(*arguments)


def only_the_mask_of_the_first(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return leave_out()(queries, keys, values, mask[:1].expand(len(queries), -1))


def in_place(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    mask.fill_diagonal_(False)
    return leave_out()(queries, keys, values, torch.ones_like(mask))


def halved(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return leave_out()(queries.div_(2), keys.mul_(2), values, mask)


def empty_rows(weights: Tensor, may: Tensor) -> Tensor:
    return weights * may.any(-1, keepdim=True)


def keep_finite(weights: Tensor, may: Tensor) -> Tensor:
    return weights


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


def into_a_copy(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    found = torch.zeros(len(queries), len(keys), values.shape[1])
    for i in range(len(queries)):
        found[[i]][0] = leave_out()(queries, keys, values, mask)[i]
    return found


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
    *[("masked-pooling", with_a_threshold(top), "how many digits are left") for top in (0.999, 0.99999, 0.999999, 1)],
    ("masked-pooling", with_a_threshold(1, double=True), "how many digits are left"),
    ("masked-pooling", with_a_threshold(1 - 1e-13, double=True), "how many digits are left"),
    *[
        (
            "masked-pooling",
            leave_out(hide=lambda s, may, fill=fill: s.masked_fill(~may, fill), after=empty_rows),
            "which number is below every score?",
        )
        for fill in (-1e5, -1e6, -1e9, -1e30, -1e38)
    ],
    *[
        (
            "masked-pooling",
            leave_out(hide=lambda s, may, fill=fill: s - fill * ~may, after=empty_rows),
            "what is left for the other keys",
        )
        for fill in (1e5, 1e6, 1e9, 1e30)
    ],
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s.masked_fill(~may, 2 * s.min().item() - 1e6), after=empty_rows),
        "what is left for the other keys",
    ),
    ("masked-pooling", by_exp, "does an exp overflow"),
    ("masked-pooling", lambda *a: by_exp(*a).nan_to_num(), "does an exp overflow"),
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s.clamp(-1e4, 1e4).masked_fill(~may, -math.inf)),
        "are large scores cut off?",
    ),
    ("masked-pooling", into_a_copy, "do you write into a copy?"),
    ("masked-pooling", mask_in_place, "in place"),
    ("masked-pooling", leave_out(hide=untouched, after=renormalised), "what is left for the other keys"),
    ("masked-pooling", leave_out(hide=lambda s, may: s - 1000 * ~may, after=renormalised), "what is left for the"),
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s - 1000 * ~may, after=lambda w, may: w * may),
        "what is left for the other keys",
    ),
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s.masked_fill(~may, s.min().item() - 30), after=empty_rows),
        "what is left for the other keys",
    ),
    ("masked-pooling", by_the_plain_formula(torch.nan_to_num), "so is the formula where αj is 1"),
    ("masked-pooling", by_the_plain_formula(lambda alpha: alpha), "so is the formula where αj is 1"),
    ("masked-pooling", by_shortcut, "how many digits are left"),
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s.masked_fill(~may, -1e4), after=lambda w, may: w * may),
        "which number is below every score?",
    ),
    ("masked-pooling", leave_out(hide=lambda s, may: s.masked_fill(~may, -1e9)), "reads the mean of all values"),
    ("masked-pooling", leave_out(after=keep_finite), "Its softmax is 0/0"),
    ("masked-pooling", by_deleting_too_much, "it does not become 0"),
    ("masked-pooling", loses_a_single_key, "a query with a single key loses it"),
    ("masked-pooling", leave_out(others=lambda itself: itself), "you keep key j alone"),
    ("masked-pooling", leave_out(others=lambda itself: ~itself | True), "is key j hidden?"),
    ("masked-pooling", lambda *a: pool(*a)[:, None].expand(-1, len(a[1]), -1), "is key j hidden?"),
    ("masked-pooling", pool, "shape of each step"),
    ("masked-pooling", lambda *a: leave_out()(*a).transpose(0, 1), "shape of each step"),
    ("masked-pooling", leave_out(hide=untouched, after=lambda w, may: w * may), "add up to less than 1"),
    ("masked-pooling", leave_out(hide=lambda s, may: s * may), "a score of 0 still gets a weight"),
    ("masked-pooling", leave_out(hide=lambda s, may: s + ~may * -math.inf, after=keep_finite), "multiply 0 by"),
    ("masked-pooling", leave_out(dim=1), "what must one query's weights add up to?"),
    ("masked-pooling", leave_out(dim=0), "the queries compete with each other"),
    ("masked-pooling", leave_out(scale=lambda q, k: q.shape[1]), "You divide by d"),
    ("masked-pooling", leave_out(scale=lambda q, k: math.sqrt(len(k))), "You count the keys"),
    ("masked-pooling", leave_out(scale=lambda q, k: math.sqrt(len(k) - 1)), "You count the keys that are left"),
    ("masked-pooling", key_of_zeros, "a score of 0 still gets a weight"),
    ("masked-pooling", by_shortcut_in_float64, "how many digits are left"),
    ("masked-pooling", leave_out(scale=lambda q, k: 1), "the scores are not scaled"),
    ("masked-pooling", leave_out(scale=lambda q, k: q.shape[1] ** -0.5), "the scale divides"),
    ("masked-pooling", leave_out(scale=lambda q, k: 3), "stand for a size of the first example"),
    ("masked-pooling", leave_out(scale=lambda q, k: 2.5), "one query and one key"),
    (
        "masked-pooling",
        leave_out(hide=lambda s, may: s * may, weigh=lambda s, dim: s),
        "where is the softmax?",
    ),
    ("masked-pooling", difference, "by how much key j moves the output"),
    ("masked-pooling", lambda *a: -difference(*a), "by how much key j moves the output"),
    (
        "masked-pooling",
        lambda *a: pool(*a)[:, None] - leave_out(hide=untouched, after=lambda w, may: w * may)(*a),
        "that is the part of key j",
    ),
    ("masked-pooling", leave_out(shown=torch.ones_like), "the mask is not used"),
    ("masked-pooling", leave_out(shown=lambda mask: ~mask), "does your mask hide every key"),
    ("masked-pooling", only_the_mask_of_the_first, "you use one row for all of them"),
    (
        "masked-pooling",
        lambda q, k, v, m: leave_out()(q, k, v, m if m.all() else ~m),
        "your mask works the other way round",
    ),
    ("masked-pooling", lambda *a: leave_out()(*a) + 0.001, "print each"),
    ("masked-pooling", in_place, "in place"),
    ("masked-pooling", halved, "an operation that ends in _ works in place"),
    ("masked-pooling", leave_out()(*(torch.eye(3),) * 3, torch.ones(3, 3).bool()), "pass the function itself"),
]
