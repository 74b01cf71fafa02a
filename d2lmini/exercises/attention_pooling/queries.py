"""What the scores of a query become, and how its length matters."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch.nn import functional as F

from d2lmini.exercises.convert import convert_tensor, get_rounding
from d2lmini.exercises.core import WrongAnswer, checker, expect_function, read_number
from d2lmini.exercises.prediction import Number, prediction

# Scores 0, ln 2, 2 ln 2; values 0, 7, 14: the output for beta = 1, 2 and 0.
prediction(
    "predict-mixture",
    Number(
        "the output for β = 1",
        10.0,
        hint="take e to each score, divide by the sum, then mix the values",
        mistakes={
            "that is the value of the best key alone. Which weight does a score of 0 get? e⁰ is 1, not 0": 14.0,
            "that is the plain mean: it needs equal scores": 7.0,
            "scores are not yet weights: take e to each of them first": 35 / 3,
            "these weights add up to 7: what must a query's weights add up to?": 70.0,
        },
    ),
    Number(
        "the output for β = 2",
        12.0,
        hint="multiply the scores by 2 and go through the softmax again",
        mistakes={
            "the best key alone answers only in the limit: what is the ratio of two weights at β = 2?": 14.0,
            "β multiplies the scores: what is e to the power of 2·ln 2?": 10.0,
            "β multiplies the scores, not the output": 20.0,
            "a larger β is harder, not softer: try β = 0": 7 * (math.sqrt(2) + 4) / (3 + math.sqrt(2)),
        },
    ),
    Number(
        "the output for β = 0",
        7.0,
        hint="with β = 0 all scores are equal: what are the weights?",
        mistakes={
            "all scores become 0, and e⁰ is 1: the weights are not 0": 0.0,
            "a larger β is harder, not softer: with β = 0 all scores are equal": 14.0,
        },
    ),
    right="all three mixtures are right",
)


@checker("measure-saturation")
def check_measure_saturation(measure: Any) -> str:
    """`measure(d, scale)`: median over queries of the largest of 64 weights, for standard normal vectors."""
    expect_function(measure)
    probes = ((64, 1.0), (64, 0.25), (256, 0.125))
    got = [read_number(measure(d, scale)) for d, scale in probes]
    measured = [_measure_saturation(d, scale) for d, scale in probes]

    def distance(hint: str) -> float:
        return max(abs(one[hint] - number) for one, number in zip(measured, got, strict=True))

    if not distance("") <= 0.03:
        hint = min((hint for hint in measured[0] if hint), key=distance)
        if not distance(hint) <= 0.03:
            hint = "print the shapes: each query has one softmax, over 64 keys"
        raise WrongAnswer(
            "it measures the median over the queries of the largest weight (within 0.03)",
            hint,
            given="(d, scale) = " + ", ".join(map(str, probes)),
            expected=[round(one[""], 2) for one in measured],
            got=[round(number, 2) for number in got],
        )
    return "agrees with our own measurement in three cases"


@cache
def _measure_saturation(d: int, scale: float) -> dict[str, float]:
    """What well-known mistakes would measure, by hint; the right measurement has the empty hint."""
    rng = torch.Generator().manual_seed(d)  # whatever the answer has drawn
    keys = torch.randn(3000, 64, d, generator=rng)  # for each query 64 keys of its own
    scores = (torch.randn(3000, 1, d, generator=rng) * keys).sum(-1)  # (queries, keys)
    weights = F.softmax(scores * scale, -1)

    def median_top(factor: float, dim: int = -1) -> float:
        return F.softmax(scores * factor, dim).amax(-1).median().item()

    return {
        "": median_top(scale),
        "the mean mixes a few ties with many saturated queries: take the median": weights.amax(-1).mean().item(),
        "the scale is not used": median_top(1),
        "the scale is not used: you always divide by √d": median_top(d**-0.5),
        "the scale multiplies the scores: you divide": median_top(1 / scale),
        "one query's weights add up to 1 over its keys, not over the queries": median_top(scale, 0),
        "that is the median of all weights: take each query's largest first": weights.median().item(),
    }


@checker("direction-only")
def check_direction_only(answer: Any) -> str:
    """Two queries of one direction and keys on which their weights differ."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 3:
        raise WrongAnswer("the answer is (query_a, query_b, keys)", "look at the starter's form")
    rounding = max(1e-6, *map(get_rounding, answer))
    parts = [convert_tensor(part) for part in answer]
    if any(part is None or part.is_complex() for part in parts):
        raise WrongAnswer("the three parts are numbers", "two queries and a few keys, as tensors", got=answer)
    query_a, query_b, keys = (part.detach().double() for part in parts if part is not None)
    if query_a.dim() != 1 or query_a.shape != query_b.shape or keys.dim() != 2 or keys.shape[1:] != query_a.shape:
        raise WrongAnswer(
            "the shapes are (d,), (d,) and (keys, d)",
            "two queries and a few keys, all of one width",
            got=f"{tuple(query_a.shape)}, {tuple(query_b.shape)}, {tuple(keys.shape)}",
        )
    if not all(part.isfinite().all() for part in (query_a, query_b, keys)):
        raise WrongAnswer("all numbers are finite", "with infinite scores there are no weights")
    if not query_a.any() or not query_b.any():
        raise WrongAnswer("both queries have a direction", "the zero vector has none", got=[query_a, query_b])
    # numbers around 1 first: squares of very large and very small ones do not fit
    directions = [F.normalize(query / query.abs().max(), dim=0) for query in (query_a, query_b)]
    if (directions[0] - directions[1]).norm() > rounding:
        opposite = (directions[0] + directions[1]).norm() < rounding
        hint = "the opposite direction is another one" if opposite else "multiply one query by a number"
        raise WrongAnswer("both queries have the same direction", hint, given="their directions", got=directions)
    weights = [F.softmax(keys @ query / math.sqrt(len(query)), 0) for query in (query_a, query_b)]
    difference = (weights[0] - weights[1]).abs().max().item()
    if not difference >= 0.2:
        hint = "are all scores equal, or both queries equally long? Then the norm changes nothing"
        if min(weight.max() for weight in weights) > 0.99:
            hint = "both queries see a single key: from which length on do they? Make one of the two much shorter"
        elif difference > 1e-3:
            hint = "the idea is right: make the difference larger, with a much longer query"
        raise WrongAnswer("some weight differs by 0.2 or more", hint, given="the weights of both queries", got=weights)
    return "same direction, different weights: the norm of a query matters"
