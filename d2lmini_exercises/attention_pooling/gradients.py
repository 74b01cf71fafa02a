"""How the output of a query moves with the query."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.extremes import OVERFLOW


def mean(alpha: Tensor, X: Tensor) -> Tensor:
    return alpha @ X


def plain(alpha: Tensor, X: Tensor) -> Tensor:
    return X.mean(0)


def nothing(alpha: Tensor, X: Tensor) -> Tensor:
    return torch.zeros(X.shape[1])


def weigh(query: Tensor, keys: Tensor) -> Tensor:
    return F.softmax(keys @ query / math.sqrt(len(query)), 0)


def differentiate(
    query: Tensor, keys: Tensor, values: Tensor,
    *, inside: Any = math.sqrt, outside: Any = lambda m, d: math.sqrt(d), weights: Any = lambda s: F.softmax(s, 0),
    of_keys: Any = mean, of_values: Any = mean,
) -> Tensor:  # fmt: skip
    """The covariance of value and key under the weights of the query, over √d, right unless told otherwise."""
    m, d = keys.shape
    alpha = weights(keys @ query / inside(d))
    centred = alpha[:, None] * (keys - of_keys(alpha, keys))
    return (values - of_values(alpha, values)).T @ centred / outside(m, d)


def difference(step: float, left: float, right: float) -> Any:
    """What a difference gives, from a step to the left to a step to the right."""

    def differ(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        moves = step * torch.eye(len(query))
        pairs = ((weigh(query + right * s, keys) @ values, weigh(query - left * s, keys) @ values) for s in moves)
        return torch.stack([high - low for high, low in pairs], 1) / (step * (left + right))

    return differ


MOMENT: dict[str, Any] = {"of_keys": nothing, "of_values": nothing}
exercise(
    "query-gradient",
    differentiate,
    [
        *(
            Case(draw(seed, query=(d,), keys=(m, d), values=(m, v)), tolerance=1e-3)
            for seed, m, d, v in ((1, 4, 7, 2), (2, 6, 3, 5), (5, 3, 5, 5), (3, 5, 4, 1), (4, 3, 1, 2))
        ),
        *(  # the best two scores are the same, then far apart: a limit makes them the same
            Case(
                f"query = torch.tensor({query}).float(); keys = torch.tensor({keys}).float(); "
                "values = torch.tensor([[1, 2], [4, -1], [3, 3]]).float()",
                OVERFLOW,
                tolerance=1e-3,
            )
            for query, keys in (([2000, 0], [[1, 0], [1, 1], [-1, 2]]), ([100], [[2], [1], [-1]]))
        ),
    ],
    {
        "0 throughout: which of your factors, or which sum, is 0? Print them one by one": {
            "outside": lambda m, d: math.inf
        },
        "the score is divided by √d: where is this factor in the derivative?": {"outside": lambda m, d: 1.0},
        "the score is divided by √d, not by d": {"outside": lambda m, d: d},
        "the factor √d is on the wrong side": {"outside": lambda m, d: d**-0.5},
        "is the sum of the weights still 1 after the step? As one score grows, the other weights fall": MOMENT,
        "that is what falls away: the product of the two means": (
            lambda q, k, v: torch.outer(weigh(q, k) @ v, weigh(q, k) @ k)
        ),
        "which mean? The one with the weights of this query": (
            {"of_keys": plain, "of_values": nothing}, {"of_keys": plain, "of_values": plain}
        ),
        "the keys do not all weigh the same": {"weights": lambda scores: torch.ones_like(scores) / len(scores)},
        "the sign: a key that fits the step gains weight": {"outside": lambda m, d: -math.sqrt(d)},
        "the derivative of a weight is not the weight itself": MOMENT | {"outside": lambda m, d: 1.0},
        "that is without the scale, in the softmax as well": {
            "inside": lambda d: 1.0, "outside": lambda m, d: 1.0
        },
        "the scale is missing in the softmax": {"inside": lambda d: 1.0},
        "the scale is the root of the width d, not of the number of keys": {"outside": lambda m, d: math.sqrt(m)},
        "the sign of the second part: as one score grows, the other weights fall": (
            lambda *given: 2 * differentiate(*given, **MOMENT) - differentiate(*given)
        ),
        "that is how a sample estimates it, from the sum of squared weights: correction=0 is for probabilities": (
            lambda q, k, v: differentiate(q, k, v) / (1 - weigh(q, k).square().sum())
        ),
        "a weight depends on the other keys' scores as well: what is the derivative of αi by sj?": (
            MOMENT | {"weights": lambda scores: F.softmax(scores, 0) * (1 - F.softmax(scores, 0))}
        ),
        "a row for each entry of the output, a column for each entry of the query": lambda *g: differentiate(*g).T,
        "a difference loses digits where the query is long: take it as a test, and write the formula": tuple(
            difference(step, left, right)
            for step in (1e-1, 1e-2, 1e-3, 1e-4)
            for left, right in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
            if step != 1e-2 or left != right  # which is near enough
        ),
    },
    claim="it is the derivative of softmax(Kq/√d)ᵀV by q",
    verified="equal to the derivative by autograd, for five sets of sizes, and for very high scores",
    hint="compare with a difference: move one entry of the query by 0.001 and look at the output",
)  # fmt: skip
