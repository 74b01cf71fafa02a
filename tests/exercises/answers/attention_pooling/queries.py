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
    "predict-mixture": [(10, 12, 7), torch.tensor([10.0, 12, 7])],
    "measure-saturation": [saturation(), *[draws(seed=seed) for seed in range(8)], in_numpy],
    "use-saturation": [(128,), torch.tensor(128)],
}

WRONG: list[tuple[str, Any, str]] = [
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
