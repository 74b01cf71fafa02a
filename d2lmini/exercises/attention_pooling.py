"""Checkers of the chapter "Attention pooling"."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.pooling import masked_softmax
from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged, read_number
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


@checker("masked-pooling")
def check_masked_pooling(pool: Any) -> str:
    """`pool(queries, keys, values, mask)`: scaled dot-product pooling with a boolean mask."""
    expect_function(pool)
    queries = torch.tensor([[2.0, 0, 0, 0], [0, 2, 2, 0]])
    keys = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0]])
    values = torch.tensor([[8.0], [0], [-8]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    given = f"queries {queries.int().tolist()}, keys {keys.int().tolist()}, values {values.int().tolist()}"
    everything = torch.ones_like(mask)
    expect_close(
        pool(queries.clone(), keys.clone(), values.clone(), everything),
        _pool(queries, keys, values, everything),
        claim="without a masked key it is softmax(QKᵀ/√d) V",
        given=f"{given}, nothing masked",
        hint="compute scores, scale, weights and mixture one by one and print each",
        mistakes=_pooling_mistakes(queries, keys, values),
    )
    expect_close(
        pool(queries.clone(), keys.clone(), values.clone(), mask.clone()),
        _pool(queries, keys, values, mask),
        claim="a masked key has no influence, and the weights of the others add up to 1",
        given=f"{given}, mask {mask.int().tolist()}",
        hint="what must the score of a masked key be for its weight to become 0?",
        mistakes=_masking_mistakes(queries, keys, values, mask),
    )
    _expect_any_size(pool)
    arguments = [queries.clone(), keys.clone(), values.clone(), mask.clone()]
    pool(*arguments)
    hint = "an operation that ends in _ works in place, and so do /= and x[...] = y"
    for name, now, before in zip(
        ("queries", "keys", "values", "mask"), arguments, (queries, keys, values, mask), strict=True
    ):
        expect_unchanged(name, now, before, hint)
    return "softmax over the keys, scaled by √d, masked before the softmax, arguments unchanged"


def _pool(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    scores = queries @ keys.T / math.sqrt(queries.shape[1])
    return F.softmax(scores.masked_fill(~mask, -math.inf), -1) @ values


def _expect_any_size(pool: Any) -> None:
    """Other sizes, and scores so low that a masked key must have minus infinity."""
    queries = torch.tensor([[-900.0] * 9, [-901] + [-900] * 8])
    keys = torch.stack([torch.full((9,), 10.0 + i / 9000) for i in range(5)])
    values = torch.arange(15.0).reshape(5, 3)
    mask = torch.tensor([[True, False, True, False, True], [False, True, True, False, False]])
    expect_close(
        pool(queries.clone(), keys.clone(), values.clone(), mask.clone()),
        _pool(queries, keys, values, mask),
        claim="it works for other sizes, and for very low scores",
        given="2 queries and 5 keys of width 9, values of width 3, all scores near -27000",
        hint="does a number in your code stand for a size of the first example?",
        mistakes={
            "your score of a masked key is not below every other score": torch.stack(
                [values[~row].mean(0) for row in mask]
            ),
        },
        tolerance=0.05,
    )


def _pooling_mistakes(queries: Tensor, keys: Tensor, values: Tensor) -> dict[str, Tensor]:
    scores = queries @ keys.T
    d, num_keys = queries.shape[1], len(keys)
    return {
        "what must one query's weights add up to? Here each key's do": F.softmax(scores / math.sqrt(d), 0) @ values,
        "what is the spread of a sum of d products? You divide by d": F.softmax(scores / d, -1) @ values,
        "what is the spread of a sum of d products? You count the keys": F.softmax(scores / math.sqrt(num_keys), -1)
        @ values,
        "the scores are not scaled": F.softmax(scores, -1) @ values,
        "the scale divides: you multiply by √d": F.softmax(scores * math.sqrt(d), -1) @ values,
        "scores are not yet weights: where is the softmax?": scores / math.sqrt(d) @ values,
        "True means may attend: your mask works the other way round": torch.zeros(len(queries), values.shape[1]),
        "NaN: is your mask the wrong way round (True means may attend)? Or do you multiply 0 by infinity?": torch.full(
            (len(queries), values.shape[1]), math.nan
        ),
    }


def _masking_mistakes(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> dict[str, Tensor]:
    scores = queries @ keys.T / math.sqrt(queries.shape[1])
    return {
        "rows now sum to less than 1: mask the scores, not the weights": F.softmax(scores, -1) * mask @ values,
        "e⁰ is 1: a score of 0 still gets a weight": F.softmax(scores * mask, -1) @ values,
        "the mask is not used": F.softmax(scores, -1) @ values,
    }


@checker("debug-masked-softmax")
def check_debug_masked_softmax(function: Any) -> str:
    """`masked_softmax(X, valid_lens)` freed of its faults; each shows on an input of its own."""
    expect_function(function)
    X = torch.tensor([[[0.0, 1, 2], [1, 0, 0]], [[2, 0, 1], [0, 2, 2]]])
    lens = torch.tensor([2, 3])
    expect_close(
        function(X.clone(), lens.clone()),
        masked_softmax(X, lens),
        claim="it is a softmax over the first valid_lens keys",
        given=f"X {X.tolist()}, valid_lens [2, 3]",
        hint="keep what worked: compare with the function you started from on this input",
    )
    argument = X.clone()
    function(argument, lens.clone())
    hint = "call it twice on one tensor, with other lengths: what ends in _ writes into the caller's scores"
    expect_unchanged("X", argument, X, hint, given=f"X {X.tolist()}")
    low = X - 3e6
    expect_close(
        function(low.clone(), lens.clone()),
        masked_softmax(low, lens),
        claim="a masked key has weight 0, however low the other scores are",
        given="X lowered by 3 000 000",
        hint="your fill value now is the largest score: which number is below every score?",
    )
    _expect_empty_row(function, X)
    _expect_half(function, X.half(), lens)
    return "right weights, argument unchanged, very low scores, empty rows and their gradient, float16"


def _expect_empty_row(function: Any, X: Tensor) -> None:
    """Weights 0 for a query without keys, and a gradient."""
    lens = torch.tensor([0, 3])
    expect_close(
        function(X.clone(), lens.clone()),
        masked_softmax(X, lens),
        claim="a query that may attend to nothing gets weights 0",
        given="valid_lens [0, 3]",
        hint="compare each row's sum with the number of keys it may see",
        mistakes={
            "0 divided by 0: a row of -inf has no softmax, so treat it apart": _fill_row(X, math.nan),
            "the row has no key, yet its weights add up to 1": _fill_row(X, 1 / 3),
        },
    )
    leaf = X.clone().requires_grad_()
    weights = function(leaf.clone(), lens.clone())
    try:
        weights.square().sum().backward()
    except RuntimeError as error:
        hint = "do not write into what the softmax returned: PyTorch needs it for the gradient"
        raise WrongAnswer("its gradient can be computed", hint, got=str(error).partition(":")[0]) from error
    if leaf.grad is None or not leaf.grad.isfinite().all():
        hint = "replacing NaN afterwards does not mend the gradient: let no row of -inf reach the softmax"
        raise WrongAnswer("the gradient is free of NaN", hint, given="valid_lens [0, 3]", got=leaf.grad)


def _expect_half(function: Any, X: Tensor, lens: Tensor) -> None:
    too_large = "a constant such as -1e6 does not fit into float16, -inf does"
    try:
        weights = function(X.clone(), lens.clone())
    except RuntimeError as error:
        raise WrongAnswer("it works in float16", too_large, given="X in float16", got="an error") from error
    expect_close(
        weights,
        masked_softmax(X, lens),
        claim="it works in float16",
        given="X in float16",
        hint=too_large,
        tolerance=2e-3,
    )
    if weights.dtype != torch.float16:
        raise WrongAnswer("the weights have the dtype of X", "cast them back", expected=X.dtype, got=weights.dtype)


def _fill_row(X: Tensor, number: float) -> Tensor:
    """The weights of example 1, and this number in place of those of example 0."""
    weights = masked_softmax(X, torch.tensor([3, 3]))
    weights[0] = number
    return weights


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
    query_a, query_b, keys = (torch.as_tensor(part, dtype=torch.float64) for part in answer)
    if query_a.dim() != 1 or query_a.shape != query_b.shape or keys.dim() != 2 or keys.shape[1:] != query_a.shape:
        raise WrongAnswer(
            "the shapes are (d,), (d,) and (keys, d)",
            "two queries and a few keys, all of one width",
            got=f"{tuple(query_a.shape)}, {tuple(query_b.shape)}, {tuple(keys.shape)}",
        )
    if not all(part.isfinite().all() for part in (query_a, query_b, keys)):
        raise WrongAnswer("all numbers are finite", "with infinite scores there are no weights")
    if 0 in (query_a.norm(), query_b.norm()):
        raise WrongAnswer("both queries have a direction", "the zero vector has none", got=[query_a, query_b])
    directions = [query / query.norm() for query in (query_a, query_b)]
    if (directions[0] - directions[1]).norm() > 1e-6:
        opposite = (directions[0] + directions[1]).norm() < 1e-6
        hint = "the opposite direction is another one" if opposite else "multiply one query by a number"
        raise WrongAnswer("both queries have the same direction", hint, given="their directions", got=directions)
    weights = [F.softmax(keys @ query / math.sqrt(len(query)), 0) for query in (query_a, query_b)]
    difference = (weights[0] - weights[1]).abs().max().item()
    if not difference >= 0.2:
        hint = "are all scores equal, or both queries equally long? Then the norm changes nothing"
        if difference > 1e-3:
            hint = "the idea is right: make the difference larger, with a much longer query"
        raise WrongAnswer("some weight differs by 0.2 or more", hint, given="the weights of both queries", got=weights)
    return "same direction, different weights: the norm of a query matters"
