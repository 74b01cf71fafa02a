"""Attention with a cache that slides along: what is seen, where it stands, and how much is kept."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini_exercises.core import (
    Mistakes,
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_pair,
    expect_shape,
    expect_unchanged,
)
from d2lmini_exercises.extremes import LOW
from d2lmini_exercises.inputs import draw_inputs

_KEEP = "an old cache must stay as it was: append to a new one (torch.cat), not in place"
_SLICE = "a window of 1 leaves no old key: does a slice [-k:] do what you want where k is 0?"
_MANY = 10**5  # entries that are not looked at one by one


@checker("cached-attention")
def check_cached_attention(attend_newest: Any) -> str:
    """`attend_newest(x, cache, window, P, W_q, W_k, W_v)`: attention to the newest tokens, one by one, with a cache."""
    expect_function(attend_newest)
    for seed, batch, n, d, window in ((1, 3, 9, 5, 3), (2, 1, 6, 3, 2), (3, 5, 4, 2, 9), (4, 2, 5, 4, 1)):
        shapes = {"X": (batch, n, d), "other": (batch, d), "P": (n + 4, d)}
        (X, other, P), draw = draw_inputs(seed, most=2, **shapes)
        (*W,), draw_weights = draw_inputs(seed, most=1, W_q=(d, d), W_k=(d, d), W_v=(d, d))
        run = _Run(attend_newest, window, P, torch.stack(W), f"{draw}; {draw_weights}; window = {window}")
        outputs, caches = _expect_window(run, X)
        _expect_small(run, caches, X)
        _expect_old_caches(run, X, other, outputs, caches)
    _expect_low_scores(attend_newest)
    return "the newest tokens of the window at their positions, no more of them kept; old caches stay as they are"


class _Run:
    """The answer with its weights, called token by token."""

    def __init__(self, answer: Any, window: int, P: Tensor, W: Tensor, given: str) -> None:
        self.answer, self.window, self.P, self.W, self.given = answer, window, P, W, given

    def step(self, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Output and cache."""
        found = self.answer(x, cache, self.window, self.P, *self.W)
        claim, hint = "it returns output and cache", "return output, cache"
        output, kept = expect_pair(found, claim=claim, hint=hint, given=self.given)
        expect_unchanged("x", x, x, "x += ... changes the caller's tensor", given=self.given)
        expect_unchanged("cache", cache, cache, _KEEP, given=self.given)
        hint = "one output for the newest token of each example"
        output = expect_shape(output, x.shape, claim="the output is (batch, d)", hint=hint, given=self.given)
        if kept is None:
            raise WrongAnswer("the cache is returned", "None stands for an empty cache: return what is to be kept")
        return output, kept

    def attend(self, X: Tensor) -> Tensor:
        """What is right for a whole sequence that stands at the first positions."""
        placed = X + self.P[: X.shape[1]]
        return _attend(placed, placed, placed, self.W, _see(X.shape[1], self.window))


def _expect_window(run: _Run, X: Tensor) -> tuple[list[Tensor], list[Any]]:
    """The outputs, and the cache before each token and after the last one."""
    outputs, caches = [], [None]
    for x in X.unbind(dim=1):
        output, cache = run.step(x, caches[-1])
        outputs.append(output)
        caches.append(cache)
    expect_close(
        torch.stack(outputs, dim=1),
        run.attend(X),
        claim="one by one gives what attention with a mask for the window gives on all tokens at once",
        given=f"{run.given}  # tokens X[:, 0], X[:, 1], ...",
        hint="compare with masked attention on the whole sequence, row by row: scores first",
        mistakes={
            **_list_wrong_positions(X, run.P, run.W, run.window),
            **_list_wrong_windows(X + run.P[: X.shape[1]], run.W, run.window),
            **_list_wrong_scores(X, run.P, run.W, run.window),
        },
    )
    return outputs, caches


