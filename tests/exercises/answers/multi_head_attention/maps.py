"""Answers to the exercise on the weights of PyTorch's layer, head by head."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import d2lmini as d2l


def per_head(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    padding = ~shown(valid_lens, X.shape[1])
    return mha(X, X, X, key_padding_mask=padding, average_attn_weights=False)[1]


def shown(lens: Tensor, n: int) -> Tensor:
    return torch.arange(n) < lens[:, None]


def by_hand(
    mha: nn.MultiheadAttention,
    X: Tensor,
    valid_lens: Tensor,
    *,
    p: int | None = None,
    mask: Callable[[Tensor, Tensor], Tensor] = lambda s, may: s.masked_fill(~may, -math.inf),
) -> Tensor:
    """From the matrix of the layer, with its bias."""
    projected = X @ mha.in_proj_weight.T + (0 if mha.in_proj_bias is None else mha.in_proj_bias)
    Q, K, _ = (part.unflatten(2, (mha.num_heads, -1)).transpose(1, 2) for part in projected.chunk(3, 2))
    scores = Q @ K.mT / math.sqrt(p or Q.shape[3])
    return mask(scores, shown(valid_lens, X.shape[1])[:, None, None]).softmax(-1)


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


def in_training(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    return per_head(mha.train(), X, valid_lens)


def batch_last(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    mha.batch_first = False
    padding = ~shown(valid_lens, X.shape[1])
    return mha(*[X.transpose(0, 1)] * 3, key_padding_mask=padding, average_attn_weights=False)[1]


def without_checks(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    """In_proj_bias is taken for granted."""
    if mha.in_proj_bias is None:
        raise TypeError("unsupported operand type(s) for +: 'Tensor' and 'NoneType'")
    return by_hand(mha, X, valid_lens)


def filled(fill: float) -> Callable[..., Tensor]:
    return lambda *given: by_hand(*given, mask=lambda s, may: s.masked_fill(~may, fill))


RIGHT: dict[str, list[Any]] = {
    "weights-per-head": [
        per_head,
        by_hand,
        by_attn_mask,
        by_float_mask,
        example_by_example,
        lambda mha, X, lens: per_head(mha, X, lens).detach().clone(),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("weights-per-head", filled(-70), "below every score"),
    ("weights-per-head", filled(-1e38), "below every score"),
    ("weights-per-head", lambda *a: by_hand(*a, mask=lambda s, may: s - 1e30 * ~may), "can be outweighed"),
    ("weights-per-head", lambda *a: by_hand(*a, mask=lambda s, m: s.exp().where(m, 0).log()), "does an exp overflow"),
    ("weights-per-head", batch_last, "batch_first stay as they are"),
    ("weights-per-head", lambda mha, *a: per_head(mha.requires_grad_(False), *a), "requires_grad"),
    ("weights-per-head", lambda mha, X, lens: per_head(mha.double(), X.double(), lens), "Its dtype"),
    ("weights-per-head", in_training, "step by step"),
    ("weights-per-head", without_checks, "run it yourself"),
    ("weights-per-head", lambda mha, X, lens: mha(X, X, X), "take its second part"),
    ("weights-per-head", lambda *a: by_hand(*a, p=3), "step by step"),
    ("weights-per-head", lambda *a: per_head(*a)[0], "shape of each step"),
]
