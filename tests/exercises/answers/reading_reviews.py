"""Answers to the exercises of the chapter "Reading reviews"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


def luck(right: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(right, pairs + 1)) / 2**pairs


def enough(
    tail: Callable[[int, int], float] = luck, *, least: int = 0, reached: bool = False
) -> Callable[[int, float], int]:
    """The smallest number that is rare enough, right unless told otherwise."""

    def answer(pairs: int, chance: float) -> int:
        for k in range(least, pairs + 1):
            if tail(k, pairs) <= chance if reached else tail(k, pairs) < chance:
                return k
        return pairs + 1

    return answer


def by_tensor(pairs: int, chance: float) -> torch.Tensor:
    ways = torch.tensor([math.comb(pairs, i) for i in range(pairs + 1)], dtype=torch.float64) / 2**pairs
    tails = ways.flip(0).cumsum(0).flip(0)
    return torch.cat([tails, torch.zeros(1)]).lt(chance).long().argmax()


def exactly(k: int, pairs: int) -> float:
    return math.comb(pairs, k) / 2**pairs


def from_the_middle(pairs: int, chance: float) -> int:
    return enough(exactly, least=pairs // 2 + 1)(pairs, chance)


def maximum(filler: float = -torch.inf) -> Any:
    """The maximum over the steps that count, where padding is filled with a number."""

    def answer(H: Tensor, valid_lens: Tensor) -> Tensor:
        padding = torch.arange(H.shape[1]) >= valid_lens[:, None]
        return H.masked_fill(padding[:, :, None], filler).amax(dim=1).masked_fill(valid_lens[:, None] == 0, 0.0)

    return answer


def maximum_by_loop(H: Tensor, valid_lens: Tensor) -> Tensor:
    zeros = torch.zeros(H.shape[2])
    return torch.stack([h[:n].amax(dim=0) if n else zeros for h, n in zip(H, valid_lens.tolist(), strict=True)])


def maximum_in_numpy(H: Tensor, valid_lens: Tensor) -> Any:
    counts = np.arange(H.shape[1])[None, :, None] < valid_lens.numpy()[:, None, None]
    found = np.where(counts, H.numpy(), -np.inf).max(axis=1)
    return np.where(valid_lens.numpy()[:, None] > 0, found, 0)


Score = Callable[[Tensor], Any]


def effects(
    *, number: int = 1, hide: Callable[[Tensor, int, int], Tensor] | None = None
) -> Callable[[Score, Tensor, int], Tensor]:
    """The effects of phrases, right unless told otherwise."""

    def answer(score: Score, tokens: Tensor, width: int) -> Tensor:
        found = []
        for i in range(len(tokens) - width + 1):
            hidden = tokens.clone()
            hidden[i : i + width] = number
            found.append(float(score(tokens) - score(hide(tokens, i, width) if hide else hidden)))
        return torch.tensor(found)

    return answer


def effects_by_unfold(score: Score, tokens: Tensor, width: int) -> Tensor:
    places = torch.arange(len(tokens)).unfold(0, width, 1)  # (phrases, width)
    rows = tokens.repeat(len(places), 1).scatter(1, places, 1)
    return score(tokens) - torch.stack([score(row) for row in rows])  # type: ignore[no-any-return]


def effects_in_place(score: Score, tokens: Tensor, width: int) -> Tensor:
    whole, found = score(tokens), []
    for i in range(len(tokens) - width + 1):
        tokens[i : i + width] = 1
        found.append(whole - score(tokens))
    return torch.stack(found)


def delete(tokens: Tensor, i: int, width: int) -> Tensor:
    return torch.cat([tokens[:i], tokens[i + width :]])


def everywhere(tokens: Tensor, i: int, width: int) -> Tensor:
    return tokens.masked_fill(torch.isin(tokens, tokens[i : i + width]), 1)


def only_first_word(tokens: Tensor, i: int, width: int) -> Tensor:
    return tokens.index_fill(0, torch.tensor(i), 1)


def word_effects(score: Score, tokens: Tensor, width: int) -> Tensor:
    return effects()(score, tokens, 1).unfold(0, width, 1).sum(dim=1)


def scores_alone(score: Score, tokens: Tensor, width: int) -> Tensor:
    return float(score(tokens)) - effects()(score, tokens, width)


def hide_all(tokens: Tensor, i: int, width: int) -> Tensor:
    return torch.ones_like(tokens)


RIGHT: dict[str, list[Any]] = {
    "by-luck": [enough(), by_tensor],
    "use-luck": [[40], torch.tensor(40)],
    "debug-maximum": [maximum(), maximum_by_loop, maximum_in_numpy],
    "predict-bag": [(0.9, 0.1, 0.5), [0.9, 0.1, 0.5]],
    "effect-of-words": [effects(), effects_by_unfold],
}

WRONG: list[tuple[str, Any, str]] = [
    ("by-luck", from_the_middle, "exactly that many"),
    ("by-luck", enough(lambda k, n: luck(k + 1, n)), "how likely is *at least* that many?"),
    ("by-luck", lambda n, p: enough()(n, p) + 1, "a smaller number"),
    ("by-luck", enough(lambda k, n: 2 * luck(k, n)), "only one side"),
    ("by-luck", enough(reached=True), "the answer is pairs + 1"),
    ("by-luck", lambda n, p: enough()(50, p), "need not be 50"),
    ("by-luck", lambda n, p: luck(enough()(n, p), n), "how many pairs are that?"),
    ("by-luck", lambda n, p: n - enough()(n, p), "not at most"),
    ("by-luck", enough(lambda k, n: luck(k, n) * 2**n), "is no number rare enough?"),
    ("by-luck", lambda n, p: round(0.7 * n), "in place of 50"),
    ("use-luck", [35], "enough(pairs, 0.01)"),
    ("debug-maximum", maximum(filler=-1e9), "smaller than any number"),
    ("debug-maximum", lambda H, lens: H.amin(dim=1) - 1, "what never wins"),
    ("predict-bag", (0.9, 0.1, 0.75), "cannot change a proof"),
    ("predict-bag", (0.7, 0.1, 0.5), "how many reviews are in no pair"),
    ("predict-bag", (0.9, 0.1, 0.7), "know about order"),
    ("effect-of-words", effects(number=0), "0 is padding"),
    ("effect-of-words", effects(hide=delete), "deleting moves"),
    ("effect-of-words", effects(hide=everywhere), "the same word elsewhere stays"),
    ("effect-of-words", effects(hide=only_first_word), "which ones did you replace?"),
    ("effect-of-words", effects(hide=hide_all), "one phrase at a time"),
    ("effect-of-words", lambda score, t, w: effects()(score, t, 1), "does the last phrase begin"),
    ("effect-of-words", word_effects, "do not add up"),
    ("effect-of-words", scores_alone, "the effect is a difference"),
    ("effect-of-words", effects_in_place, "put the words back"),
    ("effect-of-words", lambda score, t, w: effects()(lambda x: score(x[None]), t, w), "one review at a time"),
]