def _expect_small(run: _Run, caches: list[Any], X: Tensor) -> None:
    """No cache holds a key or a value more than the window; room for positions is left."""
    batch, _, d = X.shape
    for i, cache in enumerate(caches):
        most, got = 2 * run.window * batch * d, count_numbers(cache)
        if got >= most + batch * d:
            raise WrongAnswer(
                f"the cache holds at most {run.window} keys and {run.window} values of {d} numbers for each example",
                _SLICE if run.window == 1 else "which key will no later token see?",
                given=f"{run.given}  # the cache after {i} tokens",
                expected=f"at most {most} numbers, and a few for positions",
                got=f"{got} numbers",
            )


def _expect_old_caches(run: _Run, X: Tensor, other: Tensor, outputs: list[Tensor], caches: list[Any]) -> None:
    n, seen = X.shape[1], X.shape[1] - 2
    output, _ = run.step(other, caches[seen])
    tokens = torch.cat([X[:, :seen], other[:, None]], dim=1)
    counted = tokens + run.P[[*range(seen), n]]
    hint = "the position belongs to this cache: how many tokens came before it, not how often you were called"
    aside = f"{run.given}  # after all of X, other goes on from the cache of {seen} tokens"
    expect_close(
        output,
        run.attend(tokens)[:, -1],
        claim="one can go on from an old cache",
        given=aside,
        hint=_KEEP,
        mistakes={hint: _attend(counted, counted, counted, run.W, _see(seen + 1, run.window))[:, -1]},
    )
    again, _ = run.step(X[:, -1], caches[-2])
    claim, given = "after that, one can go on from the first cache as before", f"{aside}, then X[:, -1] after X[:, -2]"
    expect_close(again, outputs[-1], claim=claim, given=given, hint=_KEEP)


def _expect_low_scores(answer: Any) -> None:
    """The first token sees itself alone, however low its score is."""
    x, P, eye = torch.full((2, 3), 10.0), torch.zeros(4, 3), torch.eye(3)
    given = (
        "x = torch.full((2, 3), 10.0); P = torch.zeros(4, 3); W_k = W_v = torch.eye(3); W_q = -1e30 * W_k; window = 3"
    )
    output, _ = _Run(answer, 3, P, torch.stack([-1e30 * eye, eye, eye]), given).step(x, None)
    expect_close(output, x, claim="a first token sees itself alone", given=f"{given}; cache = None", hint=LOW)


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


def _see(n: int, window: int) -> Tensor:
    """Mask of the newest tokens, `(n, n)`."""
    return causal_mask(n).triu(1 - window)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, W: Tensor, mask: Tensor) -> Tensor:
    scores = queries @ W[0].T @ (keys @ W[1].T).mT / math.sqrt(queries.shape[2])
    return F.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num() @ (values @ W[2].T)


def _list_wrong_positions(X: Tensor, P: Tensor, W: Tensor, window: int) -> Mistakes:
    """What a token in the wrong place makes of the sequence, by the hint for it."""
    n, mask = X.shape[1], _see(X.shape[1], window)

    def stand(*rows: int) -> Tensor:
        placed = X + P[list(rows)]
        return _attend(placed, placed, placed, W, mask)

    def place(i: int, rows: Tensor) -> Tensor:
        tokens = X[:, max(0, i + 1 - window) : i + 1] + rows
        return _attend(tokens, tokens, tokens, W, torch.ones(rows.shape[0], rows.shape[0], dtype=torch.bool))[:, -1]

    lengths = [min(i + 1, window) for i in range(n)]
    turns = [P[i + 1 - k : i + 1] * torch.arange(k, 0, -1.0)[:, None] for i, k in enumerate(lengths)]
    placed, twice = X + P[:n], X + 2 * P[:n]
    return {
        "the cache stops growing, the positions do not: what must be kept beside keys and values?": (
            stand(*(min(i, window) for i in range(n))),
            stand(*(min(i, window - 1) for i in range(n))),
        ),
        "the newest token does not stand at position 0: how many came before it?": stand(*[0] * n),
        "add the token's row of P": _attend(X, X, X, W, mask),
        "the first token stands at position 0": stand(*range(1, n + 1)),
        "the second token stands at position 1: how many were there before it?": stand(0, *range(2, n + 1)),
        "the position is the number of tokens that came before, not the batch size": stand(0, *[len(X)] * (n - 1)),
        "a pair of keys and values has the length 2: how many tokens came before?": stand(0, *[2] * (n - 1)),
        "the position is the number of tokens that came before, not the width of a key": stand(
            0, *[X.shape[2]] * (n - 1)
        ),
        "the window slides over the tokens, the positions stay with them: where did each token stand when it came?": (
            torch.stack([place(i, P[:k]) for i, k in enumerate(lengths)], dim=1)
        ),
        "add the row of P once": _attend(twice, twice, twice, W, mask),
        "a token's position is added once, when it comes": torch.stack(
            [place(i, rows) for i, rows in enumerate(turns)], dim=1
        ),
        "keys and values have their positions, too": _attend(placed, X, X, W, mask),
        "values have their positions, too": _attend(placed, placed, X, W, mask),
    }


