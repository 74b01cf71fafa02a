"""Answers to the exercises: an encoder block and its faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
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


def by_names(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = nn.LayerNorm(X.shape[-1], elementwise_affine=False)(X)
    Z = torch.add(X, attention(queries=Y, keys=Y, values=Y, valid_lens=valid_lens))
    return torch.stack([Z, ffn(normed(Z))]).sum(dim=0)


def by_mask(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    mask = torch.arange(X.shape[1]) < valid_lens[:, None, None]  # (batch, 1, n)
    X = X + attention(Y, Y, Y, mask=mask.expand(-1, X.shape[1], -1))
    return X + ffn(normed(X))


def by_examples(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    parts = zip(X.split(1), valid_lens.split(1), strict=True)
    return torch.cat([block()(x, lens, attention, ffn) for x, lens in parts])


def two_norms(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    norm1, norm2 = nn.LayerNorm(X.shape[2]), nn.LayerNorm(X.shape[2])
    found = [norm1(X)] * 3
    X = X + attention(*found, valid_lens)
    return X + ffn(norm2(X))


def in_place(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    X += attention(Y, Y, Y, valid_lens)
    return X + ffn(normed(X))


def ffn_first(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    X = X + ffn(normed(X))
    Y = normed(X)
    return X + attention(Y, Y, Y, valid_lens)


def lens_first(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    return X + attention(valid_lens, Y, Y, Y)


def longer_lens(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    return block(last=X.shape[1])(X, valid_lens, attention, ffn)


def in_numbers(X: Tensor, *others: Any) -> Tensor:
    return block()(X.detach(), *others)


def cut_stream(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    """The norm learns nothing of what it reads."""
    with torch.no_grad():
        Y = normed(X)
    X = X + attention(Y, Y, Y, valid_lens)
    return X + ffn(normed(X))


def unbiased(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / X.std(-1, keepdim=True)


def without_epsilon(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / X.std(-1, keepdim=True, correction=0)


RIGHT: dict[str, list[Any]] = {
    "debug-block": [
        block(),
        by_hand,
        by_names,
        by_mask,
        by_examples,
        two_norms,
    ]
}

_WRONG: list[tuple[Any, str]] = [
    (lambda X, lens, attention, ffn: block()(X, lens, attention, lambda Y: 2 * ffn(Y)), "print"),
    (ffn_first, "print the stream"),
    (block(unbiased), "print the stream"),
    (block(last=-1), "print the stream"),
    (block(without_epsilon), "an epsilon, under the root"),
    (longer_lens, "the lengths come last, as they are"),
    (lens_first, "run it yourself"),
    (in_place, "works in place"),
    (lambda *args: block()(*args)[:, 0], "write the shape of each step"),
    (in_numbers, "what cuts the result off?"),
    (cut_stream, "is a part of the way cut off?"),
]
WRONG: list[tuple[str, Any, str]] = [("debug-block", answer, hint) for answer, hint in _WRONG]
