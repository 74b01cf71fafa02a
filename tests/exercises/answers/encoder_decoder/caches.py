"""Answers to the exercises: ways to keep the keys and values of a window."""

from __future__ import annotations

import math
from collections import deque
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def cached(
    x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor,
    keep: Any = lambda kept, window: kept[-window:], scale: Any = math.sqrt,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Attention to a window of tokens with a cache, right unless told otherwise."""
    t, kept = cache or (0, ())
    q, k, v = ((x + P[t]) @ part.T for part in W)
    pairs = (*kept, (k, v))
    K, V = (torch.stack(part, dim=1) for part in zip(*pairs[-window:], strict=True))
    scores = q[:, None] @ K.mT / scale(x.shape[1])
    return (F.softmax(scores, dim=-1) @ V)[:, 0], (t + 1, keep(pairs, window))


def ask(X: Tensor, W: tuple[Tensor, ...]) -> Tensor:
    """The output at the last of the tokens."""
    Q, K, V = (X @ part.T for part in W)
    return F.scaled_dot_product_attention(Q[:, -1:], K, V)[:, 0]


def by_tokens(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Keeps the tokens with their positions, and projects them again."""
    t, tokens = cache or (0, x[:, None, :][:, :0])
    X = torch.cat([tokens, (x + P[t])[:, None]], dim=1)[:, -window:]
    return ask(X, W), (t + 1, X)


def by_bare_tokens(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    t, tokens = cache or (0, [])
    tokens = [*tokens, x][-window:]
    t += 1
    return ask(torch.stack(tokens, dim=1) + P[t - len(tokens) : t], W), (t, tokens)


def one_fewer(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Makes room for the next token at once."""
    t, tokens = cache or (0, [])
    tokens = [*tokens, x + P[t]]
    return ask(torch.stack(tokens, dim=1), W), (t + 1, tokens[max(0, len(tokens) - window + 1) :])


def in_a_ring(
    x: Tensor,
    cache: Any,
    window: int,
    P: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    empty: float = -math.inf,
) -> Any:
    """Tensors of the size of the window from the beginning; the newest token takes the place of the oldest."""
    old = cache or SimpleNamespace(K=x.new_zeros(len(x), window, x.shape[1]), V=None, t=0)
    K, V = old.K.clone(), torch.zeros_like(old.K) if old.V is None else old.V.clone()
    x = x + P[old.t]
    K[:, old.t % window], V[:, old.t % window] = x @ W_k.T, x @ W_v.T
    scores = torch.einsum("bd,bkd->bk", x @ W_q.T, K) / math.sqrt(x.shape[1])
    scores = scores.masked_fill(torch.arange(window) > old.t, empty)
    return torch.einsum("bk,bkd->bd", scores.softmax(dim=1), V), SimpleNamespace(K=K, V=V, t=old.t + 1)


def by_deque(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    t, pairs = cache or (0, deque[Any](maxlen=window))
    pairs = pairs.copy()
    x = x + P[t]
    pairs.append((F.linear(x, W[1]), F.linear(x, W[2])))
    K, V = (torch.stack(part, dim=1) for part in zip(*pairs, strict=True))
    return F.scaled_dot_product_attention((x @ W[0].T)[:, None], K, V)[:, 0], (t + 1, pairs)


def by_dict(x: Tensor, cache: Any, window: int, P: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Any]:
    empty = x.new_zeros(len(x), 0, x.shape[1])
    old = cache or {"K": empty, "V": empty, "places": torch.zeros(len(x), 0, dtype=torch.long)}
    places = old["places"]
    t = int(places[0, -1]) + 1 if places.shape[1] else 0
    x = x + P[t]
    new = {name: torch.cat([old[name], (x @ W.T)[:, None]], dim=1)[:, -window:] for name, W in (("K", W_k), ("V", W_v))}
    places = torch.cat([places, torch.full((len(x), 1), t)], dim=1)[:, -window:]
    return F.scaled_dot_product_attention((x @ W_q.T)[:, None], new["K"], new["V"])[:, 0], {**new, "places": places}


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


def in_a_list_in_place(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    cache = [0] if cache is None else cache
    cache.append(x + P[cache[0]])
    cache[0] += 1
    del cache[1:-window]
    return ask(torch.stack(cache[1:], dim=1), W), cache


def changing(x: Tensor, cache: Any, *others: Any) -> tuple[Tensor, Any]:
    result = cached(x.clone(), cache, *others)
    x += 1
    return result


def hidden(x: Tensor, cache: Any, *others: Any) -> tuple[Tensor, Any]:
    """All tokens, in a function."""
    output, kept = cached(x, cache and cache(), *others, keep=lambda kept, window: kept)
    return output, lambda: kept


RIGHT: dict[str, list[Any]] = {
    "cached-attention": [
        cached,
        lambda *args: list(cached(*args)),
        by_tokens,
        by_bare_tokens,
        one_fewer,
        in_a_ring,
        by_deque,
        by_dict,
        in_numpy,
    ]
}

_WRONG: list[tuple[Any, str]] = [
    (hidden, "which key will no later token see?"),
    (partial(cached, scale=lambda d: math.sqrt(d) / 2), "row by row"),
    (partial(in_a_ring, empty=-50.0), "far below 0"),
    (partial(in_a_ring, empty=-1e9), "far below 0"),
    (in_a_list_in_place, "an old cache must stay as it was"),
    (in_numpy_in_place, "an old cache must stay as it was"),
    (changing, "works in place"),
    (lambda x, cache, *rest: cached(x[:1], cache, *rest), "one output for the newest token"),
    (lambda x, *_: x, "return output, cache"),
    (lambda x, *_: (x, None), "None stands for an empty"),
]
WRONG: list[tuple[str, Any, str]] = [("cached-attention", *wrong) for wrong in _WRONG]
