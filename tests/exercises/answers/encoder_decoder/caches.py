"""Answers to the exercises: ways to keep the keys and values of a window."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def cached(
    *,
    position: Callable[[int, int], int | None] = lambda t, kept: t,
    scale: Callable[[int, int], float] = lambda d, keys: math.sqrt(d),
    dim: int = -1,
    transpose: bool = True,
    key: int = 1,
    value: int = 2,
    past_only: bool = False,
    see: Callable[[tuple[Any, ...], int], tuple[Any, ...]] = lambda pairs, window: pairs[-window:],
    keep: Callable[[tuple[Any, ...], int], tuple[Any, ...]] = lambda pairs, window: pairs[-window:],
    key_position: bool = True,
    value_position: bool = True,
) -> Callable[..., tuple[Tensor, Any]]:
    """Attention to a window of tokens with a cache, right unless told otherwise."""

    def answer(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
        W = tuple(part.T if transpose else part for part in W)
        t, kept = cache or (0, ())
        row = position(t, len(kept))
        placed = x if row is None else x + P[row]
        newest = ((placed if key_position else x) @ W[key], (placed if value_position else x) @ W[value])
        pairs = (*kept, newest)
        now = t + 1, keep(pairs, window)
        seen = kept if past_only else see(pairs, window)
        if not seen:
            return torch.zeros_like(x), now
        K, V = (torch.stack(part, dim=1) for part in zip(*seen, strict=True))
        scores = (placed @ W[0])[:, None] @ K.mT / scale(x.shape[1], K.shape[1])
        return (F.softmax(scores, dim=dim) @ V)[:, 0], now

    return answer


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
    t, pairs = cache or (0, deque(maxlen=window))
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


def in_a_ring_in_place(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> Any:
    """The new cache has the tensor of the old one."""
    ring, t = cache or (SimpleNamespace(X=torch.zeros(len(x), window, x.shape[1])), 0)
    ring.X[:, t % window] = x + P[t]
    order = [i % window for i in range(max(0, t + 1 - window), t + 1)]
    return ask(ring.X[:, order], W), (ring, t + 1)


def changing(x: Tensor, cache: Any, *others: Any) -> tuple[Tensor, Any]:
    result = cached()(x.clone(), cache, *others)
    x += 1
    return result


def counted_calls() -> Callable[..., tuple[Tensor, Any]]:
    """The position is counted outside of the cache; it begins again where the cache is empty."""
    calls = 0

    def answer(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
        nonlocal calls
        calls = 0 if cache is None else calls + 1
        return cached(position=lambda t, kept: calls)(x, cache, window, P, *W)

    return answer


def placed_in_the_window(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Keeps bare tokens, and numbers those of the window from 0."""
    tokens = [*(cache or []), x][-window:]
    return ask(torch.stack(tokens, dim=1) + P[: len(tokens)], W), tokens


