"""Answers to the exercises: an encoder block and its faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def normed(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def block(norm: Callable[[Tensor], Tensor] = normed, last: int = 0) -> Callable[..., Tensor]:
    """An encoder block in pre-norm, right unless told otherwise."""

    def answer(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
        Y = norm(X)
        X = X + attention(Y, Y, Y, (valid_lens + last).clamp(min=1))
        return X + ffn(norm(X))

    return answer


def by_hand(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    for layer in (lambda Y: attention(Y, Y, Y, valid_lens), ffn):
        centred = X - X.mean(-1, keepdim=True)
        X = layer(centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()) + X
    return X


def by_examples(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    parts = zip(X.split(1), valid_lens.split(1), strict=True)
    return torch.cat([block()(x, lens, attention, ffn) for x, lens in parts])


def cut_stream(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    """The norm learns nothing of what it reads."""
    with torch.no_grad():
        Y = normed(X)
    X = X + attention(Y, Y, Y, valid_lens)
    return X + ffn(normed(X))


def without_epsilon(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / X.std(-1, keepdim=True, correction=0)


RIGHT: dict[str, list[Any]] = {"debug-block": [block(), by_hand, by_examples]}

_WRONG: list[tuple[Any, str]] = [
    (block(last=-1), "print the stream"),
    (block(without_epsilon), "an epsilon, under the root"),
    (cut_stream, "is a part of the way cut off?"),
]
WRONG: list[tuple[str, Any, str]] = [("debug-block", answer, hint) for answer, hint in _WRONG]
