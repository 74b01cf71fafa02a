"""Checkers of the chapter "Attention pooling"."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention import masked_softmax
from d2lmini.checks.core import WrongAnswer, checker, expect_close, expect_number, numbers


@checker("predict-mixture")
def check_predict_mixture(answer: Any) -> str:
    """Scores 0, ln 2, 2 ln 2; values 0, 7, 14: the output for beta = 1, 2 and 0."""
    plain, doubled, zero = numbers(answer, 3)
    best = "that is the value of the best key alone. Which weight does a score of 0 get? e⁰ is 1, not 0"
    expect_number(
        "the output for β = 1",
        plain,
        10.0,
        mistakes={
            14.0: best,
            7.0: "that is the plain mean: it needs equal scores",
            35 / 3: "scores are not yet weights: take e to each of them first",
            70.0: "these weights add up to 7: what must a query's weights add up to?",
        },
        hint="take e to each score, divide by the sum, then mix the values",
    )
    expect_number(
        "the output for β = 2",
        doubled,
        12.0,
        mistakes={
            14.0: "the best key alone answers only in the limit: what is the ratio of two weights at β = 2?",
            10.0: "β multiplies the scores: what is e to the power of 2·ln 2?",
            20.0: "β multiplies the scores, not the output",
            7 * (math.sqrt(2) + 4) / (3 + math.sqrt(2)): "a larger β is harder, not softer: try β = 0",
        },
        hint="multiply the scores by 2 and go through the softmax again",
    )
    expect_number(
        "the output for β = 0",
        zero,
        7.0,
        mistakes={
            0.0: "all scores become 0, and e⁰ is 1: the weights are not 0",
            14.0: "a larger β is harder, not softer: with β = 0 all scores are equal",
        },
        hint="with β = 0 all scores are equal: what are the weights?",
    )
    return "all three mixtures are right"


@checker("masked-pooling")
def check_masked_pooling(pool: Any) -> str:
    """``pool(queries, keys, values, mask)``: scaled dot-product pooling with a boolean mask."""
    queries = torch.tensor([[2.0, 0, 0, 0], [0, 2, 2, 0]])
    keys = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0]])
    values = torch.tensor([[8.0], [0], [-8]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    given = f"queries {queries.int().tolist()}, keys {keys.int().tolist()}, values {values.int().tolist()}"
    everything = torch.ones_like(mask)
    expect_close(
        pool(queries.clone(), keys.clone(), values.clone(), everything),
        F.softmax(queries @ keys.T / 2, -1) @ values,
        claim="without a masked key it is softmax(QKᵀ/√d) V",
        given=f"{given}, nothing masked",
        hint="compute scores, scale, weights and mixture one by one and print each",
        mistakes=_pooling_mistakes(queries, keys, values),
    )
    expect_close(
        pool(queries.clone(), keys.clone(), values.clone(), mask.clone()),
        F.softmax((queries @ keys.T / 2).masked_fill(~mask, -math.inf), -1) @ values,
        claim="a masked key has no influence, and the weights of the others add up to 1",
        given=f"{given}, mask {mask.int().tolist()}",
        hint="what must the score of a masked key be for its weight to become 0?",
        mistakes=_masking_mistakes(queries, keys, values, mask),
    )
    arguments = [queries.clone(), keys.clone(), values.clone(), mask.clone()]
    pool(*arguments)
    for name, before, after in zip(
        ("queries", "keys", "values", "mask"), (queries, keys, values, mask), arguments, strict=True
    ):
        if not torch.equal(before, after):
            raise WrongAnswer(
                f"the argument {name} is left unchanged", "an operation that ends in _ works in place", got=after
            )
    return "softmax over the keys, scaled by √d, masked before the softmax, arguments unchanged"


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
        "with nothing masked this divides 0 by 0: True means may attend": torch.full(
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
    """``masked_softmax(X, valid_lens)`` freed of its faults; each shows on an input of its own."""
    X = torch.tensor([[[0.0, 1.0, 2.0]], [[2.0, 0.0, 1.0]]])
    lens = torch.tensor([2, 3])
    expect_close(
        function(X.clone(), lens),
        masked_softmax(X, lens),
        claim="it is a softmax over the first valid_lens keys",
        given=f"X {X.tolist()}, valid_lens [2, 3]",
        hint="keep what worked: compare with the function you started from on this input",
    )
    argument = X.clone()
    function(argument, lens)
    if not torch.equal(argument, X):
        raise WrongAnswer(
            "the argument X is left unchanged",
            "call it twice on one tensor, with other lengths: what ends in _ writes into the caller's scores",
            given=f"X {X.tolist()}",
            got=argument,
        )
    low = X - 3e6
    expect_close(
        function(low.clone(), lens),
        masked_softmax(low, lens),
        claim="a masked key has weight 0, however low the other scores are",
        given="X lowered by 3 000 000",
        hint="your fill value now is the largest score: which number is below every score?",
    )
    empty = function(X.clone(), torch.tensor([0, 3]))
    expect_close(
        empty,
        masked_softmax(X, torch.tensor([0, 3])),
        claim="a query that may attend to nothing gets weights 0",
        given="valid_lens [0, 3]",
        hint="compare each row's sum with the number of keys it may see",
        mistakes={
            "0 divided by 0: a row of -inf has no softmax, so treat it apart": _with_row(X, math.nan),
            "the row has no key, yet its weights add up to 1": _with_row(X, 1 / 3),
        },
    )
    too_large = "a constant such as -1e6 does not fit into float16, -inf does"
    try:
        half = function(X.half(), lens)
    except RuntimeError as error:
        raise WrongAnswer("it works in float16", too_large, given="X in float16", got=error) from error
    expect_close(
        half,
        masked_softmax(X.half(), lens),
        claim="it works in float16",
        given="X in float16",
        hint=too_large,
        tolerance=2e-3,
    )
    return "right weights, argument unchanged, very low scores, empty rows and float16"


def _with_row(X: Tensor, number: float) -> Tensor:
    weights = masked_softmax(X, torch.tensor([3, 3]))
    weights[0] = number
    return weights


@checker("measure-saturation")
def check_measure_saturation(measure: Any) -> str:
    """``measure(d, scale)``: median over queries of the largest of 64 weights, for standard normal vectors."""
    for d, scale in ((16, 0.25), (64, 1.0), (256, 1 / 16)):
        got = measure(d, scale)
        if isinstance(got, Tensor) and got.numel() == 1:
            got = got.item()
        if not isinstance(got, (int, float)):
            raise WrongAnswer("it returns one number", "take the median over the queries", got=repr(got))
        hints = _saturation_mistakes(d, scale)
        expected = hints.pop("")
        if abs(got - expected) <= 0.03:
            continue
        near = min(hints, key=lambda hint: abs(hints[hint] - got))
        hint = near if abs(hints[near] - got) <= 0.03 else "print the shapes: one softmax over 64 keys for each query"
        raise WrongAnswer(
            "it measures the median over the queries of the largest weight",
            hint,
            given=f"d = {d}, scale = {scale:.4g} (yours should be within 0.03)",
            expected=round(expected, 2),
            got=round(got, 4),
        )
    return "agrees with our own measurement at d = 16, 64 and 256"


def _saturation_mistakes(d: int, scale: float) -> dict[str, float]:
    """What well-known mistakes would measure, by hint; the right measurement has the empty hint."""
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(4000, 1, d, generator=generator)
    keys = torch.randn(4000, 64, d, generator=generator)
    scores = (queries * keys).sum(-1)
    top = F.softmax(scores * scale, -1).amax(-1)
    return {
        "": top.median().item(),
        "the mean mixes a few ties with many saturated queries: take the median": top.mean().item(),
        "the scale is not used": F.softmax(scores, -1).amax(-1).median().item(),
        "the scale multiplies the scores: you divide": F.softmax(scores / scale, -1).amax(-1).median().item(),
        "one query's weights add up to 1 over its keys": F.softmax(scores * scale, 0).amax(-1).median().item(),
        "that is the median of all weights: take each query's largest first": F.softmax(scores * scale, -1)
        .median()
        .item(),
    }


@checker("direction-only")
def check_direction_only(answer: Any) -> str:
    """Two queries of one direction and keys on which their weights differ."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 3 or not all(isinstance(a, Tensor) for a in answer):
        raise WrongAnswer("the answer is three tensors (query_a, query_b, keys)", "look at the starter's form")
    query_a, query_b, keys = (part.double() for part in answer)
    if query_a.dim() != 1 or query_a.shape != query_b.shape or keys.dim() != 2 or keys.shape[1:] != query_a.shape:
        raise WrongAnswer(
            "the shapes are (d,), (d,) and (keys, d)",
            "two queries and a few keys, all of one width",
            got=f"{tuple(query_a.shape)}, {tuple(query_b.shape)}, {tuple(keys.shape)}",
        )
    if not all(part.isfinite().all() for part in (query_a, query_b, keys)) or 0 in (query_a.norm(), query_b.norm()):
        raise WrongAnswer("both queries have a direction", "the zero vector has none", got=[query_a, query_b])
    cosine = F.cosine_similarity(query_a, query_b, dim=0).item()
    if cosine < 1 - 1e-6:
        hint = "the opposite direction is another one" if cosine < -1 + 1e-6 else "multiply one query by a number"
        raise WrongAnswer("both queries have the same direction", hint, given="their cosine", expected=1.0, got=cosine)
    weights = [F.softmax(keys @ query / math.sqrt(len(query)), 0) for query in (query_a, query_b)]
    if (weights[0] - weights[1]).abs().max() < 0.2:
        raise WrongAnswer(
            "some weight differs by 0.2 or more",
            "with equal scores the norm changes nothing: are your scores equal, or your queries of equal length?",
            given="the weights of both queries",
            got=weights,
        )
    return "same direction, different weights: the norm of a query matters"
