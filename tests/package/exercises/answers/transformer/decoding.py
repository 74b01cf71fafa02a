"""Answers to the exercises: what a decoder is trained on, and how it writes: targets, caches, drafts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

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


def draft(
    count: Callable[[Tensor], Any] = lambda same: same.long().cumprod(0).sum(), *, shift: bool = True
) -> Callable[..., Any]:
    """How many tokens of a draft are right, right unless told otherwise."""

    def answer(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
        inputs = torch.cat([last, draft[:, :-1]], dim=1) if shift else draft
        logits = decoder.step(inputs, state)[0]
        return count((logits.argmax(-1) == draft)[0])

    return answer


def one_by_one(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    token = last
    for i in range(draft.shape[1]):
        logits, state, _ = decoder.step(token, state)
        token = logits.argmax(-1)
        if token.item() != draft[0, i]:
            return i
    return draft.shape[1]


RIGHT: dict[str, list[Any]] = {
    "shifted-targets": [right_targets, lambda *args: list(right_targets(*args))],
    "cached-attention": [cached(), lambda *args: list(cached()(*args))],
    "check-draft": [draft(), draft(lambda same: int(same.long().cumprod(0).sum()))],
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
    ("shifted-targets", targets_in_place, "changes the caller's tensor"),
    ("shifted-targets", lambda *args: right_targets(*args)[0], "return inputs, labels"),
    ("shifted-targets", lambda *args: [part.tolist() for part in right_targets(*args)], "return inputs, labels"),
    ("cached-attention", cached(position=lambda t: 0), "does not stand at position 0"),
    ("cached-attention", cached(position=lambda t: None), "add the token's row of P"),
    ("cached-attention", cached(position=lambda t: t + 1), "the first token stands at position 0"),
    ("cached-attention", cached(position=lambda t: t + (t > 0)), "how many were there before it?"),
    ("cached-attention", cached(position=lambda t: 2 * (t > 0)), "not the batch size"),
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
    ("check-draft", draft(lambda same: same.sum()), "later matches mean nothing"),
    ("check-draft", draft(lambda same: same.long().argmin()), "is there a first wrong token?"),
    ("check-draft", draft(lambda same: min(5, int(same.long().cumprod(0).sum()) + 1)), "itself does not count"),
    ("check-draft", draft(lambda same: 5), "does greedy decoding write each token"),
    ("check-draft", draft(shift=False), "the first input is last"),
    ("check-draft", one_by_one, "give all of it to the decoder at once"),
]
