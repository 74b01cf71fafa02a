"""Keys that a query may not see."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.pooling import masked_softmax
from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged


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
    _expect_best_hidden(pool)
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


def _expect_best_hidden(pool: Any) -> None:
    """A masked key whose score is far above the others: what it leaves for them is 0, and no penalty outweighs it."""
    queries, keys = torch.tensor([[60.0, 0, 0, 0]]), torch.tensor([[100.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    values, mask = torch.tensor([[1e30], [0], [-8]]), torch.tensor([[False, True, True]])
    expect_close(
        pool(queries, keys, values, mask),
        _pool(queries, keys, values, mask),
        claim="a masked key has no influence, however high its score is",
        given=f"queries {queries.int().tolist()}, keys {keys.int().tolist()}, values [[1e30], [0], [-8]], key 0 masked",
        hint="what is left for the others after the softmax? Mask before it; only minus infinity makes a weight 0",
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
    best = torch.tensor([[[0.0, 0, 200]], [[200, 0, 0]]])
    expect_close(
        function(best.clone(), lens.clone()),
        masked_softmax(best, lens),
        claim="a masked key has no influence, however high its score is",
        given=f"X {best.int().tolist()}, valid_lens [2, 3]",
        hint="what is left for the others after the softmax? Mask before it",
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
