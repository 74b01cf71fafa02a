"""How the output of a query moves with the query."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.exercises.convert import convert_tensor
from d2lmini.exercises.core import Mistakes, WrongAnswer, checker, expect_close, expect_function
from d2lmini.exercises.inputs import draw_inputs


@checker("query-gradient")
def check_query_gradient(differentiate: Any) -> str:
    """`differentiate(query, keys, values)`: the derivative of the output by the query, (v, d), from a formula."""
    expect_function(differentiate)
    for seed, m, d, v in ((1, 4, 7, 2), (2, 6, 3, 5), (5, 3, 5, 5)):
        inputs, given = draw_inputs(seed, query=(d,), keys=(m, d), values=(m, v))
        try:
            with torch.inference_mode():
                found = differentiate(*inputs)
        except RuntimeError as error:
            if "grad" not in str(error):
                raise
            hint = "write down the derivative yourself: no gradient is recorded here"
            raise WrongAnswer("it is a formula", hint, given=given, got=str(error).partition("\n")[0]) from error
        expected = _differentiate(*inputs)
        tensor = convert_tensor(found, expected)
        if v != d and tensor is not None and tensor.shape == (d, v):
            hint = "a row for each entry of the output, a column for each entry of the query"
            raise WrongAnswer("its shape is (v, d)", hint, given=given, expected=f"{(v, d)}", got=f"{(d, v)}")
        expect_close(
            found if tensor is None else tensor,
            expected,
            claim="it is the derivative of softmax(Kq/√d)ᵀV by q",
            given=given,
            hint="compare with a difference: move one entry of the query by 0.001 and look at the output",
            mistakes=_list_wrong_derivatives(*inputs),
            tolerance=1e-3,
        )
    return "equal to the derivative by autograd, for three sets of sizes"


def _differentiate(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    def pool(query: Tensor) -> Tensor:
        return F.softmax(keys @ query / math.sqrt(len(query)), 0) @ values

    jacobian: Tensor = torch.autograd.functional.jacobian(pool, query)
    return jacobian


def _list_wrong_derivatives(query: Tensor, keys: Tensor, values: Tensor) -> Mistakes:
    d, m = len(query), len(keys)
    weights = F.softmax(keys @ query / math.sqrt(d), 0)
    right = _differentiate(query, keys, values)
    unscaled = F.softmax(keys @ query, 0)
    even = (values - values.mean(0)).T @ (keys - keys.mean(0)) / m / math.sqrt(d)
    off_centre = (values * weights[:, None]).T @ (keys - keys.mean(0)) / math.sqrt(d)
    centred = (weights[:, None] * (values - values.mean(0))).T @ (keys - keys.mean(0)) / math.sqrt(d)
    forgotten = (unscaled[:, None] * values).T @ (keys - unscaled @ keys)
    return {
        "0 throughout: do you ask autograd? It records nothing here. Write down the derivative yourself": 0 * right,
        "the score is divided by √d: where is this factor in the derivative?": right * math.sqrt(d),
        "the score is divided by √d, not by d": right / math.sqrt(d),
        "the factor √d is on the wrong side": right * d,
        "is the sum of the weights still 1 after the step? As one score grows, the other weights fall": (
            (values * weights[:, None]).T @ keys / math.sqrt(d)
        ),
        "that is what falls away: the product of the two means": torch.outer(weights @ values, weights @ keys),
        "which mean? The one with the weights of this query": (off_centre, centred),
        "the keys do not all weigh the same": even,
        "the sign: a key that fits the step gains weight": -right,
        "the derivative of a weight is not the weight itself": (weights[:, None] * values).T @ keys,
        "that is without the scale, in the softmax as well": (forgotten, forgotten / math.sqrt(d)),
        "a row for each entry of the output, a column for each entry of the query": right.T,
    }
