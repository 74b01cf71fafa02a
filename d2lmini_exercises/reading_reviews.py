"""Checkers of the chapter "Reading reviews"."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_measured,
    expect_unchanged,
)
from d2lmini_exercises.engine import Case, exercise
from d2lmini_exercises.prediction import Number, prediction


def maximum(
    H: Tensor, valid_lens: Tensor, *, late: int = 0, filler: float = -torch.inf, penalty: float = 0.0,
    empty: float = 0.0, take: Any = lambda shown: shown.amax(1),
) -> Tensor:  # fmt: skip
    """The maximum over the steps that count, right unless told otherwise."""
    padding = (torch.arange(H.shape[1]) >= valid_lens[:, None] + late)[:, :, None]
    found = take(H - penalty * padding if penalty else H.masked_fill(padding, filler))
    return found if penalty or isinstance(found, tuple) else found.masked_fill(valid_lens[:, None] == 0, empty)


def cut(take: Any) -> Any:
    """A review at a time, cut to its words."""
    return lambda H, lens: torch.stack([take(h[:n]) for h, n in zip(H, lens, strict=True)])


EMPTY = "a review without words has nothing to take a maximum of: it has zeros"
LOUD = [
    [[4.0, -5.0], [1.0, -2.0], [5000.0, 9.0], [0.0, 5000.0]],
    [[-1.0, -2.0], [7.0, 5000.0], [8.0, 8.0], [5000.0, 9.0]],
    [[-3.0, 1.0], [-4.0, -1.0], [-2.0, 3.0], [5000.0, 5000.0]],
]
FEW = [[[2.0, -1.0], [3.0, -3.0]], [[6.0, 7.0], [8.0, 5000.0]], [[-1.0, 1.0], [-2.0, 4.0]]]
exercise(
    "debug-maximum",
    maximum,
    tuple(
        Case(f"H = torch.tensor({rows}); valid_lens = torch.tensor({lens})", hint)
        for rows, lens, hint in (
            ([[[1.0, 5.0], [4.0, 2.0], [8.0, 3.0], [5000.0, 1.0]]], [2], ""),
            ([[[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]], [2], ""),
            (LOUD, [2, 1, 3], ""),
            (
                [[[-1e30, -2e30], [5.0, 5.0]]],
                [1],
                "a state may be smaller than any number that you choose; what is smaller than all?",
            ),
            (FEW, [2, 0, 1], EMPTY),
        )
    ),
    {
        "with a length of 2 the steps 0 and 1 count: at which step does padding begin?": (
            *({"late": 1}, {"late": 1, "filler": 0.0}),
        ),
        "with a length of 2 the steps 0 and 1 count: is step 1 hidden?": {"late": -1},
        "0 is larger than a negative number: what is smaller than all?": {"filler": 0.0},
        "the last step that counts is not the maximum": lambda H, lens: H[torch.arange(len(H)), lens - 1],
        "a mean is no maximum": cut(lambda h: h.mean(0)),
        "a sum is no maximum": cut(lambda h: h.sum(0)),
        "is there a maximum of steps that do not count?": lambda H, lens: H.amax(1),
        "a penalty that is added does not hide a large state: fill, do not add": tuple(
            {"penalty": penalty} for penalty in (20.0, 100.0, 1000.0)
        ),
        "you hide the words and keep the padding": lambda H, lens: maximum(H.flip(1), H.shape[1] - lens),
        "that is the minimum": lambda H, lens: -maximum(-H, lens),
        "the largest number, not the largest size: a negative one has a sign": lambda H, lens: maximum(H.abs(), lens),
        "each review has a length of its own, not that of the shortest, longest or first": (
            lambda H, lens: H[:, : lens.min()].amax(1),
            lambda H, lens: H[:, : lens.max()].amax(1),
            lambda H, lens: H[:, : lens[0]].amax(1),
        ),
        EMPTY: ({"empty": -torch.inf}, {"empty": torch.nan}, cut(lambda h: h.amax(0)), cut(lambda h: h.max(0).values)),
        "max(dim=...) gives a pair: values and indices": (
            *({"take": lambda shown: shown.max(1)}, lambda H, lens: H.max(1)),
        ),
    },
    claim="it is the maximum over the steps that count",
    verified="padding never wins, negative numbers may, an empty review has zeros, H unchanged",
    hint="which steps count, and what never wins a maximum?",
)


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


@checker("by-luck")
def check_by_luck(enough: Any) -> str:
    """`enough(pairs, chance)`: the smallest number of right pairs that a coin reaches with less than `chance`."""
    expect_function(enough)
    for pairs, chance in ((60, 0.05), (41, 0.01), (12, 0.01), (3, 0.125), (3, 0.2), (1, 0.1), (6, 0.9)):
        expect_measured(
            enough(pairs, chance),
            _count(pairs, chance),
            claim="with one pair less right, a coin would do as well too often",
            given=f"pairs = {pairs}; chance = {chance}",
            hint="from which k on is the sum in (11.2), with `pairs` in place of 50, smaller than `chance`?",
            mistakes=_list_wrong_counts(pairs, chance),
        )
    return "the smallest number that is rare enough: at least that many, one side, exact"


def _count(pairs: int, chance: float) -> int:
    """The smallest k with P(at least k) < chance; pairs + 1 if there is none."""
    return next(k for k in range(pairs + 2) if _reach(k, pairs) < chance)


def _reach(k: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(k, pairs + 1)) / 2**pairs


def _list_wrong_counts(pairs: int, chance: float) -> dict[str, float | tuple[float, ...]]:
    right = _count(pairs, chance)
    if right > pairs:
        hint = "rarer than `chance`, not as rare: if no number is, the answer is pairs + 1"
        return {hint: tuple(float(k) for k in range(-1, pairs + 1))}
    exactly = (k for k in range(pairs // 2 + 1, pairs + 2) if _reach(k, pairs) - _reach(k + 1, pairs) < chance)
    return {
        "a coin reaches this number too often: how likely is *at least* that many?": right - 1.0,
        "is there a smaller number that is rare enough?": right + 1.0,
        "the chance of exactly that many is smaller: what about more?": float(next(exactly)),
        "only one side: a model that is always wrong is no good model": float(_count(pairs, chance / 2)),
        "a number of pairs, not a share of them": right / pairs,
        "that is the coin's chance: how many pairs are that?": _reach(right, pairs),
        "at least that many, not at most": (float(pairs - right), float(pairs - right + 1)),
        "the number of pairs need not be 50": float(_count(50, chance)),
        "is no number rare enough? A chance is between 0 and 1": (pairs + 1.0, 0.0),
    }


# Of 10, 20, 30, 40, 50 pairs, the first for which 70 % right are rarer than one in a hundred.
prediction(
    "use-luck",
    Number(
        "the number of pairs",
        40,
        hint="70 % of the pairs must be at least enough(pairs, 0.01)",
        mistakes={
            "21 of 30 are reached by luck twice in a hundred": 30,
            "14 of 20 are reached by luck once in 17": 20,
            "7 of 10 are reached by luck once in six": 10,
            "is a smaller number of pairs enough?": 50,
            "that is how many are right: of how many pairs?": 28,
        },
    ),
    right="28 of 40 by luck: fewer than one in a hundred; 21 of 30 are still twice as likely",
)
