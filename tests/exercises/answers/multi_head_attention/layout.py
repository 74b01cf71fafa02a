"""Answers to the exercise on heads of a batch whose first dimension are the tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l


def split(X: Tensor, h: int) -> Tensor:
    """(n, b, d) to (b h, n, d / h)."""
    n, b, d = X.shape
    return X.reshape(n, b * h, d // h).transpose(0, 1)


def join(X: Tensor, h: int) -> Tensor:
    bh, n, p = X.shape
    return X.transpose(0, 1).reshape(n, bh // h, h * p)


def wrong_split(X: Tensor, h: int) -> Tensor:
    n, b, d = X.shape
    return X.reshape(b * h, n, d // h)


def wrong_join(X: Tensor, h: int) -> Tensor:
    bh, n, p = X.shape
    return X.reshape(n, bh // h, h * p)


def softmax(scores: Tensor, lens: Tensor) -> Tensor:
    return d2l.masked_softmax(scores, lens)


def heads(
    *,
    split: Callable[[Tensor, int], Tensor] = split,
    split_values: Callable[[Tensor, int], Tensor] | None = None,
    join: Callable[[Tensor, int], Tensor] = join,
    divisor: Callable[[int, int], float] = lambda d, h: math.sqrt(d / h),
    repeat: Callable[[Tensor, int], Tensor] = lambda lens, h: lens.repeat_interleave(h),
    weigh: Callable[[Tensor, Tensor], Tensor] = softmax,
) -> Callable[..., Tensor]:
    """The function of the debugging exercise, fixed unless told otherwise."""

    def function(Q: Tensor, K: Tensor, V: Tensor, valid_lens: Tensor, num_heads: int) -> Tensor:
        queries, keys, values = split(Q, num_heads), split(K, num_heads), (split_values or split)(V, num_heads)
        scores = queries @ keys.mT / divisor(Q.shape[2], num_heads)
        return join(weigh(scores, repeat(valid_lens, num_heads)) @ values, num_heads)

    return function


def hidden(scores: Tensor, lens: Tensor) -> Tensor:
    return (torch.arange(scores.shape[2]) >= lens[:, None, None]).expand(scores.shape)


def renormalised(scores: Tensor, lens: Tensor) -> Tensor:
    weights = F.softmax(scores, -1) * ~hidden(scores, lens)
    return weights / weights.sum(-1, keepdim=True)


def by_batch_first(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    queries, keys, values = (d2l.transpose_qkv(part.transpose(0, 1), h) for part in (Q, K, V))
    scores = queries @ keys.mT / math.sqrt(queries.shape[2])
    weights = d2l.masked_softmax(scores, lens.repeat_interleave(h))
    return d2l.transpose_output(weights @ values, h).transpose(0, 1)


def heads_outside(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    """Row i b + e is head i of example e: here repeat is right."""
    queries, keys, values = (part.unflatten(2, (h, -1)).permute(2, 1, 0, 3).flatten(0, 1) for part in (Q, K, V))
    scores = queries @ keys.mT / math.sqrt(queries.shape[2])
    pooled = d2l.masked_softmax(scores, lens.repeat(h)) @ values
    return pooled.unflatten(0, (h, -1)).permute(2, 1, 0, 3).flatten(2)


def by_einsum(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    queries, keys, values = (part.double().unflatten(2, (h, -1)) for part in (Q, K, V))
    scores = torch.einsum("nbhp,mbhp->bhnm", queries, keys) / queries.shape[-1] ** 0.5
    masked = scores.masked_fill(torch.arange(len(K)) >= lens[:, None, None, None], -math.inf)
    return torch.einsum("bhnm,mbhp->nbhp", masked.softmax(-1), values).flatten(2)


def by_pytorch(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Any:
    allowed = torch.arange(len(K)) < lens[:, None, None, None]
    parts = [part.unflatten(2, (h, -1)).permute(1, 2, 0, 3) for part in (Q, K, V)]
    return F.scaled_dot_product_attention(*parts, allowed).permute(2, 0, 1, 3).flatten(2).numpy()


def example_by_example(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    output = torch.zeros_like(Q)
    for e, length in enumerate(lens.tolist()):
        for own in torch.arange(Q.shape[2]).chunk(h):
            scores = Q[:, e, own] @ K[:length, e, own].T / math.sqrt(len(own))
            output[:, e, own] = scores.softmax(1) @ V[:length, e, own]
    return output


def by_layer(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    """PyTorch's layer, whose default has the tokens first, with identities for matrices."""
    mha = nn.MultiheadAttention(Q.shape[2], h, bias=False)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.eye(Q.shape[2]).repeat(3, 1))
        mha.out_proj.weight.copy_(torch.eye(Q.shape[2]))
    return mha(Q, K, V, key_padding_mask=torch.arange(len(K)) >= lens[:, None])[0]


def without_lengths(Q: Tensor, K: Tensor, V: Tensor, valid_lens: Tensor, num_heads: int) -> Tensor:
    return heads()(Q, K, V, torch.full_like(valid_lens, len(K)), num_heads)


