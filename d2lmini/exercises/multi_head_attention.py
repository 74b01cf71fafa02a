"""Checkers of the chapter "Multi-head attention"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.heads import transpose_output, transpose_qkv
from d2lmini.attention.masks import valid_lens_mask
from d2lmini.attention.pooling import masked_softmax
from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, find_hint, read_number
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
    generator = torch.Generator().manual_seed(0)
    for b, n, d, num_heads in ((2, 3, 6, 2), (2, 3, 4, 1), (3, 5, 12, 3)):
        X = torch.randn(b, n, d, generator=generator)
        Ws = [torch.randn(d, d, generator=generator) for _ in range(4)]
        arguments = [X.clone(), *(W.clone() for W in Ws)]
        expect_close(
            attend(*arguments, num_heads),
            _multi_head(X, Ws, num_heads),
            claim="it is W_o [h_1; ...; h_h] with softmax attention in each head",
            given=f"random X of shape {(b, n, d)}, random matrices, num_heads {num_heads}",
            hint="compare with the loop over the heads, step by step",
            mistakes=_multi_head_mistakes(X, Ws, num_heads),
            tolerance=1e-3,
        )
        if not all(map(torch.equal, arguments, [X, *Ws])):
            raise WrongAnswer("the arguments are left unchanged", "an operation that ends in _ works in place")
    return "right for one, two and three heads"


def _wrong_split(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] * num_heads, X.shape[1], -1)


def _wrong_join(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] // num_heads, X.shape[1], -1)


def _interleaved_split(X: Tensor, num_heads: int) -> Tensor:
    return transpose_qkv(X.unflatten(2, (-1, num_heads)).transpose(2, 3).flatten(2), num_heads)


def _heads(
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


def _multi_head(X: Tensor, Ws: list[Tensor], num_heads: int, **changes: Any) -> Tensor:
    """Multi-head self-attention with W_q, W_k, W_v and W_o; `changes` as in :func:`_heads`."""
    Q, K, V = (X @ W.T for W in Ws[:3])
    return _heads(Q, K, V, num_heads, **changes) @ Ws[3].T


def _multi_head_mistakes(X: Tensor, Ws: list[Tensor], h: int) -> dict[str, Tensor]:
    """What well-known mistakes give, by hint."""
    d = X.shape[2]

    def mean(X: Tensor, num_heads: int) -> Tensor:
        return X.unflatten(0, (-1, num_heads)).mean(1).repeat(1, 1, num_heads)

    def total(X: Tensor, num_heads: int) -> Tensor:
        return num_heads * mean(X, num_heads)

    pieces = "which tokens own head 0's rows? Cut each token into heads, then transpose"
    back = "the way back needs a transpose, too: the heads of one token belong next to each other"
    return {
        "the scores are not scaled": _multi_head(X, Ws, h, divisor=1.0),
        "what must one query's weights add up to? The softmax goes over the keys": _multi_head(X, Ws, h, dim=1),
        "a score is a sum of d/h products: you divide by d/h, not by its root": _multi_head(X, Ws, h, divisor=d / h),
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W": _multi_head(X, [W.T for W in Ws], h),
        "W_q, W_k and W_v are applied as XWᵀ: you transposed W_o only": _multi_head(
            X, [*(W.T for W in Ws[:3]), Ws[3]], h
        ),
        "who asks, and who is asked? You swapped W_q and W_k": _multi_head(X, [Ws[1], Ws[0], *Ws[2:]], h),
        "that is one head: num_heads is not used": _multi_head(X, Ws, 1) if h > 1 else torch.full_like(X, math.nan),
        "where is W_o?": _multi_head(X, [*Ws[:3], torch.eye(d)], h),
        "W_o is applied as XWᵀ, too": _multi_head(X, [*Ws[:3], Ws[3].T], h),
        "how long is the dot product in one head? You divide by the root of d": _multi_head(X, Ws, h, divisor=d**0.5),
        pieces: _multi_head(X, Ws, h, split=_wrong_split, join=_wrong_join),
        f"{pieces} - on the way there": _multi_head(X, Ws, h, split=_wrong_split),
        back: _multi_head(X, Ws, h, join=_wrong_join),
        "a head owns d/h neighbouring columns, not every h-th column": _multi_head(X, Ws, h, split=_interleaved_split),
        "what is the width before W_o? The heads are concatenated, not averaged": _multi_head(X, Ws, h, join=mean),
        "what is the width before W_o? The heads are concatenated, not summed": _multi_head(X, Ws, h, join=total),
    }


_PIECES = "which tokens own head 0's rows?"


@checker("debug-multi-head")
def check_debug_multi_head(function: Any) -> str:
    """`heads(Q, K, V, valid_lens, num_heads)` freed of its faults; each shows on an input of its own."""
    expect_function(function)
    generator = torch.Generator().manual_seed(0)
    _expect_split(function)
    for b, n, m, d, h in ((1, 2, 3, 4, 2), (2, 3, 4, 12, 3)):
        Q, K, V = (torch.randn(b, steps, d, generator=generator) for steps in (n, m, m))
        lens = torch.tensor([2, 1][:b])
        right = lens.repeat_interleave(h)
        mixed_q, mixed_k = (transpose_output(_wrong_split(part, h), h) for part in (Q, K))
        expect_close(
            function(Q.clone(), K.clone(), V.clone(), lens.clone(), h),
            _heads(Q, K, V, h, lens=right),
            claim="each head is scaled dot-product attention over the valid keys",
            given=f"random Q {(b, n, d)}, K and V {(b, m, d)}, valid_lens {lens.tolist()}, num_heads {h}",
            hint="keep what worked: compare with a loop over the heads",
            mistakes={
                "the scores are not scaled": _heads(Q, K, V, h, lens=right, divisor=1.0),
                "how long is the dot product in one head? Its root divides the scores": _heads(
                    Q, K, V, h, lens=right, divisor=math.sqrt(d)
                ),
                "row 1 of the batch is example 0 in head 1: which length does it get?": _heads(
                    Q, K, V, h, lens=lens.repeat(h)
                ),
                "the valid lengths are not used": _heads(Q, K, V, h),
                "each example has a length of its own": _heads(Q, K, V, h, lens=torch.full_like(right, 2)),
                f"{_PIECES} V is right, but Q and K are not, and neither is the scale": _heads(
                    mixed_q, mixed_k, V, h, lens=right, divisor=math.sqrt(d)
                ),
                f"{_PIECES} V is right, but Q and K are not": _heads(mixed_q, mixed_k, V, h, lens=right),
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
            f"{_PIECES} They are pieces of one token": _wrong_join(
                _wrong_split(V, 2).mean(1, keepdim=True).expand(2, 2, 2), 2
            ),
            "the split is right, but the way back is not: the heads of one token belong together": _wrong_join(
                transpose_qkv(V, 2).mean(1, keepdim=True).expand(2, 2, 2), 2
            ),
            f"{_PIECES} The way back has a transpose, the way there has none": transpose_output(
                _wrong_split(V, 2).mean(1, keepdim=True).expand(2, 2, 2), 2
            ),
        },
    )


@checker("measure-heads")
def check_measure_heads(measure: Any) -> str:
    """`measure(weights, values)`: the relative error of the best linear read-out of all words from all heads."""
    expect_function(measure)
    signs = torch.cartesian_prod(*[torch.tensor([1.0, -1])] * 3)
    uneven = signs * torch.tensor([1.0, 2, 3])
    related = signs @ torch.tensor([[1.0, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    one = [[0.5, 0.3, 0.2]]
    two = [[0.5, 0.5, 0], [0, 0.25, 0.75]]
    for name, values, weights in (
        ("three uncorrelated words, one head", signs, one),
        ("standard deviations 1, 2 and 3, two heads", uneven, two),
        ("three correlated words, two heads", related, two),
        ("three uncorrelated words, one head twice", signs, one * 2),
    ):
        heads = torch.tensor(weights)
        claim, given = "it is the relative squared error of the best linear read-out", f"{name}, weights {weights}"
        equal = "two equal mixtures: no inverse exists, and lstsq must not use the driver 'gels'"
        try:
            got = read_number(measure(heads.clone(), values.clone()))
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            raise WrongAnswer(claim, equal, given=given, got="a singular matrix") from error
        expected = _error_of_heads(heads, values)
        if not abs(got - expected) <= 1e-3:
            otherwise = equal if math.isnan(got) else "print the mixtures: (cases, heads)"
            hint = find_hint(got, _heads_mistakes(heads, values), otherwise, 1e-3)
            raise WrongAnswer(claim, hint, given=given, expected=round(expected, 4), got=round(got, 4))
    return "right for one head, two heads, and two that are the same"


def _error_of_heads(weights: Tensor, values: Tensor) -> float:
    values = values.double()
    mixtures = values @ weights.double().T
    rest = values - mixtures @ torch.linalg.pinv(mixtures) @ values
    return (rest.square().sum() / values.square().sum()).item()


def _heads_mistakes(weights: Tensor, values: Tensor) -> dict[str, float]:
    mixtures = values @ weights.T
    error = _error_of_heads(weights, values)
    per_word = [(values - mixtures @ torch.linalg.pinv(mixtures) @ values).square().sum(0), values.square().sum(0)]
    return {
        "relative to what? Divide by the sum of all squared values": error * values.square().sum().item(),
        "relative to what? You return the mean squared error": error * values.square().mean().item(),
        "squared error is asked for: you took a root": math.sqrt(max(error, 0.0)),
        "that is the part that is explained: what is left?": 1 - error,
        "one mixture a head: do not average the heads first": _error_of_heads(weights.mean(0, keepdim=True), values),
        "one mixture a head: do not add the heads up": _error_of_heads(weights.sum(0, keepdim=True), values),
        "divide the sums over all words: neither a count of heads nor a mean of ratios weighs large words more": (
            per_word[0] / per_word[1]
        )
        .mean()
        .item(),
        "that is the first word alone: all of them are asked for": (per_word[0][0] / per_word[1][0]).item(),
        "read out: each word is some multiple of the mixture, not the mixture itself": (
            (values - mixtures.mean(1, keepdim=True)).square().sum() / values.square().sum()
        ).item(),
        "a head's weights can be read back, but with the best factors: solve a least-squares problem": (
            (values - mixtures @ weights).square().sum() / values.square().sum()
        ).item(),
    }


@checker("weights-per-head")
def check_weights_per_head(weights_of: Any) -> str:
    """`weights_of(mha, X, valid_lens)`: the weights of each head of an `nn.MultiheadAttention`."""
    expect_function(weights_of)
    torch.manual_seed(0)
    mha = nn.MultiheadAttention(6, 3, batch_first=True).eval()
    nn.init.normal_(mha.in_proj_bias)  # zeros until trained: an answer could forget it
    X, lens = 3 * torch.randn(2, 4, 6), torch.tensor([3, 1])
    Q, K, _ = (X @ mha.in_proj_weight.detach().T + mha.in_proj_bias.detach()).chunk(3, 2)
    scores = transpose_qkv(Q, 3) @ transpose_qkv(K, 3).mT / math.sqrt(2)

    def softmax(mask: Tensor | None) -> Tensor:
        return masked_softmax(scores, mask=None if mask is None else mask.repeat_interleave(3, 0)).unflatten(0, (2, 3))

    allowed = valid_lens_mask(lens, 4)
    right, opposite = softmax(allowed), softmax(~allowed)
    with torch.no_grad():
        got = weights_of(mha, X.clone(), lens.clone())
    given = "3 heads, X of shape (2, 4, 6), valid_lens [3, 1]"
    if isinstance(got, Tensor) and got.shape == (2, 4, 4):
        hint = "a mean over the heads is no head: it is PyTorch's default, look for average_attn_weights"
        raise WrongAnswer("there is one map a head", hint, given=given, expected="(2, 3, 4, 4)", got="(2, 4, 4)")
    if isinstance(got, (tuple, list)):
        raise WrongAnswer("it returns the weights", "the layer returns a pair: take its second part", given=given)
    expect_close(
        got,
        right,
        claim="these are the weights of each head",
        given=given,
        hint="compare the sum of each row, and the padded columns, with what they should be",
        mistakes={
            "the mask is the wrong way round: in nn.MultiheadAttention True means ignore": opposite,
            "the padding has weight: where are the valid lengths?": softmax(None),
            "one key too many: with valid length 3 the keys 0, 1 and 2 count": softmax(valid_lens_mask(lens + 1, 4)),
            "the padding must be masked before the softmax: rows now sum to less than 1": softmax(None)
            * allowed[:, None],
        },
    )
    return "one map a head, padding without weight"
