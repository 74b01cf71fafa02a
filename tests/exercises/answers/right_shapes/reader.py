"""Readers, right and wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Reader(nn.Module):
    """Right, unless a subclass changes a line."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)

    def average(self, found: Tensor, real: Tensor) -> Tensor:
        return (found * real[..., None]).sum(1) / real.sum(1)[:, None]

    def forward(self, X: Tensor, valid_lens: Tensor) -> Tensor:
        real = torch.arange(X.shape[1]) < valid_lens[:, None]
        found, _ = self.attention(X, X, X, key_padding_mask=~real, need_weights=False)
        return self.average(found, real)


class OneByOne(Reader):
    """Each example, cut to its length."""

    def forward(self, X: Tensor, valid_lens: Tensor) -> Tensor:
        cut = [x[None, :n] for x, n in zip(X, valid_lens.tolist(), strict=True)]
        return torch.cat([self.attention(x, x, x)[0].mean(1) for x in cut])


class Doubled(Reader):
    def average(self, found: Tensor, real: Tensor) -> Tensor:
        return 2 * super().average(found, real)


class FirstStep(Reader):
    """The gradient of the first token alone."""

    def forward(self, X: Tensor, valid_lens: Tensor) -> Tensor:
        return super().forward(torch.cat([X[:, :1], X[:, 1:].detach()], 1), valid_lens)


class Wider(Reader):
    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__(width, num_heads)
        self.out = nn.Linear(width, width)


RIGHT: dict[str, list[Any]] = {"debug-reader": [Reader, OneByOne]}
WRONG: list[tuple[str, Any, str]] = [
    ("debug-reader", Doubled, "cut to its length"),
    ("debug-reader", FirstStep, "is a part of the way cut off"),
    ("debug-reader", Wider, "with biases, and no others"),
]
