"""Right and wrong answers to the exercises of the chapter "Attention pooling"."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


def pooling(
    *,
    dim: int = -1,
    scale: Callable[[Tensor], float] = lambda queries: math.sqrt(queries.shape[1]),
    mask_scores: Callable[[Tensor, Tensor], Tensor] = lambda scores, mask: scores.masked_fill(~mask, -math.inf),
    mask_weights: Callable[[Tensor, Tensor], Tensor] = lambda weights, mask: weights,
) -> Callable[..., Tensor]:
    """Masked pooling, right unless told otherwise."""

    def pool(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = mask_scores(queries @ keys.T / scale(queries), mask)
        return mask_weights(F.softmax(scores, dim=dim), mask) @ values

    return pool


def pooling_that_counts_the_keys(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return F.softmax((queries @ keys.T / math.sqrt(len(keys))).masked_fill(~mask, -math.inf), -1) @ values


def renormalised(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    weights = F.softmax(queries @ keys.T / math.sqrt(queries.shape[1]), -1) * mask
    return weights / weights.sum(-1, keepdim=True) @ values


def renormalised_lengths(X: Tensor, valid_lens: Tensor) -> Tensor:
    weights = F.softmax(X, -1) * (torch.arange(X.shape[-1]) < valid_lens[:, None, None])
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)


def pooling_without_softmax(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return (queries @ keys.T / math.sqrt(queries.shape[1])) * mask @ values


def pooling_in_place(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return pooling()(queries.div_(2), keys.mul_(2), values, mask)


def softmax(
    *, fill: float = -math.inf, in_place: bool = False, empty: bool = True
) -> Callable[[Tensor, Tensor], Tensor]:
    """The masked softmax of the debugging exercise, with some of its faults mended."""

    def masked(X: Tensor, valid_lens: Tensor) -> Tensor:
        scores = X if in_place else X.clone()
        nothing = (valid_lens == 0)[:, None, None]
        scores.masked_fill_(torch.arange(X.shape[-1]) >= valid_lens[:, None, None], fill)
        if not empty:
            return F.softmax(scores, -1)
        return F.softmax(scores.masked_fill(nothing, 0), -1).masked_fill(nothing, 0)

    return masked


def empty_rows_in_place(X: Tensor, valid_lens: Tensor) -> Tensor:
    weights = softmax(empty=False)(X.masked_fill((valid_lens == 0)[:, None, None], 0), valid_lens.clamp(min=1))
    weights[valid_lens == 0] = 0
    return weights


def additive_mask(X: Tensor, valid_lens: Tensor) -> Tensor:
    shown = torch.arange(X.shape[-1]) < valid_lens[:, None, None]
    return F.softmax(X + torch.where(shown, 0.0, -math.inf), -1).nan_to_num()


@functools.cache
def draw_scores(d: int) -> Tensor:
    """Scores of 3000 queries, each with 64 keys of its own."""
    rng = torch.Generator().manual_seed(5)
    queries, keys = torch.randn(3000, 1, d, generator=rng), torch.randn(3000, 64, d, generator=rng)
    return (queries * keys).sum(-1)  # (3000, 64)


def saturation(
    statistic: Callable[[Tensor], Tensor] = lambda weights: weights.amax(-1).median(),
    *,
    dim: int = -1,
    rescale: Callable[[float], float] = lambda scale: scale,
) -> Callable[[int, float], float]:
    """The measurement of saturation, right unless told otherwise."""

    def measure(d: int, scale: float) -> float:
        return statistic(F.softmax(draw_scores(d) * rescale(scale), dim)).item()

    return measure


QUERY, KEYS = torch.tensor([1.0, 0]), torch.tensor([[1.0, 0], [0, 1]])

RIGHT: dict[str, list[Any]] = {
    "predict-mixture": [(10, 12, 7), [10.0, 12.0, 7.0], torch.tensor([10.0, 12, 7]), np.array([10, 12, 7])],
    "masked-pooling": [
        lambda q, k, v, m: pooling()(q, k, v, m).tolist(),
        pooling(),
        lambda *a: F.scaled_dot_product_attention(*(x[None] for x in a[:3]), a[3])[0],
    ],
    "debug-masked-softmax": [softmax(), d2l.masked_softmax],
    "measure-saturation": [
        saturation(),
        lambda d, scale: torch.tensor(saturation()(d, scale)),
        lambda d, scale: np.float32(saturation()(d, scale)),
    ],
    "direction-only": [
        (QUERY.half(), 7 * QUERY.half(), KEYS),
        (QUERY, 9 * QUERY, list(KEYS)),
        (QUERY, 9 * QUERY, KEYS),
        [9 * QUERY.double(), QUERY.double(), KEYS.double()],
        (1e-30 * QUERY, 9 * QUERY, KEYS),
        ([1.0, 0], np.array([9, 0]), [[1, 0], [0, 1]]),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("masked-pooling", renormalised, "Mask before it"),
    ("masked-pooling", pooling(mask_scores=lambda scores, mask: scores - 1000 * ~mask), "Mask before it"),
    ("masked-pooling", pooling(mask_scores=lambda s, m: s.masked_fill(~m, s.min().item() - 30)), "Mask before it"),
    ("debug-masked-softmax", renormalised_lengths, "Mask before it"),
    ("direction-only", (QUERY, 1.5 * QUERY, 1e4 * KEYS), "Make one of the two much shorter"),
    ("direction-only", (torch.tensor([1e200, 0]), torch.tensor([0, 1e200]).double(), KEYS), "with infinite scores"),
    ("direction-only", ([1e200, 0.0], [0.0, 1e200], KEYS), "multiply one query by a number"),
    ("direction-only", (QUERY, 1j * QUERY, KEYS), "as tensors"),
    ("predict-mixture", (14, 12, 7), "value of the best key alone"),
    ("predict-mixture", (7, 12, 7), "the plain mean: it needs equal scores"),
    ("predict-mixture", (35 / 3, 12, 7), "scores are not yet weights"),
    ("predict-mixture", (70, 12, 7), "what must a query's weights add up to?"),
    ("predict-mixture", (3, 12, 7), "take e to each score"),
    ("predict-mixture", (10, 14, 7), "only in the limit"),
    ("predict-mixture", (10, 10, 7), "β multiplies the scores: what is"),
    ("predict-mixture", (10, 20, 7), "not the output"),
    ("predict-mixture", (10, 8.59, 7), "a larger β is harder, not softer"),
    ("predict-mixture", (10, 1, 7), "multiply the scores by 2"),
    ("predict-mixture", (10, 12, 0), "e⁰ is 1"),
    ("predict-mixture", (10, 12, 14), "a larger β is harder"),
    ("predict-mixture", (10, 12, 1), "what are the weights?"),
    ("predict-mixture", (10, 12, math.nan), "what are the weights?"),
    ("predict-mixture", 10, "look at the starter's form"),
    ("predict-mixture", "ten", "look at the starter's form"),
    ("predict-mixture", (10, 12, None), "look at the starter's form"),
    ("masked-pooling", pooling(dim=0), "what must one query's weights add up to?"),
    ("masked-pooling", pooling(scale=lambda queries: queries.shape[1]), "You divide by d"),
    ("masked-pooling", pooling_that_counts_the_keys, "You count the keys"),
    ("masked-pooling", pooling(scale=lambda queries: 1), "the scores are not scaled"),
    ("masked-pooling", pooling(scale=lambda queries: queries.shape[1] ** -0.5), "the scale divides"),
    ("masked-pooling", pooling_without_softmax, "where is the softmax?"),
    (
        "masked-pooling",
        pooling(mask_scores=lambda s, m: s.masked_fill(m, -math.inf)),
        "your mask the wrong way round",
    ),
    (
        "masked-pooling",
        pooling(mask_scores=lambda s, m: s, mask_weights=lambda w, m: w * ~m),
        "your mask works the other way round",
    ),
    (
        "masked-pooling",
        pooling(mask_scores=lambda s, m: s, mask_weights=lambda w, m: w * m),
        "rows now sum to less than 1",
    ),
    ("masked-pooling", pooling(mask_scores=lambda s, m: s * m), "a score of 0 still gets a weight"),
    ("masked-pooling", pooling(mask_scores=lambda s, m: s), "the mask is not used"),
    ("masked-pooling", pooling(mask_scores=lambda s, m: s.masked_fill(~m, 0.5)), "what must the score of a masked key"),
    ("masked-pooling", lambda q, k, v, m: pooling()(q, k, v, m) + 1, "print each"),
    ("masked-pooling", lambda q, k, v, m: pooling()(q, k, v, m) + 0.001, "print each"),
    ("masked-pooling", lambda q, k, v, m: pooling()(q, k, v, m).squeeze(), "shape of each step"),
    ("masked-pooling", pooling_in_place, "an operation that ends in _ works in place"),
    ("masked-pooling", pooling(mask_scores=lambda s, m: s + ~m * -math.inf), "Or do you multiply 0 by infinity?"),
    ("masked-pooling", pooling(mask_scores=lambda s, m: s.masked_fill(~m, -15)), "is not below every other score"),
    ("masked-pooling", pooling(mask_scores=lambda s, m: s.masked_fill(~m, -1e4)), "is not below every other score"),
    ("masked-pooling", pooling(scale=lambda queries: 2), "stand for a size of the first example"),
    ("masked-pooling", pooling()(QUERY[None], KEYS, KEYS, torch.ones(1, 2).bool()), "pass the function itself"),
    ("debug-masked-softmax", lambda X, lens: X.softmax(-1), "keep what worked"),
    ("debug-masked-softmax", softmax(fill=-1e6, in_place=True, empty=False), "writes into the caller's scores"),
    ("debug-masked-softmax", softmax(fill=-1e6, empty=False), "your fill value now is the largest score"),
    ("debug-masked-softmax", softmax(empty=False), "a row of -inf has no softmax"),
    ("debug-masked-softmax", softmax(fill=-1e30, empty=False), "yet its weights add up to 1"),
    ("debug-masked-softmax", softmax(fill=-1e30), "does not fit into float16"),
    ("debug-masked-softmax", lambda X, lens: softmax()(X, lens) * (X.dtype != torch.half), "does not fit into float16"),
    ("debug-masked-softmax", lambda X, lens: softmax()(X.float(), lens), "cast them back"),
    ("debug-masked-softmax", additive_mask, "replacing NaN afterwards"),
    ("debug-masked-softmax", empty_rows_in_place, "do not write into what the softmax returned"),
    ("debug-masked-softmax", lambda X, lens: softmax()(X.detach(), lens), "gradient"),
    ("measure-saturation", saturation(lambda w: w.amax(-1).mean()), "take the median"),
    ("measure-saturation", saturation(rescale=lambda scale: 1), "the scale is not used"),
    ("measure-saturation", saturation(rescale=lambda scale: 1 / scale), "you divide"),
    ("measure-saturation", saturation(dim=0), "one query's weights add up to 1 over its keys"),
    ("measure-saturation", saturation(lambda w: w.median()), "take each query's largest first"),
    ("measure-saturation", saturation(lambda w: w.amin(-1).median() + 0.5), "each query has one softmax, over 64 keys"),
    ("measure-saturation", lambda d, scale: math.nan, "each query has one softmax, over 64 keys"),
    ("measure-saturation", saturation(rescale=lambda scale: 0.1), "print the shapes"),
    ("measure-saturation", lambda d, scale: saturation(rescale=lambda _: d**-0.5)(d, 1), "you always divide by √d"),
    ("measure-saturation", lambda d, scale: torch.rand(3), "a tensor of one entry"),
    ("measure-saturation", lambda d, scale: torch.rand(3, 2).median(dim=0), "a tensor of one entry"),
    ("measure-saturation", 0.5, "pass the function itself"),
    ("direction-only", (QUERY, -QUERY, KEYS), "the opposite direction is another one"),
    ("direction-only", (QUERY, QUERY + 1, KEYS), "multiply one query by a number"),
    ("direction-only", (1000 * QUERY, torch.tensor([1000.0, 1]), KEYS), "multiply one query by a number"),
    ("direction-only", (QUERY, 9 * QUERY, torch.full((2, 2), 1e308, dtype=torch.float64)), "are all scores equal"),
    ("predict-mixture", b"\x0a\x0c\x07", "look at the starter's form"),
    ("debug-masked-softmax", lambda X, lens: softmax()(X[:, :1], lens).expand_as(X), "keep what worked"),
    ("direction-only", (QUERY, 9 * QUERY, KEYS[:1].expand(2, 2)), "are all scores equal"),
    ("direction-only", (QUERY, QUERY, KEYS), "or both queries equally long?"),
    ("direction-only", (QUERY, 0 * QUERY, KEYS), "the zero vector has none"),
    ("direction-only", (QUERY, math.inf * QUERY, KEYS), "with infinite scores"),
    ("direction-only", (QUERY, 9 * QUERY, KEYS[0]), "two queries and a few keys, all of one width"),
    ("direction-only", (QUERY, 1.5 * QUERY, KEYS), "make the difference larger"),
    ("direction-only", (QUERY, 9 * QUERY), "look at the starter's form"),
    ("direction-only", "no", "look at the starter's form"),
]
