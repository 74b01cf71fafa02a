"""How the output of a query moves with the query."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.convert import convert_tensor
from d2lmini_exercises.core import Mistakes, WrongAnswer, checker, expect_close, expect_function, expect_unchanged
from d2lmini_exercises.extremes import OVERFLOW
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.same import IN_PLACE

_COMPARE = "compare with a difference: move one entry of the query by 0.001 and look at the output"


@checker("query-gradient")
def check_query_gradient(differentiate: Any) -> str:
    """`differentiate(query, keys, values)`: the derivative of the output by the query, (v, d), from a formula."""
    expect_function(differentiate)
    for seed, m, d, v in ((1, 4, 7, 2), (2, 6, 3, 5), (5, 3, 5, 5), (3, 5, 4, 1), (4, 3, 1, 2)):
        inputs, given = draw_inputs(seed, query=(d,), keys=(m, d), values=(m, v))
        _expect_derivative(differentiate, inputs, given, _COMPARE, _list_wrong_derivatives(*inputs))
    # the best two scores are the same, then far apart: a limit makes them the same
    for query, keys in (([2000, 0], [[1, 0], [1, 1], [-1, 2]]), ([100], [[2], [1], [-1]])):
        parts = {"query": query, "keys": keys, "values": [[1, 2], [4, -1], [3, 3]]}
        given = "; ".join(f"{name} = torch.tensor({numbers}).float()" for name, numbers in parts.items())
        inputs = [torch.tensor(part).float() for part in parts.values()]
        _expect_derivative(differentiate, inputs, given, OVERFLOW, _list_differences(*inputs))
    return "equal to the derivative by autograd, for five sets of sizes, and for very high scores"


def _expect_derivative(differentiate: Any, inputs: list[Tensor], given: str, hint: str, mistakes: Mistakes) -> None:
    (d,), v = inputs[0].shape, inputs[2].shape[1]
    found, expected = differentiate(*inputs), _differentiate(*inputs)
    for name, argument in zip(("query", "keys", "values"), inputs, strict=True):
        expect_unchanged(name, argument, argument, IN_PLACE, given=given)
    tensor = convert_tensor(found, expected)
    if v != d and tensor is not None and tensor.shape == (d, v):
        hint = "a row for each entry of the output, a column for each entry of the query"
        raise WrongAnswer("its shape is (v, d)", hint, given=given, expected=f"{(v, d)}", got=f"{(d, v)}")
    expect_close(
        found if tensor is None else tensor,
        expected,
        claim="it is the derivative of softmax(Kq/√d)ᵀV by q",
        given=given,
        hint=hint,
        mistakes=mistakes,
        tolerance=1e-3,
    )


def _differentiate(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    def pool(query: Tensor) -> Tensor:
        return F.softmax(keys @ query / math.sqrt(len(query)), 0) @ values

    jacobian: Tensor = torch.autograd.functional.jacobian(pool, query)
    return jacobian


def _list_differences(query: Tensor, keys: Tensor, values: Tensor) -> Mistakes:
    """What differences give instead of a derivative: to the right, to the left and to both sides, of several steps."""

    def pool(query: Tensor) -> Tensor:
        return F.softmax(keys @ query / math.sqrt(len(query)), 0) @ values

    found = []
    for step in (1e-1, 1e-2, 1e-3, 1e-4):
        moves = step * torch.eye(len(query))
        right, left = (torch.stack([pool(query + sign * move) for move in moves], dim=1) for sign in (1, -1))
        here = pool(query)[:, None]
        found += [(right - here) / step, (here - left) / step, (right - left) / (2 * step)]
    return {
        "a difference loses digits where the query is long: take it as a test, and write the formula": tuple(
            one for one in found if one.any()
        )
    }


def _list_wrong_derivatives(query: Tensor, keys: Tensor, values: Tensor) -> Mistakes:
    d, m = len(query), len(keys)
    weights = F.softmax(keys @ query / math.sqrt(d), 0)
    right = _differentiate(query, keys, values)
    unscaled = F.softmax(keys @ query, 0)
    even = (values - values.mean(0)).T @ (keys - keys.mean(0)) / m / math.sqrt(d)
    off_centre = (values * weights[:, None]).T @ (keys - keys.mean(0)) / math.sqrt(d)
    centred = (weights[:, None] * (values - values.mean(0))).T @ (keys - keys.mean(0)) / math.sqrt(d)
    moment = (values * weights[:, None]).T @ keys / math.sqrt(d)
    forgotten = (unscaled[:, None] * values).T @ (keys - unscaled @ keys)
    return {
        "0 throughout: which of your factors, or which sum, is 0? Print them one by one": 0 * right,
        "the score is divided by √d: where is this factor in the derivative?": right * math.sqrt(d),
        "the score is divided by √d, not by d": right / math.sqrt(d),
        "the factor √d is on the wrong side": right * d,
        "is the sum of the weights still 1 after the step? As one score grows, the other weights fall": moment,
        "that is what falls away: the product of the two means": torch.outer(weights @ values, weights @ keys),
        "which mean? The one with the weights of this query": (off_centre, centred),
        "the keys do not all weigh the same": even,
        "the sign: a key that fits the step gains weight": -right,
        "the derivative of a weight is not the weight itself": (weights[:, None] * values).T @ keys,
        "that is without the scale, in the softmax as well": forgotten,
        "the scale is missing in the softmax": forgotten / math.sqrt(d),
        "the scale is the root of the width d, not of the number of keys": right * math.sqrt(d / m),
        "the sign of the second part: as one score grows, the other weights fall": 2 * moment - right,
        "that is how a sample estimates it, from the sum of squared weights: correction=0 is for probabilities": (
            right / (1 - weights.square().sum())
        ),
        "a weight depends on the other keys' scores as well: what is the derivative of αi by sj?": (
            (values * (weights * (1 - weights))[:, None]).T @ keys / math.sqrt(d)
        ),
        "a row for each entry of the output, a column for each entry of the query": right.T,
    }
