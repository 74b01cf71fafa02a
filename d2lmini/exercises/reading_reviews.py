"""Checkers of the chapter "Reading reviews"."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_pair,
    expect_unchanged,
    find_hint,
    is_near,
    loosen,
    read_number,
)
from d2lmini.exercises.prediction import Number, prediction

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
        },
        tolerance=0.004,
    ),
    right="0.9, 0.1 and 0.5: a proof holds for any training",
)


@checker("encode-words")
def check_encode_words(encode_words: Any) -> str:
    """`encode_words(texts, vocabulary)` returns numbers of words `(batch, n)` and lengths `(batch,)`."""
    expect_function(encode_words)
    vocabulary = {"good": 3, "film": 2, "not": 5, "a": 4}
    for texts in (
        [["a", "good", "film"], ["not", "good"]],
        [["good", "lighthouse", "film", "boat"], ["a"]],
        [["boat"], ["not", "a", "boat"]],
        [["good", "film", "a"], ["boat", "not"]],
    ):
        given = f"texts {texts}, vocabulary {vocabulary}"
        lists, known = [list(text) for text in texts], dict(vocabulary)
        try:
            found = encode_words(lists, known)
        except KeyError as error:
            hint = "vocabulary[word] fails for a word that is not in it; vocabulary.get(word, 1) does not"
            raise WrongAnswer("unknown words have a number, too", hint, given=given, got=repr(error)) from error
        tokens, lens = expect_pair(found, claim="it returns two tensors", hint="return tokens, lens", given=given)
        if not isinstance(tokens, Tensor) or not isinstance(lens, Tensor):
            hint, got = "make both of them tensors: torch.tensor(...)", " and ".join(type(x).__name__ for x in found)
            raise WrongAnswer("it returns two tensors", hint, given=given, got=got)
        expect_unchanged("texts", lists, texts, "work on copies", given=given)
        expect_unchanged("vocabulary", known, vocabulary, "work on copies", given=given)
        rows = [[vocabulary.get(word, 1) for word in text] for text in texts]
        _expect_lengths(lens, rows, given)
        _expect_tokens(tokens, rows, given)
    return "unknown words are 1, padding is 0 and stands behind, lengths count what is no padding"


def _expect_lengths(lens: Tensor, rows: list[list[int]], given: str) -> None:
    if lens.dtype not in (torch.int32, torch.int64):
        raise WrongAnswer("the lengths are integers", "torch.tensor of len(...)", given=given, got=lens.dtype)
    expect_close(
        lens,
        torch.tensor([len(row) for row in rows]),
        claim="the lengths count the words of each text",
        given=given,
        hint="how many words has each text?",
        mistakes={
            "padding does not count": torch.full((len(rows),), max(map(len, rows))),
            "unknown words are words of the text: they count": torch.tensor(
                [sum(token > 1 for token in row) for row in rows]
            ),
        },
    )


def _expect_tokens(tokens: Tensor, rows: list[list[int]], given: str) -> None:
    known = [[token for token in row if token > 1] for row in rows]
    if tokens.dtype not in (torch.int32, torch.int64):
        hint = "an embedding is looked up by integers: int64, or int32"
        raise WrongAnswer("the numbers are integers", hint, got=tokens.dtype)
    right = _pad(rows, 0)
    dropped = _pad(known, 0, right.shape[1])
    expect_close(
        tokens,
        right,
        claim="each word becomes its number, and padding stands behind",
        given=given,
        hint="number of the word, 1 if it is unknown; then zeros up to the longest text",
        mistakes={
            "an unknown word is 1, padding is 0: the model must tell them apart": _pad(
                [[0 if token == 1 else token for token in row] for row in rows], 0
            ),
            "padding is 0, an unknown word is 1: the model must tell them apart": _pad(rows, 1),
            "a dropped word moves all that follow; unknown words keep their place": dropped,
            "padding stands behind the words, not in front": _pad([row[::-1] for row in rows], 0).flip(1),
        },
    )


def _pad(rows: list[list[int]], filler: int, width: int | None = None) -> Tensor:
    width = max(map(len, rows)) if width is None else width
    return torch.tensor([row + [filler] * (width - len(row)) for row in rows])


@checker("debug-maximum")
def check_debug_maximum(maximum: Any) -> str:
    """`maximum(H, valid_lens)` returns the largest number of each feature over the steps that count."""
    expect_function(maximum)
    cases = (
        (torch.tensor([[[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]]), torch.tensor([2])),
        (torch.tensor([[[1.0, 5.0], [4.0, 2.0], [8.0, 8.0], [9.0, 9.0]]]), torch.tensor([2])),
        (torch.tensor([[[1.0, -5.0], [4.0, -2.0], [9.0, 9.0]], [[-1.0, -2.0], [7.0, 7.0], [8.0, 8.0]]]), [2, 1]),
        (torch.tensor([[[-1e30, -2e30], [5.0, 5.0]]]), torch.tensor([1])),
    )
    for H, lens in cases:
        valid_lens = torch.as_tensor(lens)
        given = f"H {H.tolist()}, valid_lens {valid_lens.tolist()}"
        argument = H.clone()
        lengths = valid_lens.clone()
        found = maximum(argument, lengths)
        expect_unchanged("valid_lens", lengths, valid_lens)
        expect_unchanged("H", argument, H, "H[...] = ... changes the caller's tensor")
        if isinstance(found, tuple):
            raise WrongAnswer("it returns a tensor", "max(dim=...) gives a pair: values and indices", given=given)
        expect_close(
            found,
            _take_maximum(H, torch.arange(H.shape[1]) >= valid_lens[:, None]),
            claim="it is the maximum over the steps that count",
            given=given,
            hint="which steps count, and what never wins a maximum?",
            mistakes=_list_wrong_maxima(H, valid_lens),
        )
    return "padding never wins, negative numbers may, H unchanged"


def _take_maximum(H: Tensor, hidden: Tensor, filler: float = -torch.inf) -> Tensor:
    return H.masked_fill(hidden[:, :, None], filler).amax(dim=1)


def _list_wrong_maxima(H: Tensor, lens: Tensor) -> dict[str, Tensor]:
    padding, later = torch.arange(H.shape[1]) >= lens[:, None], torch.arange(H.shape[1]) > lens[:, None]
    return {
        "with a length of 2 the steps 0 and 1 count: at which step does padding begin?": _take_maximum(H, later),
        "with a length of 2 the steps 0 and 1 count, and 0 is larger than a negative number": (
            _take_maximum(H, later, 0.0)
        ),
        "0 is larger than a negative number: what is smaller than all?": _take_maximum(H, padding, 0.0),
        "the last step that counts is not the maximum": H[torch.arange(len(H)), lens - 1],
        "a mean is no maximum": H.masked_fill(padding[:, :, None], 0.0).sum(dim=1) / lens[:, None],
        "is there a maximum of steps that do not count?": H.amax(dim=1),
        "a state may be smaller than any number that you choose; what is smaller than all?": (
            _take_maximum(H, padding, -100.0)
        ),
        "is a state never smaller than that? What is smaller than all?": _take_maximum(H, padding, -10.0),
        "you hide the words and keep the padding": _take_maximum(H, ~padding),
        "that is the minimum": H.masked_fill(padding[:, :, None], torch.inf).amin(dim=1),
    }


@checker("effect-of-words")
def check_effect_of_words(effect_of_words: Any) -> str:
    """`effect_of_words(score, tokens)`: by how much the score falls when a word is replaced by number 1, `(n,)`."""
    expect_function(effect_of_words)
    for tokens in (torch.tensor([2, 3, 4]), torch.tensor([5, 2]), torch.tensor([1, 3, 5, 2]), torch.tensor([2, 4, 2])):
        argument = tokens.clone()
        found = effect_of_words(_score, argument)
        expect_unchanged("tokens", argument, tokens, "clone the tokens before you replace one")
        expect_close(
            found,
            _measure_effects(tokens),
            claim="it is the fall of the score when a word is replaced",
            given=f"tokens {tokens.tolist()}",
            hint="one word at a time: score of the whole review minus score with this word replaced",
            mistakes=_list_wrong_effects(tokens),
        )
    return "one word replaced at a time, signs kept, tokens unchanged"


def _score(tokens: Tensor) -> Tensor:
    # Places count, so that deleting differs from replacing; and words depend on each other.
    weights = torch.tensor([7.0, 0.5, 3.0, -2.0, 1.0, -4.0])[tokens]
    return (weights * torch.arange(1, len(tokens) + 1)).sum() + weights.sum() ** 2 / 10


def _replace(tokens: Tensor, places: list[int], number: int = 1) -> Tensor:
    return tokens.index_fill(0, torch.tensor(places, dtype=torch.long), number)


def _measure_effects(tokens: Tensor, number: int = 1) -> Tensor:
    return torch.stack([_score(tokens) - _score(_replace(tokens, [i], number)) for i in range(len(tokens))])


def _list_wrong_effects(tokens: Tensor) -> dict[str, Tensor]:
    n, whole, right = range(len(tokens)), _score(tokens), _measure_effects(tokens)
    never_back = torch.stack([_score(_replace(tokens, [*range(i)])) for i in (*n, len(tokens))])
    deleted = torch.stack([_score(torch.cat([tokens[:i], tokens[i + 1 :]])) for i in n])
    everywhere = torch.stack([_score(tokens.masked_fill(tokens == tokens[i], 1)) for i in n])
    return {
        "a word that makes the review more positive has a positive effect": -right,
        "a fall may be negative, where a word makes the review more negative": right.abs(),
        "0 is padding; the unknown word is number 1": _measure_effects(tokens, 0),
        "deleting moves the words behind it: replace the word": whole - deleted,
        "the effect is a difference: what is the score of the whole review?": whole - right,
        "one word at a time: put the word back before you replace the next": whole - never_back[1:],
        "put the word back before you replace the next": never_back[:-1] - never_back[1:],
        "only this place: the same word elsewhere stays": whole - everywhere,
        "keep the other words: only one is replaced": torch.stack(
            [_score(_replace(tokens, [j for j in n if j != i])) for i in n]
        ),
    }


@checker("by-luck")
def check_by_luck(by_luck: Any) -> str:
    """`by_luck(right, pairs)`: probability of at least `right` heads in `pairs` throws of a fair coin."""
    expect_function(by_luck)
    for right, pairs in ((13, 20), (7, 10), (0, 3), (5, 5), (1, 1)):
        chances = [math.comb(pairs, i) / 2**pairs for i in range(pairs + 1)]
        expected = sum(chances[right:])
        answer = by_luck(right, pairs)
        got = read_number(answer)
        if is_near(got, expected, loosen(1e-6, answer, expected)):
            continue
        mistakes = {
            "*at least* that many: what about more?": chances[right],
            "*at least* includes the number itself": sum(chances[right + 1 :]),
            "that is at most, not at least": sum(chances[: right + 1]),
            "that is fewer, not at least": sum(chances[:right]),
            "only one side: a model that is always wrong is no good model": min(1.0, 2 * expected),
            "how many sequences of throws have that many heads?": 0.5**right,
            "a probability is at most 1: divide by the number of all sequences": expected * 2**pairs,
            "a probability, not per cent": expected * 100,
            "// cuts off what is behind the point": float(expected * 2**pairs // 2**pairs),
            "the number of throws may be another one than 25": expected * 2**pairs / 2**25,
        }
        raise WrongAnswer(
            "it is the probability of at least that many",
            find_hint(got, mistakes, "sum (10.2) from `right` on", 1e-6),
            given=f"right {right}, pairs {pairs}",
            expected=round(expected, 6),
            got=round(got, 6),
        )
    return "at least that many, one side, exact"
