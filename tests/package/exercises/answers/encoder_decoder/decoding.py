"""Answers to the exercises: what a decoder is trained on, and how it attends with a cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def right_targets(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    places = torch.arange(target.shape[1] + 1)
    labels = F.pad(target, (0, 1)).masked_fill(places > lens[:, None], -100)
    return F.pad(target, (1, 0), value=bos), labels.masked_fill(places == lens[:, None], eos)


def other_labels(change: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    def answer(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
        inputs, labels = right_targets(target, lens, bos, eos)
        return inputs, change(target, labels, lens, eos)

    return answer


def other_inputs(change: Callable[[Tensor, int, int], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    return lambda target, lens, bos, eos: (change(target, bos, eos), right_targets(target, lens, bos, eos)[1])


def targets_in_place(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    results = right_targets(target, lens, bos, eos)
    target[:, -1] = eos
    return results


def targets_with_eos(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    inputs, labels = right_targets(target, lens, bos, eos)
    return inputs.masked_fill(torch.arange(inputs.shape[1]) == lens[:, None] + 1, eos), labels


def hidden_padding(target: Tensor, lens: Tensor, fill: int) -> Tensor:
    return target.masked_fill(torch.arange(target.shape[1]) >= lens[:, None], fill)


def cached(
    *,
    position: Callable[[int], int | None] = lambda t: t,
    scale: Callable[[int, int], float] = lambda d, keys: math.sqrt(d),
    dim: int = -1,
    transpose: bool = True,
    value: int = 2,
    past_only: bool = False,
    keep: bool = True,
    key_position: bool = True,
) -> Callable[..., tuple[Tensor, Any]]:
    """Attention with a cache, right unless told otherwise."""

    def answer(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
        W = tuple(part.T if transpose else part for part in W)
        kept = () if cache is None else cache
        row = position(len(kept))
        placed = x if row is None else x + P[row]
        stored = placed if key_position else x
        newest = (stored @ W[1], stored @ W[value])
        pairs = (*kept, newest) if keep else (newest,)
        seen = pairs[:-1] if past_only else pairs
        if not seen:
            return torch.zeros_like(x), pairs
        K, V = (torch.stack(part, dim=1) for part in zip(*seen, strict=True))
        scores = (placed @ W[0])[:, None] @ K.mT / scale(x.shape[1], K.shape[1])
        return (F.softmax(scores, dim=dim) @ V)[:, 0], (*kept, newest)

    return answer


def cached_in_place(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    cache = [] if cache is None else cache
    cache.append(x + P[len(cache)])
    X = torch.stack(cache, dim=1)
    Q, K, V = (X @ part.T for part in W)
    return (F.softmax(Q[:, -1:] @ K.mT / math.sqrt(x.shape[1]), dim=-1) @ V)[:, 0], cache


def placed_again(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Keeps the tokens, and adds positions to all of them at each step."""
    X = x[:, None] if cache is None else torch.cat([cache, x[:, None]], dim=1)
    X = X + P[: X.shape[1]]
    Q, K, V = (X @ part.T for part in W)
    return (F.softmax(Q[:, -1:] @ K.mT / math.sqrt(x.shape[1]), dim=-1) @ V)[:, 0], X


