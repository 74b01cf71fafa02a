"""What a layer with several heads computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.heads import transpose_output, transpose_qkv
from d2lmini.attention.pooling import masked_softmax
from d2lmini.exercises.core import checker, expect_close, expect_function
from d2lmini.exercises.prediction import Number, prediction

# A layer with d = 512 and h = 8: divisor of the scores, parameters, FLOPs relative to one head.
prediction(
    "predict-heads",
    Number(
        "the divisor of the scores",
        8.0,
        hint="a score is a sum of as many products as a head is wide",
        mistakes={
            "how long is the dot product in one head?": math.sqrt(512),
            "that is the width of a head: what is the spread of a sum of that many products?": 64.0,
            "that is the root of the number of heads: how wide is one of them?": math.sqrt(8),
            "that is the width of all heads together, and the root is missing": 512.0,
        },
    ),
    Number(
        "the number of parameters",
        4 * 512**2,
        hint="count the matrices, and the rows and columns of each",
        mistakes={
            "and after the concatenation?": 3 * 512**2,
            "how wide is one head? Its matrices are not 512 × 512": (4 * 8 * 512**2, (3 * 8 + 1) * 512**2),
            "that is one head: there are eight": 4 * 512**2 / 8,
            "that is one head without W_o: there are eight": 3 * 512**2 / 8,
            "this layer has no biases": 4 * 512**2 + 4 * 512,
            "that is one of the projections": 512**2,
        },
    ),
    Number(
        "the ratio of FLOPs",
        1.0,
        hint="the sources of FLOPs are the projections and the pooling: what do eight narrow heads add up to?",
        mistakes={
            "width per head?": 8.0,
            "one head is an eighth of it, but there are eight of them": 1 / 8,
            "the number of heads enters once, and the width of a head goes down with it": 64.0,
        },
    ),
    right="divisor, parameters and FLOPs are right",
)


@checker("multi-head-attention")
def check_multi_head_attention(attend: Any) -> str:
    """`attend(X, W_q, W_k, W_v, W_o, num_heads)`: multi-head self-attention of a batch."""
    expect_function(attend)
    for b, n, d, num_heads in ((2, 3, 6, 2), (2, 3, 4, 1), (3, 5, 12, 3)):
        X = torch.randn(b, n, d)
        Ws = [torch.randn(d, d) for _ in range(4)]
        expect_close(
            attend(X, *Ws, num_heads),
            _attend(X, Ws, num_heads),
            claim="it is W_o [h_1; ...; h_h] with softmax attention in each head",
            given=f"random X of shape {(b, n, d)}, random matrices, num_heads {num_heads}",
            hint="compare with the loop over the heads, step by step",
            mistakes=_list_wrong_outputs(X, Ws, num_heads),
            tolerance=1e-3,
        )
    return "right for one, two and three heads"


def _split_by_reshape(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] * num_heads, X.shape[1], -1)


def _join_by_reshape(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] // num_heads, X.shape[1], -1)


def _split_every_column(X: Tensor, num_heads: int) -> Tensor:
    return transpose_qkv(X.unflatten(2, (-1, num_heads)).transpose(2, 3).flatten(2), num_heads)


def _attend_in_heads(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    num_heads: int,
    *,
    lens: Tensor | None = None,
    split: Callable[[Tensor, int], Tensor] = transpose_qkv,
    join: Callable[[Tensor, int], Tensor] = transpose_output,
    divisor: float | None = None,
    dim: int = 2,
) -> Tensor:
    """The concatenated heads of projected queries, keys and values, right unless told otherwise.

    `lens` has a length for each row of the split batch.
    """
    queries, keys, values = (split(part, num_heads) for part in (Q, K, V))
    scores = queries @ keys.mT / (math.sqrt(queries.shape[2]) if divisor is None else divisor)
    weights = F.softmax(scores, dim) if lens is None else masked_softmax(scores, lens)
    return join(weights @ values, num_heads)


def _attend(X: Tensor, Ws: list[Tensor], num_heads: int, **changes: Any) -> Tensor:
    """Multi-head self-attention with W_q, W_k, W_v and W_o; `changes` as in `_attend_in_heads`."""
    Q, K, V = (X @ W.T for W in Ws[:3])
    return _attend_in_heads(Q, K, V, num_heads, **changes) @ Ws[3].T


def _list_wrong_outputs(X: Tensor, Ws: list[Tensor], h: int) -> dict[str, Tensor]:
    """What well-known mistakes give, by hint."""
    d = X.shape[2]

    def mean(X: Tensor, num_heads: int) -> Tensor:
        return X.unflatten(0, (-1, num_heads)).mean(1).repeat(1, 1, num_heads)

    def total(X: Tensor, num_heads: int) -> Tensor:
        return num_heads * mean(X, num_heads)

    pieces = "which tokens own head 0's rows? Cut each token into heads, then transpose"
    back = "the way back needs a transpose, too: the heads of one token belong next to each other"
    return {
        "the scores are not scaled": _attend(X, Ws, h, divisor=1.0),
        "what must one query's weights add up to? The softmax goes over the keys": _attend(X, Ws, h, dim=1),
        "a score is a sum of d/h products: you divide by d/h, not by its root": _attend(X, Ws, h, divisor=d / h),
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W": _attend(X, [W.T for W in Ws], h),
        "W_q, W_k and W_v are applied as XWᵀ: you transposed W_o only": _attend(X, [*(W.T for W in Ws[:3]), Ws[3]], h),
        "who asks, and who is asked? You swapped W_q and W_k": _attend(X, [Ws[1], Ws[0], *Ws[2:]], h),
        "that is one head: num_heads is not used": _attend(X, Ws, 1) if h > 1 else torch.full_like(X, math.nan),
        "where is W_o?": _attend(X, [*Ws[:3], torch.eye(d)], h),
        "W_o is applied as XWᵀ, too": _attend(X, [*Ws[:3], Ws[3].T], h),
        "how long is the dot product in one head? You divide by the root of d": _attend(X, Ws, h, divisor=d**0.5),
        pieces: _attend(X, Ws, h, split=_split_by_reshape, join=_join_by_reshape),
        f"{pieces} - on the way there": _attend(X, Ws, h, split=_split_by_reshape),
        back: _attend(X, Ws, h, join=_join_by_reshape),
        "a head owns d/h neighbouring columns, not every h-th column": _attend(X, Ws, h, split=_split_every_column),
        "what is the width before W_o? The heads are concatenated, not averaged": _attend(X, Ws, h, join=mean),
        "what is the width before W_o? The heads are concatenated, not summed": _attend(X, Ws, h, join=total),
    }


_PIECES = "which tokens own head 0's rows?"


@checker("debug-multi-head")
def check_debug_attend(function: Any) -> str:
    """`heads(Q, K, V, valid_lens, num_heads)` freed of its faults; each shows on an input of its own."""
    expect_function(function)
    _expect_split(function)
    for b, n, m, d, h in ((1, 2, 3, 4, 2), (2, 3, 4, 12, 3)):
        Q, K, V = (torch.randn(b, steps, d) for steps in (n, m, m))
        lens = torch.tensor([2, 1][:b])
        right = lens.repeat_interleave(h)
        mixed_q, mixed_k = (transpose_output(_split_by_reshape(part, h), h) for part in (Q, K))
        expect_close(
            function(Q.clone(), K.clone(), V.clone(), lens.clone(), h),
            _attend_in_heads(Q, K, V, h, lens=right),
            claim="each head is scaled dot-product attention over the valid keys",
            given=f"random Q {(b, n, d)}, K and V {(b, m, d)}, valid_lens {lens.tolist()}, num_heads {h}",
            hint="keep what worked: compare with a loop over the heads",
            mistakes={
                "the scores are not scaled": _attend_in_heads(Q, K, V, h, lens=right, divisor=1.0),
                "how long is the dot product in one head? Its root divides the scores": _attend_in_heads(
                    Q, K, V, h, lens=right, divisor=math.sqrt(d)
                ),
                "row 1 of the batch is example 0 in head 1: which length does it get?": _attend_in_heads(
                    Q, K, V, h, lens=lens.repeat(h)
                ),
                "the valid lengths are not used": _attend_in_heads(Q, K, V, h),
                "each example has a length of its own": _attend_in_heads(Q, K, V, h, lens=torch.full_like(right, 2)),
                f"{_PIECES} V is right, but Q and K are not, and neither is the scale": _attend_in_heads(
                    mixed_q, mixed_k, V, h, lens=right, divisor=math.sqrt(d)
                ),
                f"{_PIECES} V is right, but Q and K are not": _attend_in_heads(mixed_q, mixed_k, V, h, lens=right),
            },
        )
    return "split, join, scale and lengths are right"


def _expect_split(function: Any) -> None:
    """With equal scores a head returns the means of its columns: only split and join matter."""
    zeros = torch.zeros(1, 2, 4)
    V = torch.tensor([[[1.0, 2, 3, 4], [5, 6, 7, 8]]])
    everything = torch.tensor([2])
    expect_close(
        function(zeros, zeros.clone(), V.clone(), everything, 2),
        V.mean(1, keepdim=True).expand(1, 2, 4),
        claim="with scores of 0 each column is averaged over the tokens",
        given=f"Q and K zero, V {V.int().tolist()}, num_heads 2",
        hint="which numbers are averaged in each head? Print V after the split",
        mistakes={
            f"{_PIECES} They are pieces of one token": _join_by_reshape(
                _split_by_reshape(V, 2).mean(1, keepdim=True).expand(2, 2, 2), 2
            ),
            "the split is right, but the way back is not: the heads of one token belong together": _join_by_reshape(
                transpose_qkv(V, 2).mean(1, keepdim=True).expand(2, 2, 2), 2
            ),
            f"{_PIECES} The way back has a transpose, the way there has none": transpose_output(
                _split_by_reshape(V, 2).mean(1, keepdim=True).expand(2, 2, 2), 2
            ),
        },
    )
