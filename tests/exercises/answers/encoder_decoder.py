"""Answers to the exercises of the chapter "Encoder and decoder"."""

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


def cached(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Attention to a window of tokens with a cache."""
    t, kept = cache or (0, ())
    q, k, v = ((x + P[t]) @ part.T for part in W)
    pairs = (*kept, (k, v))[-window:]
    K, V = (torch.stack(part, dim=1) for part in zip(*pairs, strict=True))
    scores = q[:, None] @ K.mT / math.sqrt(x.shape[1])
    return (F.softmax(scores, dim=-1) @ V)[:, 0], (t + 1, pairs)


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
    old = np.zeros((len(x), 0, x.shape[1] + 1), dtype=x.numpy().dtype) if cache is None else cache.copy()
    t = int(old[0, -1, -1]) + 1 if old.shape[1] else 0
    newest = np.concatenate([(x + P[t]).numpy(), np.full((len(x), 1), t)], axis=1)[:, None]
    tokens = np.concatenate([old, newest], axis=1)[:, -window:].astype(x.numpy().dtype)
    return ask(torch.from_numpy(tokens[:, :, :-1]), W).numpy(), tokens


def in_numpy_in_place(x: Tensor, cache: Any, window: int, P: Tensor, *W: Tensor) -> tuple[Any, Any]:
    result = in_numpy(x, cache, window, P, *W)
    if cache is not None:
        cache.fill(0)
    return result


def normed(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def decoder(
    X: Tensor, memory: Tensor, back: Any, across: Any, ffn: Any, training: bool, *, mask: Any = d2l.causal_mask
) -> Tensor:
    """A decoder block, right unless told otherwise."""
    Y = normed(X)
    X = X + back(Y, Y, Y, mask=mask(X.shape[1]))
    X = X + across(normed(X), memory, memory)
    return X + ffn(normed(X))


def by_hand(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    """Token by token: no mask at all."""
    Y, rows = normed(X), []
    for i in range(X.shape[1]):
        rows.append(look_back(Y[:, i : i + 1], Y[:, : i + 1], Y[:, : i + 1]))
    X = X + torch.cat(rows, dim=1)
    X = X + torch.cat([look_across(row, memory, memory) for row in normed(X).split(1, dim=1)], dim=1)
    return X + ffn(normed(X))


def accept(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    """How many tokens of a draft are right."""
    logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
    return (logits.argmax(-1) == draft)[0].long().cumprod(0).sum()


def by_logits(same: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """Which tokens of the draft are right is told by their logits."""

    def answer(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
        logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
        return int(same(logits, draft[..., None]).long().cumprod(1).sum())

    return answer


def while_training(decoder: Any, *others: Any) -> Any:
    decoder.train()
    return accept(decoder, *others)


def right_targets(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    places = torch.arange(target.shape[1] + 1)
    labels = F.pad(target, (0, 1)).masked_fill(places > lens[:, None], -100)
    return F.pad(target, (1, 0), value=bos), labels.masked_fill(places == lens[:, None], eos)


def targets_by_rows(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    rows = [[*row[:n], eos] for row, n in zip(target.tolist(), lens.tolist(), strict=True)]
    labels = torch.tensor([row + [-100] * (target.shape[1] + 1 - len(row)) for row in rows])
    return torch.cat([torch.full_like(target[:, :1], bos), target], dim=1), labels


RIGHT: dict[str, list[Any]] = {
    "predict-decoder": [(35, 3072), torch.tensor([35, 3072])],
    "cached-attention": [cached, by_deque, in_numpy],
    "debug-decoder": [decoder, by_hand],
    "check-draft": [accept, by_logits(lambda logits, draft: logits.gather(2, draft) >= logits.amax(2, keepdim=True))],
    "shifted-targets": [right_targets, targets_by_rows],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-decoder", (35, 1), "how many vectors are kept"),
    ("predict-decoder", (1, 3072), "who asks, and who is asked?"),
    ("cached-attention", in_numpy_in_place, "an old cache must stay as it was"),
    ("cached-attention", lambda x, cache, *rest: cached(x[:1], cache, *rest), "one output for the newest token"),
    (
        "debug-decoder",
        lambda X, memory, back, *others: decoder(X, memory, lambda *Y, mask: back(*Y, mask), *others),
        "the mask goes by its name",
    ),
    ("debug-decoder", partial(decoder, mask=lambda n: torch.ones(n, n).tril()), "True where a query may look"),
    ("check-draft", by_logits(lambda logits, draft: logits.gather(2, draft) > 0), "print, for each place"),
    ("check-draft", while_training, "in evaluation mode"),
    ("check-draft", lambda decoder, state, *others: accept(decoder, None, *others), "goes on from what it has seen"),
    ("shifted-targets", lambda *args: [part.int() for part in right_targets(*args)], "F.cross_entropy ask for it"),
    ("shifted-targets", lambda t, n, bos, eos: right_targets(t, n, 7, eos), "bos goes in front of the row"),
    ("shifted-targets", lambda *args: right_targets(*args)[0], "return inputs, labels"),
]
