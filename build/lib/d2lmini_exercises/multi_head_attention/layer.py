"""What a layer with several heads computes from one matrix for all projections."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.heads import transpose_output, transpose_qkv
from d2lmini_exercises.core import checker, expect_close, expect_function
from d2lmini_exercises.extremes import OVERFLOW
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.prediction import Number, prediction

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
            "eight heads, but each of them is narrower: how wide is it?": 8.0,
            "one head is an eighth of it, but there are eight of them": 1 / 8,
            "the number of heads enters once, and the width of a head goes down with it": 64.0,
        },
    ),
    right="divisor, parameters and FLOPs are right",
)


_STEPS = "compare with a loop over the heads, step by step: rows of W_in, scores, scale, weights, join, W_o"


@checker("multi-head-attention")
def check_multi_head_attention(attend: Any) -> str:
    """`attend(X, W_in, W_o, num_heads)`: self-attention with one matrix that holds the projections head by head."""
    expect_function(attend)
    for seed, most, b, n, d, num_heads in (
        (1, 1, 3, 5, 12, 2),
        (2, 1, 2, 4, 15, 3),
        (3, 1, 2, 3, 5, 1),
        (4, 1, 1, 4, 6, 2),
        (5, 1, 2, 1, 6, 3),
        (6, 9, 2, 3, 8, 2),
    ):
        (X, W_in, W_o), code = draw_inputs(seed, most=most, X=(b, n, d), W_in=(3 * d, d), W_o=(d, d))
        expect_close(
            attend(X, W_in, W_o, num_heads),
            _attend(X, W_in, W_o, num_heads),
            claim="it is W_o [h_1; ...; h_h] with softmax attention in each head",
            given=f"{code}; num_heads = {num_heads}",
            hint=OVERFLOW if most > 1 else _STEPS,
            mistakes={} if most > 1 else _list_wrong_outputs(X, W_in, W_o, num_heads),
            tolerance=1e-3,
        )
    return "right for one, two and three heads, six sets of sizes, and very high scores"


_HEADS = -9  # the "dimension" of a softmax over the heads

Cut = Callable[[Tensor, int], tuple[Tensor, ...]]


def _cut_by_heads(W_in: Tensor, h: int) -> tuple[Tensor, ...]:
    """W_q, W_k and W_v, from rows in the order head, role, column."""
    return tuple(part.flatten(0, 1) for part in W_in.unflatten(0, (h, 3, -1)).unbind(1))


def _cut_by_roles(W_in: Tensor, h: int) -> tuple[Tensor, ...]:
    return W_in.chunk(3)


def _cut_by_columns(W_in: Tensor, h: int) -> tuple[Tensor, ...]:
    return tuple(part.flatten(0, 1) for part in W_in.unflatten(0, (h, -1, 3)).unbind(2))


def _split_by_reshape(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] * num_heads, X.shape[1], -1)


def _join_by_reshape(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] // num_heads, X.shape[1], -1)


def _join_stacked(X: Tensor, num_heads: int) -> Tensor:
    """Heads outside, examples inside, and a reshape."""
    heads = X.unflatten(0, (-1, num_heads)).transpose(0, 1)  # (h, b, n, d / h)
    return heads.reshape(X.shape[0] // num_heads, X.shape[1], -1)


def _join_columns(X: Tensor, num_heads: int) -> Tensor:
    """The first column of all heads, then the second one, and so on."""
    return X.unflatten(0, (-1, num_heads)).permute(0, 2, 3, 1).flatten(2)


def _split_every_column(X: Tensor, num_heads: int) -> Tensor:
    return transpose_qkv(X.unflatten(2, (-1, num_heads)).transpose(2, 3).flatten(2), num_heads)


def _attend(
    X: Tensor,
    W_in: Tensor,
    W_o: Tensor,
    num_heads: int,
    *,
    cut: Cut = _cut_by_heads,
    roles: tuple[int, int, int] = (0, 1, 2),
    split: Callable[[Tensor, int], Tensor] = transpose_qkv,
    join: Callable[[Tensor, int], Tensor] = transpose_output,
    divisor: float | None = None,
    dim: int = 2,
) -> Tensor:
    """Multi-head self-attention, right unless told otherwise."""
    parts = [split(X @ W.T, num_heads) for W in cut(W_in, num_heads)]
    queries, keys, values = (parts[role] for role in roles)
    scores = queries @ keys.mT / (math.sqrt(queries.shape[2]) if divisor is None else divisor)
    if dim == _HEADS:
        weights = F.softmax(scores.unflatten(0, (-1, num_heads)), 1).flatten(0, 1)
    else:
        weights = F.softmax(scores, dim)
    return join(weights @ values, num_heads) @ W_o.T


def _list_wrong_outputs(X: Tensor, W_in: Tensor, W_o: Tensor, h: int) -> dict[str, Any]:
    """What well-known mistakes give, by hint."""
    d = X.shape[2]

    def attend(**changes: Any) -> Tensor:
        return _attend(X, W_in, W_o, h, **changes)

    def transpose_each(W_in: Tensor, h: int) -> tuple[Tensor, ...]:
        return tuple(W.T for W in _cut_by_heads(W_in, h))

    mistakes = {
        "the scores are not scaled": attend(divisor=1.0),
        "what must one query's weights add up to? The softmax goes over the keys": attend(dim=1),
        "a score is a sum of d/h products: you divide by d/h, not by its root": attend(divisor=d / h),
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W_in": attend(cut=transpose_each),
        "who asks, and who is asked? Each head has its queries first, then its keys": attend(roles=(1, 0, 2)),
        "the values come last: queries, keys, values": (attend(roles=(0, 2, 1))),
        "where is W_o?": _attend(X, W_in, torch.eye(d), h),
        "W_o is applied as XWᵀ, too": _attend(X, W_in, W_o.T, h),
    }
    return mistakes if h == 1 else mistakes | _list_wrong_layouts(X, W_in, W_o, h)


def _list_wrong_layouts(X: Tensor, W_in: Tensor, W_o: Tensor, h: int) -> dict[str, Any]:
    """What comes of rows and columns that belong to other heads, by hint."""
    d = X.shape[2]

    def attend(**changes: Any) -> Tensor:
        return _attend(X, W_in, W_o, h, **changes)

    def mean(X: Tensor, num_heads: int) -> Tensor:
        return X.unflatten(0, (-1, num_heads)).mean(1).repeat(1, 1, num_heads)

    def total(X: Tensor, num_heads: int) -> Tensor:
        return num_heads * mean(X, num_heads)

    queries, keys, values = ((X @ W.T).unflatten(2, (h, -1)) for W in _cut_by_heads(W_in, h))  # (b, n, h, d / h)
    among_heads = F.softmax(queries @ keys.mT / math.sqrt(d / h), dim=-1) @ values
    pieces = "which tokens own head 0's rows? Cut each token into heads, then transpose"
    return {
        "that is one head: num_heads is not used": _attend(X, W_in, W_o, 1),
        "that is one head as wide as all of them: cut queries and keys, too": (
            _attend(X, torch.cat(_cut_by_heads(W_in, h)), W_o, 1)
        ),
        "in PyTorch's in_proj_weight all queries come first. Here head 0 comes first, with all that it has": (
            attend(cut=_cut_by_roles)
        ),
        "a role owns d/h neighbouring rows of its head, not every third one": attend(cut=_cut_by_columns),
        "how long is the dot product in one head? You divide by the root of d": attend(divisor=d**0.5),
        "that is the root of the width of a head's rows, 3d/h: queries alone are d/h wide": (
            attend(divisor=math.sqrt(3 * d / h))
        ),
        pieces: attend(split=_split_by_reshape, join=_join_by_reshape),
        f"{pieces} - on the way there": attend(split=_split_by_reshape),
        "the way back needs a transpose, too: the heads of one token belong next to each other": (
            attend(join=_join_by_reshape),
            attend(join=_join_stacked),
        ),
        "W_o sees the heads side by side: all columns of head 0, then all of head 1": attend(join=_join_columns),
        "each head has weights of its own: the softmax goes over the keys, not over the heads": attend(dim=_HEADS),
        "that is the root of the number of heads: how many products does a score add up?": attend(divisor=math.sqrt(h)),
        "a head owns d/h neighbouring columns, not every h-th column": attend(split=_split_every_column),
        "your scores are heads by heads: within each token, heads look at heads. Which two axes should they have?": (
            among_heads.flatten(2) @ W_o.T
        ),
        "what is the width before W_o? The heads are concatenated, not averaged": attend(join=mean),
        "what is the width before W_o? The heads are concatenated, not summed": attend(join=total),
    }
