"""What a bag can do, how words become numbers, and what a phrase does to a score."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_unchanged,
)
from d2lmini_exercises.prediction import Number, prediction

# Largest and smallest share that a bag of words gets right, and the share of pairs without positions.
prediction(
    "predict-bag",
    Number(
        "(a)",
        0.9,
        hint="how many reviews are in no pair? And how many of the others are right?",
        mistakes={
            "of each pair one review is right, whatever the answer": 0.8,
            "both reviews of a pair get the same answer: can both be right?": 1.0,
            "that is for the pairs alone; most reviews are in no pair": 0.5,
            "a share is a number between 0 and 1": 180,
            "a share is a number between 0 and 1, not per cent": 90,
        },
        tolerance=0.004,
    ),
    Number(
        "(b)",
        0.1,
        hint="the ordinary ones are wrong; what about the pairs?",
        mistakes={
            "both reviews of a pair get the same answer: can both be wrong?": 0.0,
            "of each pair only one review is right": 0.2,
            "that is for the pairs alone; most reviews are in no pair": 0.5,
            "a share is a number between 0 and 1": 20,
            "a share is a number between 0 and 1, not per cent": 10,
        },
        tolerance=0.004,
    ),
    Number(
        "(c)",
        0.5,
        hint="what does a model without positions know about order? Data cannot change a proof",
        mistakes={
            "shuffle the words: do the three layers notice?": 1.0,
            "more data, more layers: is one of them told where a word stands?": 0.9,
            "both reviews of a pair get the same answer: can both be wrong?": 0.0,
            "a share is a number between 0 and 1, not per cent": 50,
        },
        tolerance=0.004,
    ),
    right="0.9, 0.1 and 0.5: a proof holds for any training",
)


_WEIGHTS = [7.0, 0.5, 3.0, -2.0, 1.0, -4.0]


def _score(tokens: Any) -> Tensor:
    if not isinstance(tokens, Tensor) or tokens.dim() != 1:
        got = tuple(tokens.shape) if isinstance(tokens, Tensor) else type(tokens).__name__
        raise WrongAnswer("score is given a tensor of shape (n,)", "one review at a time, as a tensor", got=got)
    # Places count, so that deleting differs from replacing; and words depend on each other.
    weights = torch.tensor(_WEIGHTS)[tokens]
    return (weights * torch.arange(1, len(tokens) + 1)).sum() + weights.sum() ** 2 / 10


@checker("effect-of-words")
def check_effect_of_words(effect_of_phrases: Any) -> str:
    """`effect_of_phrases(score, tokens, width)`: the fall of the score when `width` neighbouring words become 1."""
    expect_function(effect_of_phrases)
    for numbers, width in (
        ([4, 2, 5, 3, 2], 2),
        ([5, 2, 3], 1),
        ([1, 3, 5, 2, 2, 4], 3),
        ([2, 4, 2, 2], 2),
        ([3, 2], 2),
    ):
        tokens = torch.tensor(numbers)
        code = "score = lambda t: (w[t] * torch.arange(1, len(t) + 1)).sum() + w[t].sum()**2 / 10"
        given = f"tokens = torch.tensor({numbers}); width = {width}; w = torch.tensor({_WEIGHTS}); {code}"
        found = effect_of_phrases(_score, tokens, width)
        expect_unchanged("tokens", tokens, tokens, "clone the tokens before you replace some")
        right = _measure_effects(tokens, width)
        if isinstance(found, Tensor) and found.dim() == 1 and len(found) != len(right):
            claim, hint = "there is a number for each phrase", "at which place does the last phrase begin?"
            raise WrongAnswer(claim, hint, given=given, expected=len(right), got=len(found))
        expect_close(
            found,
            right,
            claim="it is the fall of the score when a phrase is replaced",
            given=given,
            hint="one phrase at a time: score of the whole review minus score with this phrase replaced",
            mistakes=_list_wrong_effects(tokens, width),
        )
    return "one phrase replaced at a time, signs kept, tokens unchanged"


def _replace(tokens: Tensor, places: list[int], number: int = 1) -> Tensor:
    return tokens.index_fill(0, torch.tensor(places, dtype=torch.long), number)


def _measure_effects(tokens: Tensor, width: int, number: int = 1) -> Tensor:
    begins = range(len(tokens) - width + 1)
    rows = [_replace(tokens, [*range(i, i + width)], number) for i in begins]
    return torch.stack([_score(tokens) - _score(row) for row in rows])


def _list_wrong_effects(tokens: Tensor, width: int) -> dict[str, Tensor | tuple[Tensor, ...]]:
    phrases = [[*range(i, i + width)] for i in range(len(tokens) - width + 1)]
    whole, right = _score(tokens), _measure_effects(tokens, width)
    upto = [_score(tokens), *(_score(_replace(tokens, [*range(phrase[-1] + 1)])) for phrase in phrases)]
    rest = [[j for j in range(len(tokens)) if j not in phrase] for phrase in phrases]
    alone = _measure_effects(tokens, 1)
    first, last = alone[: len(phrases)], alone[width - 1 :]
    everywhere = [tokens.masked_fill(torch.isin(tokens, tokens[phrase]), 1) for phrase in phrases]
    wrong: dict[str, Tensor | tuple[Tensor, ...]] = {
        "a phrase that makes the review more positive has a positive effect": -right,
        "a fall may be negative, where a phrase makes the review more negative": right.abs(),
        "0 is padding; the unknown word is number 1": _measure_effects(tokens, width, 0),
        "deleting moves the words behind it: replace the phrase": (
            whole - torch.stack([_score(tokens[part]) for part in rest])
        ),
        "the effect is a difference: what is the score of the whole review?": whole - right,
        "one phrase at a time: put the words back before you replace the next": (
            whole - torch.stack(upto[1:]),
            torch.stack(upto[:-1]) - torch.stack(upto[1:]),
        ),
        "keep the other words: only a phrase is replaced": torch.stack(
            [_score(_replace(tokens, part)) for part in rest]
        ),
        "only this place: the same word elsewhere stays": whole - torch.stack([_score(row) for row in everywhere]),
        "the effect of the whole phrase, not of each of its words": right / width,
    }
    if width > 1:
        wrong["replace all words of a phrase together: their effects do not add up"] = torch.stack(
            [alone[phrase].sum() for phrase in phrases]
        )
        wrong["a phrase has more than one word: which ones did you replace?"] = (first, last)
    return wrong