def _list_wrong_windows(placed: Tensor, W: Tensor, window: int) -> Mistakes:
    """What it gives to see too much or too little, by the hint for it."""
    n = placed.shape[1]
    places = torch.arange(n)
    causal, mask = causal_mask(n), _see(n, window)
    itself = places[:, None] == places
    first = itself & (places == 0)
    beyond = "a token sees the newest `window` tokens: which ones has your newest token seen beyond them?"
    wrong = {
        _SLICE if window == 1 else beyond: (causal,),
        "the newest token is one of the `window` that it sees": (_see(n, window + 1),),
        "itself included: how many tokens before it may the newest one see?": (_see(n, max(1, window - 1)),),
        "the cache is full: which token must go, the oldest or the newest?": (
            causal & (places < window),
            (causal & (places < window)) | itself,
            (causal & (places < window - 1)) | itself,
            (causal & (places < window) & ((places > 0) | (places[:, None] < window))) | itself,
            _see(n, window + 1) & ~(itself & (places >= window)),
        ),
        "the window slides: with each new token the oldest one goes, and only that": (
            causal & (places[:, None] // window == places // window),
        ),
        "the newest token sees the cache as well": (itself,),
        "the newest token sees itself, too: append first, then ask": tuple(
            seen | extra
            for seen in (mask.tril(-1), causal.tril(-1), causal.tril(-1).triu(-window))
            for extra in (first, torch.zeros_like(first))
        ),
    }
    return {hint: tuple(_attend(placed, placed, placed, W, seen) for seen in masks) for hint, masks in wrong.items()}


def _list_wrong_scores(X: Tensor, P: Tensor, W: Tensor, window: int) -> Mistakes:
    """What wrong scores and weights make of the sequence, by the hint for them."""
    n, mask = X.shape[1], _see(X.shape[1], window)
    placed, root = X + P[:n], math.sqrt(X.shape[2])
    by_d, unscaled = (torch.stack([W[0] * factor, W[1], W[2]]) for factor in (1 / root, root))
    by_keys = root / torch.arange(1.0, n + 1).clamp(max=window).sqrt()[:, None]
    scores = placed @ W[0].T @ (placed @ W[1].T).mT / root
    values = placed @ W[2].T

    def weigh(W: Tensor) -> Tensor:
        return _attend(placed, placed, placed, W, mask)

    return {
        "the softmax runs over the keys, not over the batch": (F.softmax(scores, dim=0) * mask) @ values,
        "the softmax runs over the keys: its weights add up to 1": mask.float() @ values,
        "the root of d, not d": weigh(by_d),
        "the root of d, not of the number of keys": _attend(placed * by_keys, placed, placed, W, mask),
        "the root of d, not of the window": weigh(torch.stack([W[0] * root / math.sqrt(window), W[1], W[2]])),
        "divide the scores by the root of d": weigh(unscaled),
        "x @ W.T, not x @ W": weigh(W.mT),
        "values have a projection of their own": weigh(W[[0, 1, 1]]),
        "keys have a projection of their own": weigh(W[[0, 0, 2]]),
    }
