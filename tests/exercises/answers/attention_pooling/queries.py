"""Answers to the exercises on scores, saturated queries and the direction of a query."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


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


def uniform(d: int, scale: float) -> float:
    scores = (torch.rand(3000, 1, d) * torch.rand(3000, 64, d)).sum(-1)
    return F.softmax(scores * scale, -1).amax(-1).median().item()


def draws(
    queries: int = 3000,
    keys: int = 64,
    *,
    shared: bool = False,
    seed: int | None = None,
    change: Callable[[Tensor], Tensor] = lambda X: X,
    change_queries: Callable[[Tensor], Tensor] = lambda Q: Q,
) -> Callable[[int, float], float]:
    """The measurement with another number of queries and keys, or other vectors."""

    def measure(d: int, scale: float) -> float:
        rng = torch.Generator().manual_seed(seed) if seed is not None else None
        Q = change_queries(change(torch.randn(queries, 1, d, generator=rng)))
        K = change(torch.randn(1 if shared else queries, keys, d, generator=rng))
        return F.softmax((Q * K).sum(-1) * scale, -1).amax(-1).median().item()

    return measure


def made_up(d: int, scale: float) -> float:
    """Scores with the right variance, without queries and keys."""
    return F.softmax(scale * math.sqrt(d) * torch.randn(4000, 64), -1).amax(-1).median().item()


def query_by_query(d: int, scale: float) -> Any:
    tops = [F.softmax(scale * (torch.randn(64, d) @ torch.randn(d)), 0).max() for _ in range(2000)]
    return np.median(tops)


def in_numpy(d: int, scale: float) -> Any:
    rng = np.random.default_rng(7)
    scores = scale * np.einsum("qd,qkd->qk", rng.standard_normal((3000, d)), rng.standard_normal((3000, 64, d)))
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.median(powers.max(1) / powers.sum(1))


QUERY, KEYS = torch.tensor([1.0, 0]), torch.tensor([[1.0, 0], [0, 1]])

RIGHT: dict[str, list[Any]] = {
    "predict-mixture": [(10, 12, 7), [10.0, 12.0, 7.0], torch.tensor([10.0, 12, 7]), np.array([10, 12, 7])],
    "measure-saturation": [
        saturation(),
        lambda d, scale: torch.tensor(saturation()(d, scale)),
        draws(),
        *[draws(seed=seed) for seed in range(8)],
        draws(2000, seed=1),
        draws(5000),
        query_by_query,
        in_numpy,
        saturation(lambda w: w.amax(-1).quantile(0.5)),
        lambda d, scale: np.float32(saturation()(d, scale)),
    ],
    "use-saturation": [(128,), 128, 2**7, 128.0, torch.tensor(128)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("measure-saturation", made_up, "are all your queries equally long, or"),
    (
        "measure-saturation",
        draws(change_queries=lambda Q: F.normalize(Q, dim=-1) * Q.shape[-1] ** 0.5),
        "are all your queries equally long, or",
    ),
    ("measure-saturation", draws(change=torch.sign), "what does one query do?"),
    ("measure-saturation", draws(change=lambda X: (torch.rand_like(X) * 2 - 1) * 3**0.5), "what does one query do?"),
    *[("measure-saturation", draws(shared=True, seed=seed), "keys of its own") for seed in (None, 0, 1, 2, 3)],
    *[("measure-saturation", draws(50, seed=seed), "a few thousand queries") for seed in (None, 0, 1)],
    *[("measure-saturation", draws(1, seed=seed), "a few thousand queries") for seed in (None, 0)],
    *[("measure-saturation", draws(200, seed=seed), "a few thousand queries") for seed in (None, 0, 1)],
    *[("measure-saturation", draws(keys=keys), "its 64 keys") for keys in (60, 63, 65)],
    ("measure-saturation", lambda d, scale: 1e-3, "what does one query do?"),
    ("measure-saturation", lambda d, scale: 0, "what does one query do?"),
    ("measure-saturation", lambda d, scale: round(draws()(d, scale), 1), "what does one query do?"),
    ("measure-saturation", saturation(lambda w: w.amin(1).median()), "what does one query do?"),
    ("measure-saturation", saturation(lambda w: w.median(0).values.max()), "what does one query do?"),
    ("predict-mixture", (11.03, 12, 7), "not 0, 1 and 2"),
    ("predict-mixture", (8.59, 12, 7), "a softer one"),
    ("predict-mixture", (12, 10, 7), "the mixture for β = 2"),
    ("predict-mixture", (10, 12.96, 7), "not 0, 1 and 2"),
    ("predict-mixture", (10, 5.14, 7), "you squared the weights of β = 1"),
    ("predict-mixture", (10, 252, 7), "these weights add up to 21"),
    ("predict-mixture", (10, 13.04, 7), "that is β = 3"),
    ("measure-saturation", lambda d, scale: saturation()(d, scale / math.sqrt(d)), "scaled twice"),
    ("measure-saturation", uniform, "rand draws between 0 and 1"),
    ("measure-saturation", saturation(lambda w: (w.amax(-1) > 0.9).float().mean()), "what does one query do?"),
    ("measure-saturation", saturation(torch.max), "the largest over all queries"),
    ("measure-saturation", lambda d, scale: (draw_scores(d) * scale).amax(-1).median(), "scores are not yet weights"),
    ("measure-saturation", saturation(lambda w: w[:20].amax(-1).median()), "what does one query do?"),
    ("use-saturation", 64, "it is about 0.86"),
    ("use-saturation", 16, "still far below 0.9"),
    ("use-saturation", 256, "also at a smaller power of 2"),
    ("use-saturation", 7, "not its exponent"),
    ("use-saturation", 100, "print each median"),
    ("use-saturation", (128, 7), "one number, without quotes"),
    ("use-saturation", "128", "one number, without quotes"),
    # of nearly one direction, where the rest alone decides
    ("predict-mixture", (14, 12, 7), "value of the best key alone"),
    ("predict-mixture", (7, 12, 7), "the plain mean: it needs equal scores"),
    ("predict-mixture", (35 / 3, 12, 7), "scores are not yet weights"),
    ("predict-mixture", (70, 12, 7), "what must a query's weights add up to?"),
    ("predict-mixture", (3, 12, 7), "which three powers of e"),
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
    ("measure-saturation", saturation(lambda w: w.amax(-1).mean()), "not their mean"),
    ("measure-saturation", saturation(rescale=lambda scale: 1), "the scale is not used"),
    ("measure-saturation", saturation(rescale=lambda scale: 1 / scale), "you divide"),
    ("measure-saturation", saturation(dim=0), "one query's weights add up to 1 over its keys"),
    ("measure-saturation", saturation(lambda w: w.median()), "take each query's largest first"),
    ("measure-saturation", saturation(lambda w: w.amin(-1).median() + 0.5), "what does one query do?"),
    ("measure-saturation", lambda d, scale: math.nan, "what does one query do?"),
    ("measure-saturation", saturation(rescale=lambda scale: 0.1), "what does one query do?"),
    ("measure-saturation", lambda d, scale: saturation(rescale=lambda _: d**-0.5)(d, 1), "you always divide by √d"),
    ("measure-saturation", lambda d, scale: torch.rand(3), "a tensor of one entry"),
    ("measure-saturation", lambda d, scale: torch.rand(3, 2).median(dim=0), "a tensor of one entry"),
    ("measure-saturation", 0.5, "pass the function itself"),
    ("predict-mixture", b"\x0a\x0c\x07", "look at the starter's form"),
]
