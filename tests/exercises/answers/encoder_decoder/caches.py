"""Answers to the exercises: ways to keep the keys and values of a window."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def cached(
    x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor,
    keep: Any = lambda kept, window: kept[-window:],
) -> tuple[Tensor, Any]:  # fmt: skip
    """Attention to a window of tokens with a cache, right unless told otherwise."""
    t, kept = cache or (0, ())
    q, k, v = ((x + P[t]) @ part.T for part in W)
    pairs = (*kept, (k, v))
    K, V = (torch.stack(part, dim=1) for part in zip(*pairs[-window:], strict=True))
    scores = q[:, None] @ K.mT / math.sqrt(x.shape[1])
    return (F.softmax(scores, dim=-1) @ V)[:, 0], (t + 1, keep(pairs, window))


def ask(X: Tensor, W: tuple[Tensor, ...]) -> Tensor:
    """The output at the last of the tokens."""
    Q, K, V = (X @ part.T for part in W)
    return F.scaled_dot_product_attention(Q[:, -1:], K, V)[:, 0]


def by_deque(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    t, pairs = cache or (0, deque[Any](maxlen=window))
    pairs = pairs.copy()
    x = x + P[t]
    pairs.append((F.linear(x, W[1]), F.linear(x, W[2])))
    K, V = (torch.stack(part, dim=1) for part in zip(*pairs, strict=True))
    return F.scaled_dot_product_attention((x @ W[0].T)[:, None], K, V)[:, 0], (t + 1, pairs)


def in_numpy(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Any, Any]:
    """One array; the position is its last column."""
    old = np.zeros((len(x), 0, x.shape[1] + 1), dtype=np.float32) if cache is None else cache.copy()
    t = int(old[0, -1, -1]) + 1 if old.shape[1] else 0
    newest = np.concatenate([(x + P[t]).numpy(), np.full((len(x), 1), t)], axis=1)[:, None]
    tokens = np.concatenate([old, newest], axis=1)[:, -window:].astype("float32")
    return ask(torch.from_numpy(tokens[:, :, :-1]), W).numpy(), tokens


def in_numpy_in_place(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Any, Any]:
    result = in_numpy(x, cache, window, P, *W)
    if cache is not None:
        cache.fill(0)
    return result


def hidden(x: Tensor, cache: Any, *others: Any) -> tuple[Tensor, Any]:
    """All tokens, in a function."""
    output, kept = cached(x, cache and cache(), *others, keep=lambda kept, window: kept)
    return output, lambda: kept


RIGHT: dict[str, list[Any]] = {"cached-attention": [cached, by_deque, in_numpy]}

_WRONG: list[tuple[Any, str]] = [
    (hidden, "which key will no later token see?"),
    (in_numpy_in_place, "an old cache must stay as it was"),
    (lambda x, cache, *rest: cached(x[:1], cache, *rest), "one output for the newest token"),
]
WRONG: list[tuple[str, Any, str]] = [("cached-attention", *wrong) for wrong in _WRONG]
