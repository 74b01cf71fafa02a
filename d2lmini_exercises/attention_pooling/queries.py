"""What the scores of a query become, and how its length matters."""

from __future__ import annotations

import math

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
