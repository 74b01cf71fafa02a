"""Attention with a cache that slides along: what is seen, where it stands, and how much is kept."""

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.engine import APART, Case, WrongAnswer, draw, exercise, expect_pair, expect_shape

_KEEP = "an old cache must stay as it was: append to a new one (torch.cat), not in place"
_SLICE = "a window of 1 leaves no old key: does a slice [-k:] do what you want where k is 0?"
_MANY = 10**5  # entries that are not looked at one by one


def newest(kept: Any, window: int) -> Any:
    return kept[-window:]


def everything(kept: Any, window: int) -> Any:
    return kept


def attend(
    x: Tensor,
    cache: Any,
    window: int,
    P: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    *,
    position: Any = lambda t, kept, x: t,
    times: float = 1,
    keys: bool = True,
    values: bool = True,
    late: str = "",
    project: Any = lambda q, k, v: (q.T, k.T, v.T),
    see: Any = newest,
    keep: Any = newest,
    scale: Any = lambda d, seen, window: math.sqrt(d),
    weigh: Any = lambda scores: F.softmax(scores, dim=-1),
) -> tuple[Tensor, Any]:
    """Attention to a window of tokens with a cache, right unless told otherwise.

    The cache is the number of tokens and, for each one kept, what its key and its value are made from. `late` says
    that positions are added to the tokens when they are seen: the rows of the window, or again at each step.
    """
    W, (t, kept) = project(W_q, W_k, W_v), cache or (0, ())
    row = position(t, len(kept), x)
    token = x if row is None else x + times * P[row]
    pairs = (*kept, ((x if late or not keys else token), (x if late or not values else token).clone()))
    seen, now = see(pairs, window), (t + 1, keep(pairs, window))
    if not seen:
        return torch.zeros_like(x), now
    K, V = (torch.stack(part, dim=1) for part in zip(*seen, strict=True))
    if late:
        K = V = K + (P[: len(seen)] if late == "window" else P[t + 1 - len(seen) : t + 1])
        token = K[:, -1]
        now = now if late == "window" else (t + 1, tuple((one, one) for one in K.unbind(dim=1)))
    scores = (token @ W[0])[:, None] @ (K @ W[1]).mT / scale(x.shape[1], K.shape[1], window)
    return (weigh(scores) @ (V @ W[2]))[:, 0], now


class Counted:
    """An answer that counts its calls, not the tokens of the cache."""

    calls = 0

    def __call__(self, x: Tensor, cache: Any, *others: Any) -> tuple[Tensor, Any]:
        self.calls = 0 if cache is None else self.calls + 1
        return attend(x, cache, *others, position=lambda *_: self.calls)


