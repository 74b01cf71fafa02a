"""What the scores of a query become, and how its length matters."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.convert import convert_tensor, get_rounding
from d2lmini_exercises.core import WrongAnswer, checker
from d2lmini_exercises.prediction import Number, prediction


def _mix(beta: float, base: float) -> float:
    """The output for scores of 0, 1 and 2 times the logarithm of the base."""
    powers = [base ** (beta * i) for i in range(3)]
    return 7 * (powers[1] + 2 * powers[2]) / sum(powers)


# Scores 0, ln 2, 2 ln 2; values 0, 7, 14: the output for beta = 1, 2 and 0.
prediction(
    "predict-mixture",
    Number(
        "the output for β = 1",
        10.0,
        hint="which three powers of e are there, and what is their sum? Then mix the values",
        mistakes={
            "that is the value of the best key alone. Which weight does a score of 0 get? e⁰ is 1, not 0": 14.0,
            "that is the plain mean: it needs equal scores": 7.0,
            "scores are not yet weights: take e to each of them first": 35 / 3,
            "these weights add up to 7: what must a query's weights add up to?": 70.0,
            "the scores are 0, ln 2 and 2 ln 2, not 0, 1 and 2": _mix(1, math.e),
            "that is a softer one: is β 1 here, or did you scale the scores?": _mix(1, math.sqrt(2)),
            "that is the mixture for β = 2": 12.0,
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
            "a larger β is harder, not softer: try β = 0": _mix(1, math.sqrt(2)),
            "the scores are 0, ln 2 and 2 ln 2, not 0, 1 and 2": _mix(2, math.e),
            "you squared the weights of β = 1: what do they add up to now?": 252 / 49,
            "these weights add up to 21: what must a query's weights add up to?": 252.0,
            "that is β = 3": _mix(3, 2),
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
    # exactly of the first one's direction, which rounding has moved
    query_b = query_a * (query_b.abs().max() / query_a.abs().max())
    weights = [F.softmax(keys @ query / math.sqrt(len(query)), 0) for query in (query_a, query_b)]
    difference = (weights[0] - weights[1]).abs().max().item()
    if not difference >= 0.2:
        hint = _explain_likeness(query_a, query_b, keys, weights)
        raise WrongAnswer("some weight differs by 0.2 or more", hint, given="the weights of both queries", got=weights)
    return "same direction, different weights: the norm of a query matters"


def _explain_likeness(query_a: Tensor, query_b: Tensor, keys: Tensor, weights: list[Tensor]) -> str:
    """Why two queries of one direction have nearly the same weights on these keys."""
    if torch.equal(query_a, query_b):
        return "both queries are equally long: make one of them longer"
    if (keys == keys[:1]).all():
        return "all keys are equal, and so are the scores of each query: choose keys that differ"
    if all(weight.max() - weight.min() < 1e-9 for weight in weights):
        return "do the scores of a query differ at all? Print keys @ query for both"
    longer = max(query_a, query_b, key=torch.linalg.vector_norm)
    scores = keys @ longer / math.sqrt(len(longer))
    if (F.softmax(scores, 0) - F.softmax(1e6 * (scores - scores.max()), 0)).abs().max() < 0.05:
        return (
            "both have found their best keys: a longer query changes nothing. Make the other one much shorter: what do "
            "its weights become?"
        )
    difference = (weights[0] - weights[1]).abs().max()
    return (
        f"no weight differs by more than {difference:.3f}: make one query much longer, or choose keys that differ more"
    )
