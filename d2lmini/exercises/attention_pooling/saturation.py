"""How decided a query is before any learning."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.exercises.core import WrongAnswer, checker, expect_function, read_number
from d2lmini.exercises.prediction import Number, prediction

_PROBES = ((64, 1.0), (64, 0.25), (256, 0.125))


@checker("measure-saturation")
def check_measure_saturation(measure: Any) -> str:
    """`measure(d, scale)`: median over queries of the largest of 64 weights, for standard normal vectors."""
    expect_function(measure)
    right = [_median_top(d, scale) for d, scale in _PROBES]
    got = [read_number(measure(d, scale)) for d, scale in _PROBES]

    def distance(measured: list[float]) -> float:
        return max(abs(one - number) / max(1, abs(one)) for one, number in zip(measured, got, strict=True))

    if not distance(right) <= 0.03:
        mistakes = [_list_wrong_measures(d, scale) for d, scale in _PROBES]
        by_hint = {hint: distance([one[hint] for one in mistakes]) for hint in mistakes[0]}
        hint = min(by_hint, key=lambda hint: by_hint[hint])
        if not by_hint[hint] <= 0.03:
            hint = "what does one query do? Draw it and its 64 keys, and print its scores, its weights and the largest"
        raise WrongAnswer(
            "it measures the median over the queries of the largest weight (within 0.03)",
            hint,
            given="(d, scale) = " + ", ".join(map(str, _PROBES)),
            expected=[round(number, 2) for number in right],
            got=[round(number, 2) for number in got],
        )
    return "agrees with our own measurement in three cases"


@cache
def _draw_scores(d: int, *, uniform: bool = False) -> Tensor:
    """Scores of 3000 queries, each with 64 keys of its own, whatever the answer has drawn."""
    draw = torch.rand if uniform else torch.randn
    rng = torch.Generator().manual_seed(d)
    keys = draw(3000, 64, d, generator=rng)
    return (draw(3000, 1, d, generator=rng) * keys).sum(-1)  # (queries, keys)


def _median_top(d: int, factor: float, dim: int = -1, *, uniform: bool = False) -> float:
    return F.softmax(_draw_scores(d, uniform=uniform) * factor, dim).amax(-1).median().item()


def _list_wrong_measures(d: int, scale: float) -> dict[str, float]:
    """What well-known mistakes would measure, by hint."""
    scores = _draw_scores(d)
    weights = F.softmax(scores * scale, -1)
    top = weights.amax(-1)
    return {
        "the mean mixes a few ties with many saturated queries: take the median": top.mean().item(),
        "the scale is not used": _median_top(d, 1),
        "the scale is not used: you always divide by √d": _median_top(d, d**-0.5),
        "the scale multiplies the scores: you divide": _median_top(d, 1 / scale),
        "scaled twice: scale is the only factor, whatever the width": _median_top(d, scale * d**-0.5),
        "one query's weights add up to 1 over its keys, not over the queries": _median_top(d, scale, 0),
        "that is the median of all weights: take each query's largest first": weights.median().item(),
        "that is the largest over all queries: take the median of each query's largest": top.max().item(),
        "that is the share of decided queries: how large is the largest weight of the one in the middle?": (
            (top > 0.9).float().mean().item()
        ),
        "rand draws between 0 and 1: standard normal numbers have mean 0": _median_top(d, scale, uniform=True),
        "scores are not yet weights: take the softmax first": (scores * scale).amax(-1).median().item(),
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
