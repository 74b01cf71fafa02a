"""Answers to the exercise on the weights of PyTorch's layer, head by head."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l


def per_head(
    padding: Callable[[Tensor, int], Tensor | None] = lambda lens, n: torch.arange(n) >= lens[:, None],
    *,
    average: bool = False,
) -> Callable[..., Tensor]:
    """The weights of an nn.MultiheadAttention, right unless told otherwise."""

    def weights(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
        mask = padding(valid_lens, X.shape[1])
        return mha(X, X, X, key_padding_mask=mask, average_attn_weights=average)[1]

    return weights


def shown(lens: Tensor, n: int) -> Tensor:
    return torch.arange(n) < lens[:, None]


def by_hand(
    mha: nn.MultiheadAttention,
    X: Tensor,
    valid_lens: Tensor,
    *,
    bias: bool = True,
    h: int | None = None,
    p: int | None = None,
    n: int | None = None,
    mask: Callable[[Tensor, Tensor], Tensor] = lambda s, may: s.masked_fill(~may[:, None, None], -math.inf),
    after: Callable[[Tensor, Tensor], Tensor] = lambda w, may: w,
) -> Tensor:
    """From the matrix of the layer, with its bias."""
    h = h or mha.num_heads
    projected = X @ mha.in_proj_weight.T + (mha.in_proj_bias if bias and mha.in_proj_bias is not None else 0)
    Q, K, _ = (part.unflatten(2, (h, -1)).transpose(1, 2) for part in projected.chunk(3, 2))
    may = shown(valid_lens, n or X.shape[1])
    return after(mask(Q @ K.mT / math.sqrt(p or Q.shape[3]), may).softmax(-1), may)


def by_attn_mask(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    allowed = d2l.valid_lens_mask(valid_lens, X.shape[1]).expand(-1, X.shape[1], -1)
    mask = d2l.to_mha_mask(allowed, mha.num_heads)
    return mha(X, X, X, attn_mask=mask, average_attn_weights=False)[1]


def by_float_mask(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Any:
    mask = torch.zeros(X.shape[:2]).masked_fill(~shown(valid_lens, X.shape[1]), -math.inf)
    return mha(X, X, X, key_padding_mask=mask, average_attn_weights=False)[1].numpy()


def example_by_example(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    maps = torch.zeros(len(X), mha.num_heads, X.shape[1], X.shape[1])
    for e, length in enumerate(valid_lens.tolist()):
        own = X[e : e + 1]
        maps[e, :, :, :length] = mha(own, own[:, :length], own[:, :length], average_attn_weights=False)[1][0]
    return maps


def masked_afterwards(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    return per_head(lambda lens, n: None)(mha, X, valid_lens) * shown(valid_lens, X.shape[1])[:, None, None]


def penalised(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    return by_hand(mha, X, valid_lens, mask=lambda s, may: s - 1000 * ~may[:, None, None])


def causal(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    mask = torch.ones(X.shape[1], X.shape[1]).bool().triu(1)
    padding = ~shown(valid_lens, X.shape[1])
    return mha(X, X, X, key_padding_mask=padding, attn_mask=mask, average_attn_weights=False)[1]


def reshaped(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    """The heads are cut without a transpose."""
    b, n, d = X.shape
    both = X @ mha.in_proj_weight.T + (0 if mha.in_proj_bias is None else mha.in_proj_bias)
    Q, K, _ = (part.reshape(b, mha.num_heads, n, -1) for part in both.chunk(3, 2))
    scores = Q @ K.mT / math.sqrt(d // mha.num_heads)
    return scores.masked_fill(~shown(valid_lens, n)[:, None, None], -math.inf).softmax(-1)


def wrong_order(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    n, h = X.shape[1], mha.num_heads
    mask = ~shown(valid_lens, n)[:, None].expand(-1, n, -1).repeat(h, 1, 1)
    return mha(X, X, X, attn_mask=mask, average_attn_weights=False)[1]


def in_training(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    return per_head()(mha.train(), X, valid_lens)


def batch_last(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    mha.batch_first = False
    padding = ~shown(valid_lens, X.shape[1])
    return mha(*[X.transpose(0, 1)] * 3, key_padding_mask=padding, average_attn_weights=False)[1]


def without_checks(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    """In_proj_bias is taken for granted."""
    if mha.in_proj_bias is None:
        raise TypeError("unsupported operand type(s) for +: 'Tensor' and 'NoneType'")
    return by_hand(mha, X, valid_lens)


RIGHT: dict[str, list[Any]] = {
    "weights-per-head": [
        per_head(),
        by_hand,
        by_attn_mask,
        by_float_mask,
        example_by_example,
        lambda mha, X, lens: per_head()(mha, X, lens).detach().clone(),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    *[
        (
            "weights-per-head",
            lambda *a, fill=fill: by_hand(*a, mask=lambda s, may: s.masked_fill(~may[:, None, None], fill)),
            "below every score",
        )
        for fill in (-1e4, -1e5, -1e6, -1e9, -1e30, -1e38)
    ],
    *[
        (
            "weights-per-head",
            lambda *a, fill=fill: by_hand(*a, mask=lambda s, may: s - fill * ~may[:, None, None]),
            "a finite penalty before it can be outweighed",
        )
        for fill in (1e5, 1e9, 1e30)
    ],
    ("weights-per-head", lambda *a: by_hand(*a, mask=lambda s, m: s + ~m[:, None, None] * -math.inf), "0 times inf"),
    (
        "weights-per-head",
        lambda *a: by_hand(*a, mask=lambda s, m: s.exp().masked_fill(~m[:, None, None], 0).log()),
        "does an exp overflow",
    ),
    ("weights-per-head", reshaped, "then transpose"),
    ("weights-per-head", wrong_order, "each row of your mask"),
    ("weights-per-head", batch_last, "batch_first stay as they are"),
    ("weights-per-head", lambda mha, *a: per_head()(mha.requires_grad_(False), *a), "requires_grad"),
    ("weights-per-head", lambda mha, X, lens: per_head()(mha.double(), X.double(), lens), "Its dtype"),
    ("weights-per-head", in_training, "step by step"),
    ("weights-per-head", without_checks, "run it yourself"),
    ("weights-per-head", lambda *a: per_head(average=True)(*a)[:, None].expand(-1, a[0].num_heads, -1, -1), "the mean"),
    ("weights-per-head", per_head(average=True), "look for average_attn_weights"),
    ("weights-per-head", lambda mha, X, lens: torch.zeros(2, 4, 4), "a mean over the heads is no head"),
    ("weights-per-head", per_head(shown), "True means ignore"),
    ("weights-per-head", per_head(lambda lens, n: None), "the padding has weight"),
    ("weights-per-head", per_head(lambda lens, n: torch.arange(n) > lens[:, None]), "one key too many"),
    ("weights-per-head", masked_afterwards, "before the softmax"),
    ("weights-per-head", lambda mha, X, lens: mha(X, X, X), "take its second part"),
    ("weights-per-head", lambda *a: F.normalize(masked_afterwards(*a), p=1, dim=-1), "comes too late"),
    ("weights-per-head", penalised, "can be outweighed"),
    (
        "weights-per-head",
        lambda mha, X, lens: by_hand(mha, X, lens, mask=lambda s, may: s.masked_fill(~may[:, None, None], -70)),
        "below every score",
    ),
    ("weights-per-head", lambda *a: by_hand(*a, bias=False), "where is in_proj_bias?"),
    ("weights-per-head", lambda *a: by_hand(*a, h=3), "shape of each step"),
    ("weights-per-head", lambda *a: by_hand(*a, p=3), "step by step"),
    ("weights-per-head", lambda *a: by_hand(*a, p=a[1].shape[2]), "the root of d"),
    (
        "weights-per-head",
        lambda *a: by_hand(*a, after=lambda w, may: w * may[:, None, :, None]),
        "padded queries ask as well",
    ),
    ("weights-per-head", lambda mha, X, lens: per_head()(mha, X, lens[:1].expand(len(X))), "a length of its own"),
    ("weights-per-head", causal, "that is causal"),
    ("weights-per-head", lambda *a: per_head()(*a)[0], "shape of each step"),
    ("weights-per-head", lambda *a: per_head()(*a) + 1, "step by step"),
    ("weights-per-head", lambda *a: per_head()(*a).mT, "step by step"),
]