def placed_again(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Keeps the tokens, and adds positions to all of them at each step."""
    t, tokens = cache or (0, [])
    t += 1
    X = torch.stack([*tokens, x][-window:], dim=1)
    X = X + P[t - X.shape[1] : t]
    return ask(X, W), (t, [*X.unbind(dim=1)])


def projected_again(x: Tensor, cache: Any, window: int, P: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    """Projects the old keys once more at each step."""
    t, K, V = cache or (0, None, None)
    x = x + P[t]
    K, V = (x[:, None] if old is None else torch.cat([old, x[:, None]], dim=1)[:, -window:] for old in (K, V))
    K, V = K @ W_k.T, V @ W_v.T
    return F.scaled_dot_product_attention((x @ W_q.T)[:, None], K, V)[:, 0], (t + 1, K, V)


def trimmed_before(
    x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor, masked: bool = True
) -> tuple[Tensor, Any]:
    """Cuts the old tokens with a slice that is the whole cache where the window is 1, and asks with a mask or not."""
    t, tokens = cache or (0, x[:, None][:, :0])
    X = torch.cat([tokens[:, -(window - 1) :], (x + P[t])[:, None]], dim=1)
    return ask(X[:, -window:] if masked else X, W), (t + 1, X)


def started_again(pairs: tuple[Any, ...], window: int) -> tuple[Any, ...]:
    return () if len(pairs) == window else pairs


def everything(pairs: tuple[Any, ...], window: int) -> tuple[Any, ...]:
    return pairs


def hidden(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """All tokens, in a function."""
    output, kept = cached(keep=everything)(x, None if cache is None else cache(), window, P, *W)
    return output, lambda: kept


def hidden_in_a_default(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    output, kept = cached(keep=everything)(x, None if cache is None else cache(), window, P, *W)
    return output, lambda kept=kept: kept


def asked(kept: Callable[..., Any]) -> Callable[..., tuple[Tensor, Any]]:
    """An answer that returns something else as its cache."""
    return lambda x, cache, window, P, *W: (cached()(x, None, window, P, *W)[0], kept(x))


RIGHT: dict[str, list[Any]] = {
    "cached-attention": [
        cached(),
        lambda *args: list(cached()(*args)),
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
    (cached(position=lambda t, kept: kept), "the cache stops growing, the positions do not"),
    (cached(position=lambda t, kept: min(t, 2)), "the cache stops growing, the positions do not"),
    (cached(position=lambda t, kept: 0), "does not stand at position 0"),
    (cached(position=lambda t, kept: None), "add the token's row of P"),
    (cached(position=lambda t, kept: t + 1), "the first token stands at position 0"),
    (cached(position=lambda t, kept: t + (t > 0)), "how many were there before it?"),
    (cached(position=lambda t, kept: 2 * (t > 0)), "a pair of keys and values has the length 2"),
    (cached(position=lambda t, kept: 3 * (t > 0)), "not the batch size"),
    (cached(position=lambda t, kept: 5 * (t > 0)), "not the width of a key"),
    (counted_calls(), "not how often you were called"),
    (placed_in_the_window, "the positions stay with them"),
    (placed_again, "added once, when it comes"),
    (lambda x, cache, window, P, *W: cached()(x, cache, window, 2 * P, *W), "add the row of P once"),
    (cached(key_position=False, value_position=False), "keys and values have their positions, too"),
    (cached(value_position=False), "values have their positions, too"),
    (cached(see=everything, keep=everything), "which ones has your newest token seen beyond them?"),
    (cached(see=everything), "the newest token is one of the `window`"),
    (lambda x, cache, window, *rest: cached()(x, cache, max(1, window - 1), *rest), "itself included: how many"),
    (cached(see=lambda pairs, window: pairs[:window]), "which token must go"),
    (cached(keep=lambda pairs, window: pairs[:window]), "which token must go"),
    (cached(see=everything, keep=lambda pairs, window: pairs[:window]), "which token must go"),
    (cached(see=lambda p, w: p[:w], keep=lambda p, w: p[:w]), "which token must go"),
    (cached(keep=started_again), "the window slides"),
    (cached(keep=everything), "which key will no later token see?"),
    (cached(keep=lambda pairs, window: pairs[-window - 1 :]), "which key will no later token see?"),
    (trimmed_before, "where k is 0"),
    (partial(trimmed_before, masked=False), "where k is 0"),
    (hidden_in_a_default, "which key will no later token see?"),
    (hidden, "which key will no later token see?"),
    (cached(see=lambda pairs, window: pairs[-1:]), "sees the cache as well"),
    (cached(past_only=True), "append first, then ask"),
    (cached(dim=1), "the softmax runs over the keys: its"),
    (cached(dim=0), "not over the batch"),
    (cached(scale=lambda d, keys: 1), "divide the scores by the root of d"),
    (cached(scale=lambda d, keys: d), "the root of d, not d"),
    (cached(scale=lambda d, keys: math.sqrt(keys)), "not of the number of keys"),
    (cached(scale=lambda d, keys: math.sqrt(3)), "not of the window"),
    (cached(scale=lambda d, keys: math.sqrt(d) / 2), "row by row"),
    (cached(transpose=False), "not x @ W"),
    (cached(value=1), "values have a projection of their own"),
    (cached(key=0), "keys have a projection of their own"),
    (projected_again, "row by row"),
    (in_a_list_in_place, "an old cache must stay as it was"),
    *((partial(in_a_ring, empty=low), "far below 0") for low in (-50.0, -100.0, -1e4, -1e9)),
    (in_a_ring_in_place, "an old cache must stay as it was"),
    (in_numpy_in_place, "an old cache must stay as it was"),
    (changing, "changes the caller's tensor"),
    (lambda x, cache, *rest: cached()(x[:1], cache, *rest), "one output for the newest token"),
    (lambda x, *_: x, "return output, cache"),
    (lambda x, *_: (x[:, None], ()), "one output for the newest token"),
    (lambda x, *_: (7 * x, ()), "row by row"),
    (asked(lambda x: None), "None stands for an empty"),
]
WRONG: list[tuple[str, Any, str]] = [("cached-attention", answer, hint) for answer, hint in _WRONG]
