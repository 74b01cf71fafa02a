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
    expect_pair,
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


_VOCABULARY = {"good": 3, "film": 2, "not": 5, "a": 4, "Paris": 6}


@checker("encode-words")
def check_encode_words(encode_words: Any) -> str:
    """`encode_words(texts, vocabulary, longest)` returns numbers of words and which of them are words, `(batch, n)`."""
    expect_function(encode_words)
    for texts, longest in (
        ([["a", "good", "film"], ["not", "good"]], 5),
        ([["good", "lighthouse", "film", "boat", "a"], ["a"]], 3),
        ([["boat"], ["not", "a", "boat"], ["film", "film"]], 3),
        ([["good", "film", "a"], [], ["boat", "not"]], 2),
        ([["not", "not", "a", "good", "boat"]], 4),
        ([["Good", "film"], ["NOT", "a", "Film"]], 3),
        ([["paris", "a", "good", "film", "not", "a"], ["Paris", "paris"]], 6),
        ([[], []], 4),
    ):
        given = f"texts = {texts}; vocabulary = {_VOCABULARY}; longest = {longest}"
        try:
            found = encode_words(texts, _VOCABULARY, longest)
        except KeyError as error:
            if not any(word in text and word not in _VOCABULARY for text in texts for word in error.args):
                raise
            hint = "vocabulary[word] fails for a word that is not in it; vocabulary.get(word, 1) does not"
            raise WrongAnswer("unknown words have a number, too", hint, given=given, got=repr(error)) from error
        except (IndexError, RuntimeError, ValueError) as error:
            if [] not in texts:
                raise
            hint = "a text has no words here: what does x[-0:] take, and how many numbers go into its row?"
            raise WrongAnswer("a text may be empty", hint, given=given, got=error) from error
        tokens, words = expect_pair(found, claim="it returns two tensors", hint="return tokens, words", given=given)
        if not isinstance(tokens, Tensor) or not isinstance(words, Tensor):
            hint, got = "make both of them tensors: torch.tensor(...)", " and ".join(type(x).__name__ for x in found)
            raise WrongAnswer("it returns two tensors", hint, given=given, got=got)
        expect_unchanged("texts", texts, texts, "work on copies", given=given)
        expect_unchanged("vocabulary", _VOCABULARY, _VOCABULARY, "work on copies", given=given)
        rows = [[_VOCABULARY.get(word, 1) for word in text] for text in texts]
        lower = [[_VOCABULARY.get(word.lower(), 1) for word in text] for text in texts]
        _expect_tokens(tokens, rows, lower, longest, given)
        _expect_words(words, rows, longest, given)
    return "unknown words are 1, padding is 0 and stands in front, long texts keep their end, and words are marked"


def _pad(rows: list[list[int]], longest: int, *, filler: int = 0, front: bool = True, last: bool = True) -> Tensor:
    rows = [row[-longest:] if last else row[:longest] for row in rows]
    width = max(map(len, rows))
    fillers = [[filler] * (width - len(row)) for row in rows]
    padded = [more + row if front else row + more for row, more in zip(rows, fillers, strict=True)]
    return torch.tensor(padded, dtype=torch.long)


def _expect_tokens(tokens: Tensor, rows: list[list[int]], lower: list[list[int]], longest: int, given: str) -> None:
    right = _pad(rows, longest)
    _expect_table(tokens, tuple(right.shape), given)
    expect_close(
        tokens,
        right,
        claim="each word becomes its number, and padding stands in front",
        given=given,
        hint="number of the word, 1 if it is unknown; the last `longest` words; zeros in front",
        mistakes=_list_wrong_tokens(rows, lower, longest, right.shape[1]),
    )


def _expect_table(tokens: Tensor, expected: tuple[int, ...], given: str) -> None:
    if tokens.dtype not in (torch.int32, torch.int64):
        hint = "an embedding is looked up by integers: int64, or int32; torch.tensor makes floats of empty lists"
        raise WrongAnswer("the numbers are integers", hint, given=given, got=tokens.dtype)
    if tokens.dim() == 2 and len(tokens) != expected[0]:
        claim, hint = "it has a row for each text", "a row for each text, also for an empty one"
        raise WrongAnswer(claim, hint, given=given, expected=expected[0], got=len(tokens))
    if tokens.dim() == 2 and tokens.shape != expected:
        hint = "the table is as wide as the longest text, but no wider than `longest`"
        claim, got = "it has a column for each place", tuple(tokens.shape)
        raise WrongAnswer(claim, hint, given=given, expected=expected, got=got)


def _list_wrong_tokens(rows: list[list[int]], lower: list[list[int]], longest: int, width: int) -> dict[str, Any]:
    known = [[token for token in row if token > 1] for row in rows]
    dropped = [[0] * (width - len(row[-longest:])) + row[-longest:] for row in known]
    without_unknown = [[0 if token == 1 else token for token in row] for row in rows]
    case = "a word is looked up as it is written: Good is not in this vocabulary, so it is unknown"
    moved = "a dropped word moves all that come before it; unknown words keep their place"
    return {
        "padding stands in front, so that each text ends at the last place": (
            _pad(rows, longest, front=False),
            _pad(rows, longest, front=False, last=False),
        ),
        "of a long text the last words are kept, not the first": _pad(rows, longest, last=False),
        "cut each text before you pad it: then zeros never push a word out": (
            _pad(rows, 99)[:, :longest],
            _pad(rows, 99, front=False)[:, -longest:],
        ),
        case: _pad(lower, longest),
        "an unknown word is 1, padding is 0: the model must tell them apart": _pad(without_unknown, longest),
        "padding is 0, an unknown word is 1: the model must tell them apart": _pad(rows, longest, filler=1),
        moved: torch.tensor(dropped, dtype=torch.long),
        "the words stand in their order: was a whole row turned round?": _pad([row[::-1] for row in rows], longest),
    }


def _expect_words(words: Tensor, rows: list[list[int]], longest: int, given: str) -> None:
    right = _pad(rows, longest) != 0
    if words.dtype != torch.bool:
        hint = "a mask holds True and False; a length cannot tell where a text begins"
        raise WrongAnswer("the second tensor is boolean", hint, given=given, got=words.dtype)
    expect_close(
        words,
        right,
        claim="it is True at words, False at padding",
        given=given,
        hint="where did you put a word, and where a zero?",
        mistakes={
            "True means a word, as in every mask of this book": ~right,
            "unknown words are words of the text: they are no padding": _pad(rows, longest) > 1,
            "the words stand at the end: the mask is about those places, too": _pad(rows, longest, front=False) != 0,
            "padding is no word": torch.ones_like(right),
        },
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