def use(answer: Any, X: Tensor, other: Any, window: int, P: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    """The outputs one by one; with another token, those that go on from old caches: it, and then the last one again."""

    def step(x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        found = answer(x, cache, window, P, W_q, W_k, W_v)
        output, kept = expect_pair(found, claim="it returns output and cache", hint="return output, cache")
        hint = "one output for the newest token of each example"
        output = expect_shape(output, x.shape, claim="the output is (batch, d)", hint=hint)
        if kept is None:
            raise WrongAnswer("the cache is returned", "None stands for an empty cache: return what is to be kept")
        return output, kept

    outputs, caches, sizes = [], [None], [0]
    for x in X.unbind(dim=1):
        output, cache = step(x, caches[-1])
        outputs.append(output)
        caches.append(cache)
        sizes.append(count_numbers(cache))  # now: the next call might lengthen it
    if other is None:
        return torch.stack(outputs, dim=1)
    batch, n, d = X.shape
    for i, got in enumerate(sizes):
        most = 2 * window * batch * d
        if got >= most + batch * d:
            raise WrongAnswer(
                f"the cache holds at most {window} keys and {window} values of {d} numbers for each example",
                _SLICE if window == 1 else "which key will no later token see?",
                expected=f"at most {most} numbers after {i} tokens of {batch} examples, and a few for positions",
                got=f"{got} numbers",
            )
    return torch.stack([step(other, caches[n - 2])[0], step(X[:, -1], caches[n - 1])[0]], dim=1)


def count_numbers(value: Any, seen: set[int] | None = None) -> int:
    """How many numbers a value holds, whatever holds them; what occurs twice counts once."""
    seen = set() if seen is None else seen
    if id(value) in seen or value is None:
        return 0
    seen.add(id(value))
    if isinstance(value, (Tensor, np.ndarray)):
        return value.numel() if isinstance(value, Tensor) else value.size
    if isinstance(value, (str, bytes)) or (isinstance(value, Collection) and len(value) > _MANY):
        return len(value)
    parts: list[Any] = [*getattr(value, "__dict__", {}).values()]
    parts += [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
    parts += getattr(value, "__defaults__", None) or ()
    parts += [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    if isinstance(value, Mapping):
        parts += [*value.values()]
    elif isinstance(value, Collection):
        parts += [*value]
    is_empty = isinstance(value, Collection) and not parts
    return 0 if is_empty else sum(count_numbers(part, seen) for part in parts) if parts else 1


def write(seed: int, batch: int, n: int, d: int, window: int, *, again: bool) -> str:
    tokens = draw(seed, X=(batch, n, d), other=(batch, d), P=(n + 4, d))
    weights = draw(seed, most=1, W_q=(d, d), W_k=(d, d), W_v=(d, d))
    return f"{tokens}; {weights}; window = {window}" + "; other = None" * (not again)


SIZES = {  # seed, batch, n, d, window
    (1, 3, 9, 5, 3): "",
    (2, 1, 6, 3, 2): "one example",
    (3, 5, 4, 2, 9): "a full window",
    (4, 2, 5, 4, 1): "a window of 1",
}
exercise(
    "cached-attention",
    attend,
    (
        *(Case(write(*size, again=False), edge=edge) for size, edge in SIZES.items()),
        Case(
            "X = torch.full((2, 1, 3), 10.0); other = None; P = torch.zeros(4, 3); W_k = W_v = torch.eye(3); "
            "W_q = -1e30 * W_k; window = 3",
            claim="a first token sees itself alone",
            edge="low scores",
        ),
        *(
            Case(
                f"X = torch.tensor([[[{a}], [{a / 2}]], [[{b}], [{b / 2}]]]); other = None; P = torch.zeros(4, 1); "
                "W_q = W_k = W_v = torch.eye(1); window = 2",
                claim="examples far apart do not disturb each other",
                edge="rows far apart",
            )
            for a, b in APART
        ),
        *(
            Case(
                write(*size, again=True),
                _KEEP,
                "after all of X one can go on with other from the cache of all but two tokens, and with the last of X "
                "from the cache before it",
            )
            for size in SIZES
        ),
    ),
    {
        "the cache stops growing, the positions do not: what must be kept beside keys and values?": (
            {"position": lambda t, kept, x: kept},
            {"position": lambda t, kept, x: kept, "keep": lambda kept, window: kept[max(0, len(kept) + 1 - window) :]},
        ),
        "the newest token does not stand at position 0: how many came before it?": {"position": lambda t, kept, x: 0},
        "add the token's row of P": {"position": lambda t, kept, x: None},
        "the first token stands at position 0": {"position": lambda t, kept, x: t + 1},
        "the second token stands at position 1: how many were there before it?": {
            "position": lambda t, kept, x: t + (t > 0)
        },
        "the position is the number of tokens that came before, not the length of a pair, of the batch or of a key": (
            {"position": lambda t, kept, x: len(x) * (t > 0)},
            {"position": lambda t, kept, x: 2 * (t > 0)},
            {"position": lambda t, kept, x: x.shape[1] * (t > 0)},
        ),
        "the window slides over the tokens, the positions stay with them: where did each token stand when it came?": {
            "late": "window"
        },
        "add the row of P once": {"times": 2},
        "a token's position is added once, when it comes": {"late": "again"},
        "keys and values have their positions, too": {"keys": False, "values": False},
        "values have their positions, too": {"values": False},
        "the position belongs to this cache: how many tokens came before it, not how often you were called": Counted(),
        "a token sees the newest `window` tokens: which ones has your newest token seen beyond them?": {
            "see": everything,
            "keep": everything,
        },
        "the newest token is one of the `window` that it sees": {"see": everything},
        "itself included: how many tokens before it may the newest one see?": {
            "see": lambda kept, window: kept[-max(1, window - 1) :]
        },
        "the cache is full: which token must go, the oldest or the newest?": (
            {"see": lambda kept, window: kept[:window], "keep": lambda kept, window: kept[:window]},
            {"see": lambda kept, window: kept[:window]},
            {"keep": lambda kept, window: kept[:window]},
            {"see": everything, "keep": lambda kept, window: kept[:window]},
            {"see": everything, "keep": lambda kept, window: kept[: window - 1]},
        ),
        "the window slides: with each new token the oldest one goes, and only that": {
            "keep": lambda kept, window: () if len(kept) == window else kept
        },
        "the newest token sees the cache as well": {"see": lambda kept, window: kept[-1:]},
        "the newest token sees itself, too: append first, then ask": (
            {"see": lambda kept, window: kept[:-1]},
            {"see": lambda kept, window: kept[:-1] or kept},
            {"see": lambda kept, window: kept[-window:][:-1]},
            {"see": lambda kept, window: kept[-window:][:-1] or kept},
        ),
        "which key will no later token see?": (
            {"keep": everything},
            {"keep": lambda kept, window: kept[-window - 1 :]},
        ),
        _SLICE: tuple(
            {"see": see, "keep": lambda kept, window: (*kept[:-1][-(window - 1) :], kept[-1])}
            for see in (newest, lambda kept, window: (*kept[:-1][-(window - 1) :], kept[-1]))
        ),
        "the softmax runs over the keys: their weights add up to 1": (
            {"weigh": lambda scores: F.softmax(scores, dim=0)},
            {"weigh": torch.ones_like},
        ),
        "the root of d, not d, nor the root of the window or of the number of keys": (
            {"scale": lambda d, seen, window: d},
            {"scale": lambda d, seen, window: math.sqrt(seen)},
            {"scale": lambda d, seen, window: math.sqrt(window)},
        ),
        "divide the scores by the root of d": {"scale": lambda d, seen, window: 1},
        "x @ W.T, not x @ W": {"project": lambda *W: W},
        "values have a projection of their own": {"project": lambda q, k, v: (q.T, k.T, k.T)},
        "keys have a projection of their own": {"project": lambda q, k, v: (q.T, q.T, v.T)},
    },
    claim="one by one gives what attention with a mask for the window gives on all tokens at once",
    verified="the newest tokens of the window at their positions, no more of them kept; old caches stay as they are",
    hint="compare with masked attention on the whole sequence, row by row: scores first",
    use=use,
)
