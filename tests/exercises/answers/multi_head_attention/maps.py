"""Answers to the exercise on the weights of PyTorch's layer, head by head."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


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
    mask: Callable[[Tensor, Tensor], Tensor] = lambda s, may: s.masked_fill(~may, -math.inf),
) -> Tensor:
    """From the matrix of the layer, with its bias."""
    projected = X @ mha.in_proj_weight.T + (0 if mha.in_proj_bias is None else mha.in_proj_bias)
    Q, K, _ = (part.unflatten(2, (mha.num_heads, -1)).transpose(1, 2) for part in projected.chunk(3, 2))
    scores = Q @ K.mT / math.sqrt(Q.shape[3])
    return mask(scores, shown(valid_lens, X.shape[1])[:, None, None]).softmax(-1)


def example_by_example(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    maps = torch.zeros(len(X), mha.num_heads, X.shape[1], X.shape[1])
    for e, length in enumerate(valid_lens.tolist()):
        own = X[e : e + 1]
        maps[e, :, :, :length] = mha(own, own[:, :length], own[:, :length], average_attn_weights=False)[1][0]
    return maps


def batch_last(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    mha.batch_first = False
    padding = ~shown(valid_lens, X.shape[1])
    return mha(*[X.transpose(0, 1)] * 3, key_padding_mask=padding, average_attn_weights=False)[1]


def filled(fill: float) -> Callable[..., Tensor]:
    return lambda *given: by_hand(*given, mask=lambda s, may: s.masked_fill(~may, fill))


RIGHT: dict[str, list[Any]] = {
    "weights-per-head": [per_head, by_hand, example_by_example],
}

WRONG: list[tuple[str, Any, str]] = [
    ("weights-per-head", filled(-1e38), "below every score"),
    ("weights-per-head", batch_last, "batch_first stay as they are"),
    ("weights-per-head", lambda mha, X, lens: per_head(mha.double(), X.double(), lens), "Its dtype"),
]