def outside_with_the_wrong_lengths(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    queries, keys, values = (part.unflatten(2, (h, -1)).permute(2, 1, 0, 3).flatten(0, 1) for part in (Q, K, V))
    scores = queries @ keys.mT / math.sqrt(queries.shape[2])
    pooled = d2l.masked_softmax(scores, lens.repeat_interleave(h)) @ values
    return pooled.unflatten(0, (h, -1)).permute(2, 1, 0, 3).flatten(2)


def powers(scores: Tensor, lens: Tensor) -> Tensor:
    shown = scores.exp() * ~hidden(scores, lens)
    return shown / shown.sum(-1, keepdim=True)


def own_softmax(scores: Tensor, lens: Tensor) -> Tensor:
    return F.softmax(scores.masked_fill(hidden(scores, lens), -math.inf), -1)


RIGHT: dict[str, list[Any]] = {
    "debug-multi-head": [
        heads(),
        by_layer,
        by_batch_first,
        heads_outside,
        by_einsum,
        by_pytorch,
        example_by_example,
        heads(weigh=own_softmax),
    ],
}

ROOT: dict[str, Any] = {"divisor": lambda d, h: math.sqrt(d)}
REPEAT: dict[str, Any] = {"repeat": lambda lens, h: lens.repeat(h)}
MIXED: dict[str, Any] = {"split": wrong_split, "join": wrong_join}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-multi-head", heads(**MIXED, **ROOT, **REPEAT), "And is that all?"),
    ("debug-multi-head", heads(join=wrong_join, **ROOT, **REPEAT), "Scale and lengths come next"),
    ("debug-multi-head", heads(join=wrong_join, **ROOT), "The scale is not right yet, either"),
    ("debug-multi-head", heads(join=wrong_join, **REPEAT), "The lengths are not right yet, either"),
    ("debug-multi-head", outside_with_the_wrong_lengths, "which length does it get?"),
    ("debug-multi-head", heads(weigh=powers), "does an exp overflow"),
    ("debug-multi-head", heads(weigh=lambda s, lens: powers(s, lens).nan_to_num()), "does an exp overflow"),
    *[
        (
            "debug-multi-head",
            heads(weigh=lambda s, lens, fill=fill: F.softmax(s.masked_fill(hidden(s, lens), fill), -1)),
            "below every score",
        )
        for fill in (-60, -1e5, -1e6, -1e9, -1e30)
    ],
    *[
        (
            "debug-multi-head",
            heads(weigh=lambda s, lens, fill=fill: F.softmax(s - fill * hidden(s, lens), -1)),
            "Mask before it",
        )
        for fill in (1e5, 1e9, 1e30)
    ],
    ("debug-multi-head", heads(**MIXED), "from other examples and other heads"),
    ("debug-multi-head", heads(**MIXED, **ROOT), "The scale is not right yet, either"),
    ("debug-multi-head", heads(**MIXED, **REPEAT), "The lengths are not right yet, either"),
    ("debug-multi-head", heads(split=wrong_split), "the way there has none"),
    ("debug-multi-head", heads(join=wrong_join), "where does the number of tokens stand?"),
    ("debug-multi-head", heads(split=wrong_split, split_values=split), "V is right, but Q and K are not"),
    (
        "debug-multi-head",
        heads(split=wrong_split, split_values=split, **ROOT),
        "and neither is the scale",
    ),
    ("debug-multi-head", heads(**ROOT), "Its root divides the scores"),
    ("debug-multi-head", heads(**ROOT, **REPEAT), "And then: which example"),
    ("debug-multi-head", heads(**REPEAT), "which length does it get?"),
    ("debug-multi-head", without_lengths, "the valid lengths are not used"),
    ("debug-multi-head", heads(repeat=lambda lens, h: lens[:1].repeat(len(lens) * h)), "a length of its own"),
    ("debug-multi-head", heads(repeat=lambda lens, h: lens[-1:].repeat(len(lens) * h)), "a length of its own"),
    ("debug-multi-head", heads(divisor=lambda d, h: math.sqrt(3)), "compare with a loop"),
    ("debug-multi-head", heads(divisor=lambda d, h: 1), "the scores are not scaled"),
    ("debug-multi-head", heads(weigh=renormalised), "Mask before it"),
    (
        "debug-multi-head",
        heads(weigh=lambda scores, lens: F.softmax(scores - 1000 * hidden(scores, lens), -1)),
        "Mask before it",
    ),
    (
        "debug-multi-head",
        heads(weigh=lambda scores, lens: F.softmax(scores.masked_fill(hidden(scores, lens), -1e4), -1)),
        "below every score",
    ),
    ("debug-multi-head", lambda Q, K, V, lens, h: heads()(Q, K, V, lens.flip(0), h), "compare with a loop"),
    ("debug-multi-head", lambda Q, K, V, lens, h: heads()(Q, K, V, lens, 1), "compare with a loop"),
    ("debug-multi-head", lambda *a: heads()(*a) + 1, "compare with a loop"),
    ("debug-multi-head", lambda *a: heads()(*a).transpose(0, 1), "shape of each step"),
    (
        "debug-multi-head",
        lambda Q, K, V, lens, h: d2l.transpose_output(
            d2l.DotProductAttention(0)(
                *(d2l.transpose_qkv(part, h) for part in (Q, K, V)),
            ),
            h,
        ),
        "run it yourself",
    ),
]