def cached_and_changed(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    result = cached()(x.clone(), cache, P, *W)
    x += 1
    return result


def whole_again(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Keeps the bare tokens, and computes everything again."""
    tokens = [*(cache or []), x]
    X = torch.stack(tokens, dim=1) + P[: len(tokens)]
    Q, K, V = (X @ part.T for part in W)
    return F.scaled_dot_product_attention(Q, K, V, is_causal=True)[:, -1], tokens


def cached_by_dict(x: Tensor, cache: Any, P: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Any]:
    old = cache or {"K": x.new_zeros(len(x), 0, x.shape[1]), "V": x.new_zeros(len(x), 0, x.shape[1]), "n": 0}
    x = x + P[old["n"]]
    new = {name: torch.cat([old[name], F.linear(x, W)[:, None]], dim=1) for name, W in (("K", W_k), ("V", W_v))}
    scores = torch.einsum("bd,bkd->bk", F.linear(x, W_q), new["K"]) / x.shape[1] ** 0.5
    return torch.einsum("bk,bkd->bd", scores.softmax(dim=1), new["V"]), {**new, "n": old["n"] + 1}


def cached_in_numpy(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Any, Any]:
    placed = (x + P[0 if cache is None else cache.shape[1]]).numpy()[:, None]
    tokens = placed if cache is None else np.concatenate([cache, placed], axis=1)
    Q, K, V = (tokens @ part.numpy().T for part in W)
    scores = np.exp(Q[:, -1:] @ K.swapaxes(1, 2) / np.sqrt(x.shape[1]))
    return (scores / scores.sum(axis=2, keepdims=True) @ V)[:, 0], tokens


def counted_calls() -> Callable[..., tuple[Tensor, Any]]:
    """The position is counted outside of the cache; it begins again where the cache is empty."""
    calls = 0

    def answer(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
        nonlocal calls
        calls = 0 if cache is None else calls + 1
        return cached(position=lambda t: calls)(x, cache, P, *W)

    return answer


class Buffer:
    """Keys and values in tensors that are written into."""

    def __init__(self, x: Tensor) -> None:
        self.K, self.V = (torch.zeros(len(x), 9, x.shape[1]) for _ in range(2))


def buffered(x: Tensor, cache: Any, P: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Any]:
    buffer, n = cache or (Buffer(x), 0)
    x = x + P[n]
    buffer.K[:, n], buffer.V[:, n] = x @ W_k.T, x @ W_v.T
    K, V = buffer.K[:, : n + 1], buffer.V[:, : n + 1]
    weights = F.softmax((x @ W_q.T)[:, None] @ K.mT / math.sqrt(x.shape[1]), dim=-1)
    return (weights @ V)[:, 0], (buffer, n + 1)


def no_projected_cache(x: Tensor, cache: Any, P: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Any]:
    """Projects the old keys once more at each step."""
    x = x + P[0 if cache is None else cache[0].shape[1]]
    K = x[:, None] if cache is None else torch.cat([cache[0], x[:, None]], dim=1)
    V = x[:, None] if cache is None else torch.cat([cache[1], x[:, None]], dim=1)
    K, V = K @ W_k.T, V @ W_v.T
    return F.scaled_dot_product_attention((x @ W_q.T)[:, None], K, V)[:, 0], (K, V)


def eos_in_place_of_last(target: Tensor, labels: Tensor, lens: Tensor, eos: int) -> Tensor:
    places = torch.arange(labels.shape[1])
    return labels.masked_fill(places >= lens[:, None] - 1, -100).masked_fill(places == lens[:, None] - 1, eos)


RIGHT: dict[str, list[Any]] = {
    "shifted-targets": [right_targets, lambda *args: list(right_targets(*args))],
    "cached-attention": [cached(), lambda *args: list(cached()(*args)), whole_again, cached_by_dict, cached_in_numpy],
}

WRONG: list[tuple[str, Any, str]] = [
    ("shifted-targets", lambda *args: [part.float() for part in right_targets(*args)], "F.cross_entropy ask for it"),
    (
        "shifted-targets",
        lambda target, lens, bos, eos: (F.pad(target, (1, 0), value=bos),) * 2,
        "what does the decoder learn from that?",
    ),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (1, 0), value=eos)), "eos is for the labels"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (0, 1), value=bos)), "not behind"),
    ("shifted-targets", targets_with_eos, "eos is an answer of the decoder"),
    ("shifted-targets", lambda *args: right_targets(*args)[::-1], "first inputs, then labels"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: t), "write the shape"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (1, 0), value=7)), "bos goes in front, and nothing"),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(hidden_padding(t, lens, -100), (0, 1), value=eos)),
        "not at the end of the row",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.masked_fill(labels == eos, -100)),
        "how does the decoder learn where to stop?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(t, (0, 1)).scatter(1, lens[:, None], eos)),
        "what does the loss ask at the padding?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(labels[:, 1:], (0, 1), value=-100)),
        "the *next* token",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.where(labels >= 0, eos)),
        "not eos everywhere",
    ),
    ("shifted-targets", other_labels(lambda t, labels, lens, eos: labels + 1), "what comes next? After the last"),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.masked_fill(labels == 0, -100)),
        "0 may be a real token",
    ),
    ("shifted-targets", other_labels(eos_in_place_of_last), "not in its place"),
    ("shifted-targets", other_labels(lambda t, labels, lens, eos: F.pad(t, (0, 1), value=eos)), "not at the end"),
    (
        "shifted-targets",
        lambda t, lens, bos, eos: (
            F.pad(hidden_padding(t, lens, -100), (1, 0), value=bos),
            right_targets(t, lens, bos, eos)[1],
        ),
        "-100 is for the labels",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(hidden_padding(t, lens, -100), (0, 1), value=-100)),
        "how does the decoder learn where to stop?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.where(labels != -100, 0)),
        "what does the loss ask at the padding?",
    ),
    ("shifted-targets", lambda *a: [part.int() for part in right_targets(*a)], "F.cross_entropy ask for it"),
    ("shifted-targets", lambda *a: [part[:, :-1] for part in right_targets(*a)], "write the shape"),
    (
        "shifted-targets",
        lambda t, lens, bos, eos: (
            F.pad(hidden_padding(t, lens, eos), (1, 0), value=bos),
            right_targets(t, lens, bos, eos)[1],
        ),
        "the row is taken as it is",
    ),
    ("shifted-targets", targets_in_place, "changes the caller's tensor"),
    ("shifted-targets", lambda *args: right_targets(*args)[0], "return inputs, labels"),
    ("shifted-targets", lambda *args: [part.tolist() for part in right_targets(*args)], "return inputs, labels"),
    ("cached-attention", cached(position=lambda t: 0), "does not stand at position 0"),
    ("cached-attention", cached(position=lambda t: None), "add the token's row of P"),
    ("cached-attention", cached(position=lambda t: t + 1), "the first token stands at position 0"),
    ("cached-attention", cached(position=lambda t: t + (t > 0)), "how many were there before it?"),
    ("cached-attention", cached(position=lambda t: 2 * (t > 0)), "a pair of keys and values has the length 2"),
    ("cached-attention", cached(position=lambda t: 3 * (t > 0)), "not the batch size"),
    ("cached-attention", counted_calls(), "not how often you were called"),
    ("cached-attention", buffered, "an old cache must stay as it was"),
    ("cached-attention", cached(scale=lambda d, keys: math.sqrt(d) / 2), "row by row"),
    ("cached-attention", lambda x, cache, P, *W: cached()(x[:1], cache, P, *W), "one output for the newest token"),
    ("cached-attention", no_projected_cache, "row by row"),
    ("cached-attention", cached(scale=lambda d, keys: 1), "divide the scores by the root of d"),
    ("cached-attention", cached(scale=lambda d, keys: d), "the root of d, not d"),
    ("cached-attention", cached(scale=lambda d, keys: math.sqrt(keys)), "not of the number of keys"),
    ("cached-attention", cached(dim=1), "the softmax runs over the keys"),
    ("cached-attention", lambda x, cache, P, *W: cached()(x, cache, 2 * P, *W), "add the row of P once"),
    ("cached-attention", cached(keep=False), "sees the cache as well"),
    ("cached-attention", cached(past_only=True), "append first, then ask"),
    ("cached-attention", cached(transpose=False), "not x @ W"),
    ("cached-attention", cached(value=1), "a projection of their own"),
    ("cached-attention", cached(key_position=False), "keys and values have their positions, too"),
    ("cached-attention", placed_again, "added once, when it comes"),
    ("cached-attention", cached_in_place, "an old cache must stay as it was"),
    ("cached-attention", cached_and_changed, "changes the caller's tensor"),
    ("cached-attention", lambda x, cache, P, *W: x, "return output, cache"),
    ("cached-attention", lambda x, cache, P, *W: (x[:, None], ()), "one output for the newest token"),
    ("cached-attention", lambda x, cache, P, *W: (cached()(x, None, P, *W)[0], None), "None stands for an empty"),
    ("cached-attention", lambda x, cache, P, *W: (7 * x, ()), "row by row"),
]
