"""Heads of a batch whose first dimension are the tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.core import checker, expect_close, expect_function
from d2lmini_exercises.extremes import LOW, OUTWEIGHED, OVERFLOW
from d2lmini_exercises.inputs import draw_inputs

_PIECES = "which numbers does row 0 of the batch hold after the split?"
_BACK = "the split is right, but the way back is not: where does the number of tokens stand?"
_LENS = "which example and which head is row 1 of your batch, and which length does it get?"


@checker("debug-multi-head")
def check_debug_attend(function: Any) -> str:
    """`heads(Q, K, V, valid_lens, num_heads)`, tokens first, freed of its faults."""
    expect_function(function)
    _expect_heads(function, 1, (4, 5, 6, 2), 3, torch.tensor([1, 5, 3]))
    _expect_split(function)
    _expect_heads(function, 2, (4, 5, 15, 3), 2, torch.tensor([5, 2]))
    _expect_heads(function, 4, (2, 7, 8, 2), 3, torch.tensor([3, 1, 6]))
    _expect_extreme_scores(function)
    return "split, join, scale and lengths are right, for three sets of sizes, and for very high and very low scores"


def _split(X: Tensor, h: int) -> Tensor:
    """(n, b, d) to (b h, n, d / h): row e h + i is example e in head i."""
    n, b, d = X.shape
    return X.reshape(n, b * h, d // h).transpose(0, 1)


def _join(X: Tensor, h: int) -> Tensor:
    bh, n, p = X.shape
    return X.transpose(0, 1).reshape(n, bh // h, h * p)


def _split_by_reshape(X: Tensor, h: int) -> Tensor:
    n, b, d = X.shape
    return X.reshape(b * h, n, d // h)


def _join_by_reshape(X: Tensor, h: int) -> Tensor:
    bh, n, p = X.shape
    return X.reshape(n, bh // h, h * p)


def _attend(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    lens: Tensor,
    h: int,
    *,
    split: Callable[[Tensor, int], Tensor] = _split,
    split_values: Callable[[Tensor, int], Tensor] = _split,
    join: Callable[[Tensor, int], Tensor] = _join,
    divisor: float | None = None,
) -> Tensor:
    """The concatenated heads, right unless told otherwise; `lens` has a length for each row of the split batch."""
    queries, keys, values = split(Q, h), split(K, h), split_values(V, h)
    scores = queries @ keys.mT / (math.sqrt(queries.shape[2]) if divisor is None else divisor)
    return join(masked_softmax(scores, lens) @ values, h)


def _expect_heads(function: Any, seed: int, sizes: tuple[int, ...], b: int, lens: Tensor) -> None:
    n, m, d, h = sizes
    (Q, K, V), code = draw_inputs(seed, Q=(n, b, d), K=(m, b, d), V=(m, b, d))
    expect_close(
        function(Q, K, V, lens, h),
        _attend(Q, K, V, lens.repeat_interleave(h), h),
        claim="each head is scaled dot-product attention over the valid keys",
        given=f"{code}; valid_lens = torch.tensor({lens.tolist()}); num_heads = {h}",
        hint="keep what worked: compare with a loop over examples and heads",
        mistakes=_list_wrong_heads(Q, K, V, lens, h),
    )


def _list_wrong_heads(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> dict[str, Any]:
    right = lens.repeat_interleave(h)

    def attend(lens: Tensor = right, **changes: Any) -> Tensor:
        return _attend(Q, K, V, lens, h, **changes)

    there: dict[str, Any] = {"split": _split_by_reshape, "split_values": _split_by_reshape}
    mixed: dict[str, Any] = {**there, "join": _join_by_reshape}
    root: dict[str, Any] = {"divisor": math.sqrt(Q.shape[2])}
    other_order = lens.repeat(h)
    # the heads outside, and lengths in the other order
    outside = right.reshape(h, len(lens)).T.flatten()
    return {
        f"{_PIECES} And is that all? Scale and lengths come next": attend(other_order, **mixed, **root),
        f"{_PIECES} They come from other examples and other heads": attend(**mixed),
        f"{_PIECES} The scale is not right yet, either": attend(**mixed, **root),
        f"{_PIECES} The lengths are not right yet, either": attend(other_order, **mixed),
        f"{_PIECES} The way back has a transpose, the way there has none": attend(**there),
        _BACK: attend(join=_join_by_reshape),
        f"{_BACK} And is that all? Scale and lengths come next": attend(other_order, join=_join_by_reshape, **root),
        f"{_BACK} The scale is not right yet, either": attend(join=_join_by_reshape, **root),
        f"{_BACK} The lengths are not right yet, either": attend(other_order, join=_join_by_reshape),
        f"{_PIECES} V is right, but Q and K are not": attend(split=_split_by_reshape),
        f"{_PIECES} V is right, but Q and K are not, and neither is the scale": attend(split=_split_by_reshape, **root),
        "the scores are not scaled": attend(divisor=1.0),
        "how long is the dot product in one head? Its root divides the scores": attend(**root),
        f"how long is the dot product in one head? And then: {_LENS}": attend(other_order, **root),
        _LENS: (attend(other_order), attend(outside)),
        "the valid lengths are not used": attend(torch.full_like(right, K.shape[0])),
        "each example has a length of its own": tuple(attend(lens[i].expand(len(right))) for i in (0, -1)),
    }


def _expect_split(function: Any) -> None:
    """With equal scores a head returns the means of its columns: only split and join matter."""
    zeros, V = torch.zeros(3, 2, 4), torch.arange(24.0).reshape(3, 2, 4)
    lens = torch.tensor([3, 3])
    expect_close(
        function(zeros, zeros, V, lens, 2),
        V.mean(0).expand(3, 2, 4),
        claim="with scores of 0 each column is averaged over the tokens",
        given="Q = K = torch.zeros(3, 2, 4); V = torch.arange(24.0).reshape(3, 2, 4); "
        "valid_lens = torch.tensor([3, 3]); num_heads = 2",
        hint="which numbers are averaged in each head? Print V after the split",
    )


def _expect_extreme_scores(function: Any) -> None:
    """In each head scores of up to 2**120 that are shown, or hidden, and scores that are as far below 0."""
    V = torch.tensor([[[1.0, 2, 3, 4]] * 2, [[5, 6, 7, 8]] * 2, [[9, 9, 9, 9]] * 2])
    for high, lens, hint in (
        # for each of three tokens: the keys of two examples
        ([[2, 1], [1, 2], [0, 0]], [3, 2], OVERFLOW),
        ([[0, 0], [0, 3], [3, 3]], [2, 1], OUTWEIGHED),
        ([[-1, -1], [-2, -1], [-2, -1]], [2, 1], LOW),
    ):
        Q, K = 2.0**60 * torch.ones(1, 2, 4), 2.0**60 * torch.tensor(high)[:, :, None].expand(3, 2, 4)
        own = torch.tensor(lens)
        expect_close(
            function(Q, K, V, own, 2),
            _attend(Q, K, V, own.repeat_interleave(2), 2),
            claim="a padded key has no influence, whatever the scores",
            given=f"Q = 2.0**60 * torch.ones(1, 2, 4); K = 2.0**60 * torch.tensor({high})[:, :, None].expand(3, 2, 4); "
            f"V = torch.tensor({V.int().tolist()}).float(); valid_lens = torch.tensor({lens}); num_heads = 2",
            hint=hint,
        )
