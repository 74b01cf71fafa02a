"""Answers to the exercises of the chapter "Attention pooling"."""

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


def weigh(query: Tensor, keys: Tensor) -> Tensor:
    return F.softmax(keys @ query / math.sqrt(len(query)), 0)


def covariance(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The covariance of value and key under the weights."""
    alpha = weigh(query, keys)
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def by_pairs(query: Tensor, keys: Tensor, values: Tensor) -> Any:
    """Half the sum over all pairs of keys."""
    alpha = weigh(query, keys)
    dv, dk = values[:, None] - values, keys[:, None] - keys
    return (torch.einsum("i,j,ijv,ijd->vd", alpha, alpha, dv, dk) / 2 / math.sqrt(len(query))).numpy()


def by_functional(query: Tensor, keys: Tensor, values: Tensor) -> Any:
    return torch.autograd.functional.jacobian(lambda query: weigh(query, keys) @ values, query)


def by_exp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    powers = torch.exp(keys @ query / math.sqrt(len(query)))
    alpha = powers / powers.sum()
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def by_clamp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = F.softmax((keys @ query / math.sqrt(len(query))).clamp(-50, 50), 0)
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


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


def masked_by_exp(X: Tensor, valid_lens: Tensor) -> Tensor:
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


@functools.cache
def draw_scores(d: int) -> Tensor:
    """Scores of 3000 queries, each with 64 keys of its own."""
    rng = torch.Generator().manual_seed(5)
    queries, keys = torch.randn(3000, 1, d, generator=rng), torch.randn(3000, 64, d, generator=rng)
    return (queries * keys).sum(-1)  # (3000, 64)


def saturation(
    statistic: Callable[[Tensor], Tensor] = lambda weights: weights.amax(-1).median(),
    *,
    rescale: Callable[[float], float] = lambda scale: scale,
) -> Callable[[int, float], float]:
    """The measurement of saturation, right unless told otherwise."""

    def measure(d: int, scale: float) -> float:
        return statistic(F.softmax(draw_scores(d) * rescale(scale), -1)).item()

    return measure


def draws(
    keys: int = 64,
    *,
    shared: bool = False,
    seed: int | None = None,
    change_queries: Callable[[Tensor], Tensor] = lambda Q: Q,
) -> Callable[[int, float], float]:
    """The measurement with another number of keys, or other vectors."""

    def measure(d: int, scale: float) -> float:
        rng = torch.Generator().manual_seed(seed) if seed is not None else None
        Q = change_queries(torch.randn(3000, 1, d, generator=rng))
        K = torch.randn(1 if shared else 3000, keys, d, generator=rng)
        return F.softmax((Q * K).sum(-1) * scale, -1).amax(-1).median().item()

    return measure


def in_numpy(d: int, scale: float) -> Any:
    rng = np.random.default_rng(7)
    scores = scale * np.einsum("qd,qkd->qk", rng.standard_normal((3000, d)), rng.standard_normal((3000, 64, d)))
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.median(powers.max(1) / powers.sum(1))


RIGHT: dict[str, list[Any]] = {
    "query-gradient": [covariance, by_pairs, by_functional],
    "masked-pooling": [leave_out(), by_deleting, by_numpy],
    "debug-masked-softmax": [softmax(), masked_by_exp, by_loop],
    "predict-mixture": [(10, 12, 7), torch.tensor([10.0, 12, 7])],
    "measure-saturation": [saturation(), *[draws(seed=seed) for seed in range(8)], in_numpy],
    "use-saturation": [(128,), torch.tensor(128)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("query-gradient", by_exp, "does an exp overflow"),
    ("query-gradient", by_clamp, "a limit cut them off"),
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
    ("debug-masked-softmax", lambda X, lens: filled(X, lens, -1e38), "below every score"),
    ("debug-masked-softmax", softmax(fill=-3.4e38), "does every constant in your code fit?"),
    ("debug-masked-softmax", additive_mask, "too late for the gradient"),
    (
        "measure-saturation",
        draws(change_queries=lambda Q: F.normalize(Q, dim=-1) * Q.shape[-1] ** 0.5),
        "are all your queries equally long, or",
    ),
    *[("measure-saturation", draws(shared=True, seed=seed), "keys of its own") for seed in (None, 0, 1, 2, 3)],
    *[("measure-saturation", draws(keys=keys), "its 64 keys") for keys in (60, 63, 65)],
    ("measure-saturation", lambda d, scale: saturation()(d, scale / math.sqrt(d)), "scaled twice"),
    ("measure-saturation", saturation(torch.max), "the largest over all queries"),
    ("measure-saturation", lambda d, scale: (draw_scores(d) * scale).amax(-1).median(), "scores are not yet weights"),
    ("use-saturation", 100, "print each median"),
    ("predict-mixture", (10, 1, 7), "multiply the scores by 2"),
    ("predict-mixture", (10, 12, 1), "what are the weights?"),
    ("predict-mixture", (10, 12, None), "look at the starter's form"),
    ("measure-saturation", saturation(lambda w: w.amax(-1).mean()), "not their mean"),
    ("measure-saturation", saturation(rescale=lambda scale: 1 / scale), "you divide"),
    ("measure-saturation", lambda d, scale: saturation(rescale=lambda _: d**-0.5)(d, 1), "you always divide by √d"),
    ("measure-saturation", lambda d, scale: torch.rand(3, 2).median(dim=0), "a tensor of one entry"),
]
