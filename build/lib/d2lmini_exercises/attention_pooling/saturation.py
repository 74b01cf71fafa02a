"""How decided a query is before any learning."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import WrongAnswer, checker, expect_function, read_number
from d2lmini_exercises.prediction import Number, prediction

_PROBES = ((1, 1.0), (1, 3.0), (2, 3.0), (3, 0.5), (4, 1.0), (8, 0.5), (16, 0.25), (64, 0.125), (64, 1.0), (5, 0.001))
_QUERIES = 40000  # of our own measurement
_CHANCE = 1.7  # how far off, on average, in standard errors of 2000 queries; 200 queries are off by 3
_ONE_QUERY = (
    "what does one query do? Draw it and its 64 keys, and print its scores, its weights and the largest. "
    "Has each of a few thousand queries keys of its own?"
)
_ALIKE = "are all your queries equally long, or do they share keys? Each has a length and 64 keys of its own"


@checker("measure-saturation")
def check_measure_saturation(measure: Any) -> str:
    """`measure(d, scale)`: median over queries of the largest of 64 weights, for standard normal vectors."""
    expect_function(measure)
    got = [read_number(measure(d, scale)) for d, scale in _PROBES]
    right, errors = zip(*(_measure(d, scale) for d, scale in _PROBES), strict=True)
    off = [(one - number) / error for one, number, error in zip(got, right, errors, strict=True)]
    if not math.hypot(*off) <= _CHANCE * math.sqrt(len(off)):
        raise WrongAnswer(
            "it measures the median of the largest weight, as closely as a few thousand queries can tell",
            _explain(got),
            given="(d, scale) = " + ", ".join(map(str, _PROBES)),
            expected=[round(number, 3) for number in right],
            got=[round(number, 3) for number in got],
        )
    return f"agrees with our own measurement in {len(off)} cases, as closely as chance allows"


def _explain(got: list[float]) -> str:
    """The hint for the well-known mistake that measures nearly these numbers, in all cases."""
    mistakes = [_list_wrong_measures(d, scale) for d, scale in _PROBES]
    # relative to each number: what is near 0 is not near a small weight
    by_hint = {
        hint: max(abs(one - wrong[hint]) / (wrong[hint] + 1e-3) for one, wrong in zip(got, mistakes, strict=True))
        for hint in mistakes[0]
    }
    hint = min(by_hint, key=lambda hint: by_hint[hint])
    return hint if by_hint[hint] <= (0.1 if hint == _ALIKE else 0.25) else _ONE_QUERY


@cache
def _measure(d: int, scale: float) -> tuple[float, float]:
    """The median, and its standard error for 2000 queries."""
    top = F.softmax(_draw_scores(d, _QUERIES) * scale, -1).amax(-1)
    low, median, high = top.quantile(torch.tensor([0.45, 0.5, 0.55])).tolist()
    # a tenth of the queries lies between these; the floor is for a tiny scale, where all are alike
    return median, max((high - low) / 0.1 * 0.5 / math.sqrt(2000), 0.001 * median)


@cache
def _draw_scores(d: int, count: int = 3000, *, alike: bool = False) -> Tensor:
    """Scores of so many queries, each with 64 keys of its own: normal numbers, times the length of the query."""
    rng = torch.Generator().manual_seed(d)
    length = torch.randn(count, d, generator=rng).norm(dim=1, keepdim=True)
    return (math.sqrt(d) if alike else length) * torch.randn(count, 64, generator=rng)  # (queries, keys)


def _median_top(scores: Tensor, factor: float, dim: int = -1) -> float:
    return F.softmax(scores * factor, dim).amax(-1).median().item()


def _list_wrong_measures(d: int, scale: float) -> dict[str, float]:
    """What well-known mistakes would measure, by hint."""
    scores, rng = _draw_scores(d), torch.Generator().manual_seed(d)
    weights = F.softmax(scores * scale, -1)
    top = weights.amax(-1)
    positive = (torch.rand(1000, 1, d, generator=rng) * torch.rand(1000, 64, d, generator=rng)).sum(-1)
    return {
        "the median of the largest weights is asked for, not their mean": top.mean().item(),
        "the scale is not used": _median_top(scores, 1),
        "the scale is not used: you always divide by √d": _median_top(scores, d**-0.5),
        "the scale multiplies the scores: you divide": _median_top(scores, 1 / scale),
        "scaled twice: scale is the only factor, whatever the width": _median_top(scores, scale * d**-0.5),
        "one query's weights add up to 1 over its keys, not over the queries": _median_top(scores, scale, 0),
        "that is the median of all weights: take each query's largest first": weights.median().item(),
        "that is the largest over all queries: take the median of each query's largest": top.max().item(),
        "rand draws between 0 and 1: standard normal numbers have mean 0": _median_top(positive, scale),
        "scores are not yet weights: take the softmax first": (scores * scale).amax(-1).median().item(),
        _ALIKE: (_median_top(_draw_scores(d, alike=True), scale)),
    }


prediction(
    "use-saturation",
    Number(
        "the width",
        128,
        hint="run it for d = 1, 2, 4, ... with a scale of 1, and print each median",
        mistakes={
            "there the median is still below 0.9: it is about 0.86": 64,
            "there the median is still far below 0.9": (32, 16, 8, 4, 2, 1),
            "the median exceeds 0.9 there, but also at a smaller power of 2": (256, 512, 1024, 2048),
            "the width itself is asked for, not its exponent": 7,
        },
    ),
    right="at d = 128 half of the queries have all but decided",
)
