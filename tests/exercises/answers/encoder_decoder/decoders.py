"""Answers to the exercises: a decoder block, who sees what, and what is added to what."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


def normed(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def decoder(
    X: Tensor, memory: Tensor, back: Any, across: Any, ffn: Any, training: bool,
    *, mask: Any = d2l.causal_mask, look: Any = lambda attend, Y, memory: attend(Y, memory, memory),
) -> Tensor:  # fmt: skip
    """A decoder block, right unless told otherwise."""
    Y = normed(X)
    X = X + back(Y, Y, Y, mask=mask(X.shape[1]))
    X = X + look(across, normed(X), memory)
    return X + ffn(normed(X))


def by_hand(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    """Token by token: no mask at all."""
    Y, rows = normed(X), []
    for i in range(X.shape[1]):
        rows.append(look_back(Y[:, i : i + 1], Y[:, : i + 1], Y[:, : i + 1]))
    X = X + torch.cat(rows, dim=1)
    X = X + torch.cat([look_across(row, memory, memory) for row in normed(X).split(1, dim=1)], dim=1)
    return X + ffn(normed(X))


RIGHT: dict[str, list[Any]] = {
    "debug-decoder": [decoder, by_hand],
}

WRONG: list[tuple[str, Any, str]] = [
    (
        "debug-decoder",
        lambda X, memory, back, *others: decoder(X, memory, lambda *Y, mask: back(*Y, mask), *others),
        "the mask goes by its name",
    ),
    ("debug-decoder", partial(decoder, mask=lambda n: torch.ones(n, n).tril()), "True where a query may look"),
    (
        "debug-decoder",
        partial(decoder, look=lambda f, Y, memory: f(Y, memory, memory, mask=d2l.causal_mask(Y.shape[1]))),
        "the whole source is known",
    ),
]
