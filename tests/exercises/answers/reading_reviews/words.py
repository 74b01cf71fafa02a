"""Answers to the exercises: what a bag can do, how words become numbers, and what a phrase does to a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

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
    "predict-bag": [(0.9, 0.1, 0.5), [0.9, 0.1, 0.5]],
    "effect-of-words": [effects(), effects_by_unfold],
}

WRONG: list[tuple[str, Any, str]] = [
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
    ("effect-of-words", effects_in_place, "clone the tokens"),
    ("effect-of-words", lambda score, t, w: effects()(lambda x: score(x[None]), t, w), "one review at a time"),
]
