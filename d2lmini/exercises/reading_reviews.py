"""Checkers of the chapter "Reading reviews"."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged, read_number
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
        if not isinstance(found, (tuple, list)) or len(found) != 2 or not all(isinstance(x, Tensor) for x in found):
            several = isinstance(found, (tuple, list)) and len(found) == 2
            hint = "make both of them tensors: torch.tensor(...)" if several else "return tokens, lens"
            got = " and ".join(type(x).__name__ for x in found) if several else type(found).__name__
            raise WrongAnswer("it returns two tensors", hint, given=given, got=got)
        if lists != texts or known != vocabulary:
            raise WrongAnswer("texts and vocabulary are left unchanged", "work on copies", given=given)
        tokens, lens = found
        rows = [[vocabulary.get(word, 1) for word in text] for text in texts]
        if lens.is_floating_point() or lens.is_complex():
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
        _expect_tokens(tokens, rows, given)
    return "unknown words are 1, padding is 0 and stands behind, lengths count what is no padding"


def _expect_tokens(tokens: Tensor, rows: list[list[int]], given: str) -> None:
    known = [[token for token in row if token > 1] for row in rows]
    if tokens.is_floating_point() or tokens.is_complex():
        raise WrongAnswer("the numbers are integers", "an embedding is looked up by integers", got=tokens.dtype)
    right = _padded(rows, 0)
    dropped = _padded(known, 0, right.shape[1])
    expect_close(
        tokens,
        right,
        claim="each word becomes its number, and padding stands behind",
        given=given,
        hint="number of the word, 1 if it is unknown; then zeros up to the longest text",
        mistakes={
            "an unknown word is 1, padding is 0: the model must tell them apart": _padded(
                [[0 if token == 1 else token for token in row] for row in rows], 0
            ),
            "padding is 0, an unknown word is 1: the model must tell them apart": _padded(rows, 1),
            "a dropped word moves all that follow; unknown words keep their place": dropped,
            "padding stands behind the words, not in front": _padded([row[::-1] for row in rows], 0).flip(1),
        },
    )


def _padded(rows: list[list[int]], filler: int, width: int | None = None) -> Tensor:
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
        steps = torch.arange(H.shape[1])
        padding = (steps >= valid_lens[:, None])[:, :, None]
        later = (steps > valid_lens[:, None])[:, :, None]
        expect_close(
            found,
            H.masked_fill(padding, -torch.inf).amax(dim=1),
            claim="it is the maximum over the steps that count",
            given=given,
            hint="which steps count, and what never wins a maximum?",
            mistakes={
                "with a length of 2 the steps 0 and 1 count: at which step does padding begin?": H.masked_fill(
                    later, -torch.inf
                ).amax(dim=1),
                "with a length of 2 the steps 0 and 1 count, and 0 is larger than a negative number": H.masked_fill(
                    later, 0.0
                ).amax(dim=1),
                "0 is larger than a negative number: what is smaller than all?": H.masked_fill(padding, 0.0).amax(
                    dim=1
                ),
                "the last step that counts is not the maximum": H[torch.arange(len(H)), valid_lens - 1],
                "a mean is no maximum": H.masked_fill(padding, 0.0).sum(dim=1) / valid_lens[:, None],
                "is there a maximum of steps that do not count?": H.amax(dim=1),
                "a state may be smaller than any number that you choose; what is smaller than all?": H.masked_fill(
                    padding, -100.0
                ).amax(dim=1),
                "is a state never smaller than that? What is smaller than all?": H.masked_fill(padding, -10.0).amax(
                    dim=1
                ),
                "you hide the words and keep the padding": H.masked_fill(~padding, -torch.inf).amax(dim=1),
                "that is the minimum": H.masked_fill(padding, torch.inf).amin(dim=1),
            },
        )
    return "padding never wins, negative numbers may, H unchanged"


@checker("effect-of-words")
def check_effect_of_words(effect_of_words: Any) -> str:
    """`effect_of_words(score, tokens)`: by how much the score falls when a word is replaced by number 1, `(n,)`."""
    expect_function(effect_of_words)
    weights = torch.tensor([7.0, 0.5, 3.0, -2.0, 1.0, -4.0])

    def score(tokens: Tensor) -> Tensor:
        # Places count, so that deleting differs from replacing; and words depend on each other.
        return (weights[tokens] * torch.arange(1, len(tokens) + 1)).sum() + weights[tokens].sum() ** 2 / 10

    def replaced(tokens: Tensor, places: list[int], number: int) -> Tensor:
        return score(tokens.index_fill(0, torch.tensor(places, dtype=torch.long), number))

    for tokens in (torch.tensor([2, 3, 4]), torch.tensor([5, 2]), torch.tensor([1, 3, 5, 2]), torch.tensor([2, 4, 2])):
        given = f"tokens {tokens.tolist()}"
        argument = tokens.clone()
        found = effect_of_words(score, argument)
        expect_unchanged("tokens", argument, tokens, "clone the tokens before you replace one")
        n, whole = range(len(tokens)), score(tokens)
        right = torch.stack([whole - replaced(tokens, [i], 1) for i in n])
        never_back = torch.stack([replaced(tokens, [*range(i)], 1) for i in (*n, len(tokens))])
        expect_close(
            found,
            right,
            claim="it is the fall of the score when a word is replaced",
            given=given,
            hint="one word at a time: score of the whole review minus score with this word replaced",
            mistakes={
                "a word that makes the review more positive has a positive effect": -right,
                "a fall may be negative, where a word makes the review more negative": right.abs(),
                "0 is padding; the unknown word is number 1": torch.stack(
                    [whole - replaced(tokens, [i], 0) for i in n]
                ),
                "deleting moves the words behind it: replace the word": torch.stack(
                    [whole - score(torch.cat([tokens[:i], tokens[i + 1 :]])) for i in n]
                ),
                "the effect is a difference: what is the score of the whole review?": whole - right,
                "one word at a time: put the word back before you replace the next": whole - never_back[1:],
                "put the word back before you replace the next": never_back[:-1] - never_back[1:],
                "only this place: the same word elsewhere stays": torch.stack(
                    [whole - score(tokens.masked_fill(tokens == tokens[i], 1)) for i in n]
                ),
                "keep the other words: only one is replaced": torch.stack(
                    [replaced(tokens, [j for j in n if j != i], 1) for i in n]
                ),
            },
        )
    return "one word replaced at a time, signs kept, tokens unchanged"


@checker("by-luck")
def check_by_luck(by_luck: Any) -> str:
    """`by_luck(right, pairs)`: probability of at least `right` heads in `pairs` throws of a fair coin."""
    expect_function(by_luck)
    for right, pairs in ((13, 20), (7, 10), (0, 3), (5, 5), (1, 1)):
        chances = [math.comb(pairs, i) / 2**pairs for i in range(pairs + 1)]
        expected = sum(chances[right:])
        got = read_number(by_luck(right, pairs))
        if abs(got - expected) <= 1e-6:
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
        hint = next(
            (hint for hint, wrong in mistakes.items() if abs(got - wrong) <= 1e-6), "sum (10.2) from `right` on"
        )
        raise WrongAnswer(
            "it is the probability of at least that many",
            hint,
            given=f"right {right}, pairs {pairs}",
            expected=round(expected, 6),
            got=round(got, 6),
        )
    return "at least that many, one side, exact"
