"""Answers to the exercises of the chapter "Reading reviews"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Score = Callable[[Tensor], Any]
Texts = list[list[str]]


def encode(
    texts: Texts,
    vocabulary: dict[str, int],
    *,
    padding: int = 0,
    unknown: int = 1,
    drop: bool = False,
    in_front: bool = False,
    keep_lens: bool = False,
) -> tuple[Tensor, Tensor]:
    rows = [[vocabulary.get(word, unknown) for word in text if not drop or word in vocabulary] for text in texts]
    lens = torch.tensor([len(row) for row in (texts if keep_lens else rows)])
    width = max(map(len, texts))
    fillers = [[padding] * (width - len(row)) for row in rows]
    return torch.tensor(
        [filler + row if in_front else row + filler for row, filler in zip(rows, fillers, strict=True)]
    ), lens


def encode_by_rows(texts: Texts, vocabulary: dict[str, int]) -> list[Tensor]:
    rows = [torch.tensor([vocabulary.get(word, 1) for word in text]) for text in texts]
    return [torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])]


def encode_and_empty(texts: Texts, vocabulary: dict[str, int]) -> tuple[Tensor, Tensor]:
    found = encode(texts, vocabulary)
    texts[0].clear()
    return found


def maximum(H: Tensor, valid_lens: Tensor, *, late: bool = False, filler: float = -torch.inf) -> Tensor:
    steps = torch.arange(H.shape[1])
    padding = steps > valid_lens[:, None] if late else steps >= valid_lens[:, None]
    return H.masked_fill(padding[:, :, None], filler).amax(dim=1)


def maximum_in_place(H: Tensor, valid_lens: Tensor) -> Tensor:
    H[torch.arange(H.shape[1]) >= valid_lens[:, None]] = -torch.inf
    return H.amax(dim=1)


def maximum_of_padding(H: Tensor, valid_lens: Tensor) -> Tensor:
    words = torch.arange(H.shape[1]) < valid_lens[:, None]
    return H.masked_fill(words[:, :, None], -torch.inf).amax(dim=1)


def maximum_by_loop(H: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.stack([states[:length].amax(dim=0) for states, length in zip(H, valid_lens.tolist(), strict=True)])


def mean_of_words(H: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.stack([states[:length].mean(dim=0) for states, length in zip(H, valid_lens.tolist(), strict=True)])


def last_word(H: Tensor, valid_lens: Tensor) -> Tensor:
    return H[torch.arange(len(H)), valid_lens - 1]


def effects(score: Score, tokens: Tensor, *, number: int = 1) -> Tensor:
    found = []
    for i in range(len(tokens)):
        hidden = tokens.clone()
        hidden[i] = number
        found.append(float(score(tokens) - score(hidden)))
    return torch.tensor(found)


def effects_of_many(score: Score, tokens: Tensor) -> Tensor:
    return torch.stack([score(tokens) - score(row) for row in tokens.repeat(len(tokens), 1).fill_diagonal_(1)])


def effects_in_place(score: Score, tokens: Tensor) -> Tensor:
    whole, found = score(tokens), []
    for i in range(len(tokens)):
        tokens[i] = 1
        found.append(whole - score(tokens))
    return torch.stack(found)


def effects_summed(score: Score, tokens: Tensor) -> Tensor:
    return effects_in_place(score, tokens.clone())


def effects_by_deleting(score: Score, tokens: Tensor) -> Tensor:
    rest = [torch.cat([tokens[:i], tokens[i + 1 :]]) for i in range(len(tokens))]
    return torch.stack([score(tokens) - score(row) for row in rest])


def effects_everywhere(score: Score, tokens: Tensor) -> Tensor:
    return torch.stack([score(tokens) - score(tokens.masked_fill(tokens == token, 1)) for token in tokens])


def maximum_and_lens(H: Tensor, valid_lens: Tensor) -> Tensor:
    found = maximum(H, valid_lens)
    valid_lens -= 1
    return found


def encode_by_place(texts: Texts, vocabulary: dict[str, int]) -> tuple[Tensor, Tensor]:
    return encode(texts, {word: number for number, word in enumerate(vocabulary, start=2)})


def effects_step_by_step(score: Score, tokens: Tensor) -> Tensor:
    hidden, found = tokens.clone(), []
    for i in range(len(tokens)):
        before = score(hidden)
        hidden[i] = 1
        found.append(before - score(hidden))
    return torch.stack(found)


def encode_strictly(texts: Texts, vocabulary: dict[str, int]) -> tuple[Tensor, Tensor]:
    rows = [torch.tensor([vocabulary[word] for word in text]) for text in texts]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(text) for text in texts])


def dropped_and_narrow(texts: Texts, vocabulary: dict[str, int]) -> tuple[Tensor, Tensor]:
    rows = [torch.tensor([vocabulary[word] for word in text if word in vocabulary]) for text in texts]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).long(), torch.tensor([len(text) for text in texts])


def scores_alone(score: Score, tokens: Tensor) -> Tensor:
    return torch.stack([score(row) for row in tokens.repeat(len(tokens), 1).fill_diagonal_(1)])


def keep_one(score: Score, tokens: Tensor) -> Tensor:
    ones = torch.ones_like(tokens)
    return torch.stack([score(torch.where(torch.arange(len(tokens)) == i, tokens, ones)) for i in range(len(tokens))])


def hide_all_but_one(score: Score, tokens: Tensor) -> Tensor:
    ones = torch.ones_like(tokens)
    return torch.stack([score(torch.where(torch.arange(len(tokens)) == i, ones, ones)) for i in range(len(tokens))])


def luck(right: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(right, pairs + 1)) / 2**pairs


def luck_by_steps(right: int, pairs: int) -> Tensor:
    chances = torch.ones(1, dtype=torch.float64)
    for _ in range(pairs):
        chances = torch.nn.functional.pad(chances, (0, 1)) / 2 + torch.nn.functional.pad(chances, (1, 0)) / 2
    return chances[right:].sum()


RIGHT: dict[str, list[Any]] = {
    "predict-bag": [(0.9, 0.1, 0.5), [0.9, 0.1, 0.5]],
    "encode-words": [encode, encode_by_rows],
    "debug-maximum": [maximum, maximum_by_loop],
    "effect-of-words": [effects, effects_of_many],
    "by-luck": [luck, luck_by_steps],
}

WRONG: list[tuple[str, Any, str]] = [
    ("encode-words", lambda t, v: (encode(t, v)[0].to(torch.uint8), encode(t, v)[1]), "looked up by integers"),
    ("predict-bag", (0.8, 0.1, 0.5), "of each pair one review is right"),
    ("predict-bag", (1.0, 0.1, 0.5), "can both be right"),
    ("predict-bag", (0.5, 0.1, 0.5), "most reviews are in no pair"),
    ("predict-bag", (180, 0.1, 0.5), "between 0 and 1"),
    ("predict-bag", (90, 0.1, 0.5), "not per cent"),
    ("predict-bag", (0.9, 20, 0.5), "between 0 and 1"),
    ("predict-bag", (0.9, 10, 0.5), "not per cent"),
    ("predict-bag", (0.9, 0.1, 0.75), "cannot change a proof"),
    ("predict-bag", (0.7, 0.1, 0.5), "how many reviews are in no pair"),
    ("predict-bag", (0.9, 0.0, 0.5), "can both be wrong"),
    ("predict-bag", (0.9, 0.2, 0.5), "only one review is right"),
    ("predict-bag", (0.9, 0.5, 0.5), "most reviews are in no pair"),
    ("predict-bag", (0.9, 0.3, 0.5), "what about the pairs"),
    ("predict-bag", (0.9, 0.1, 1.0), "do the three layers notice"),
    ("predict-bag", (0.9, 0.1, 0.9), "told where a word stands"),
    ("predict-bag", (0.9, 0.1, 0.0), "can both be wrong"),
    ("predict-bag", (0.9, 0.1, 0.7), "know about order"),
    ("encode-words", lambda *a: encode(*a, unknown=0), "padding is 0: the model must tell"),
    ("encode-words", lambda *a: encode(*a, padding=1), "an unknown word is 1: the model must tell"),
    ("encode-words", lambda *a: encode(*a, drop=True), "they count"),
    ("encode-words", lambda *a: encode(*a, drop=True, keep_lens=True), "moves all that follow"),
    ("encode-words", lambda *a: encode(*a, in_front=True), "not in front"),
    ("encode-words", lambda t, v: (encode(t, v)[0], torch.full((len(t),), max(map(len, t)))), "padding does not count"),
    ("encode-words", lambda t, v: (encode(t, v)[0] + 1, encode(t, v)[1]), "number of the word"),
    ("encode-words", lambda t, v: (encode(t, v)[0].float(), encode(t, v)[1]), "looked up by integers"),
    ("encode-words", lambda t, v: (encode(t, v)[0], encode(t, v)[1] + 1), "how many words has each text"),
    ("encode-words", lambda t, v: encode(t, v)[0], "return tokens, lens"),
    ("encode-words", encode_and_empty, "work on copies"),
    ("encode-words", encode_strictly, "vocabulary.get(word, 1)"),
    ("encode-words", dropped_and_narrow, "shape of each step"),
    ("encode-words", lambda t, v: (encode(t, v)[0].tolist(), encode(t, v)[1].tolist()), "make both of them tensors"),
    ("debug-maximum", lambda *a: maximum(*a, filler=-100.0), "smaller than any number"),
    ("debug-maximum", lambda *a: maximum(*a, filler=-10.0), "never smaller than that"),
    ("debug-maximum", lambda H, lens: H.max(dim=1), "gives a pair"),
    ("debug-maximum", lambda H, lens: -maximum(-H, lens), "that is the minimum"),
    ("debug-maximum", maximum_of_padding, "you hide the words"),
    ("encode-words", encode_by_place, "number of the word"),
    ("encode-words", lambda t, v: (encode(t, v)[0], encode(t, v)[1].float()), "torch.tensor of len"),
    ("debug-maximum", lambda *a: maximum(*a, filler=-1e9), "what never wins"),
    ("debug-maximum", maximum_and_lens, "work on a new tensor"),
    ("debug-maximum", maximum_in_place, "changes the caller's tensor"),
    ("debug-maximum", lambda *a: maximum(*a, late=True, filler=0.0), "at which step does padding begin"),
    ("debug-maximum", lambda *a: maximum(*a, late=True), "at which step does padding begin"),
    ("debug-maximum", lambda *a: maximum(*a, filler=0.0), "what is smaller than all"),
    ("debug-maximum", last_word, "is not the maximum"),
    ("debug-maximum", mean_of_words, "a mean is no maximum"),
    ("debug-maximum", lambda H, lens: H.amax(dim=1), "steps that do not count"),
    ("debug-maximum", lambda H, lens: H.amin(dim=1) - 1, "what never wins"),
    ("debug-maximum", lambda H, lens: H.amax(dim=2), "shape of each step"),
    ("effect-of-words", lambda *a: -effects(*a), "has a positive effect"),
    ("effect-of-words", lambda *a: effects(*a).abs(), "a fall may be negative"),
    ("effect-of-words", lambda *a: effects(*a, number=0), "0 is padding"),
    ("effect-of-words", effects_by_deleting, "deleting moves"),
    ("effect-of-words", scores_alone, "the effect is a difference"),
    ("effect-of-words", effects_in_place, "clone the tokens"),
    ("effect-of-words", effects_summed, "put the word back"),
    ("effect-of-words", effects_everywhere, "the same word elsewhere stays"),
    ("effect-of-words", effects_step_by_step, "put the word back"),
    ("effect-of-words", keep_one, "keep the other words"),
    ("effect-of-words", hide_all_but_one, "one word at a time"),
    ("by-luck", lambda k, n: math.comb(n, k) / 2**n, "what about more"),
    ("by-luck", lambda k, n: luck(k + 1, n), "includes the number itself"),
    ("by-luck", lambda k, n: 1 - luck(k + 1, n), "at most, not at least"),
    ("by-luck", lambda k, n: 1 - luck(k, n), "fewer, not at least"),
    ("by-luck", lambda k, n: min(1.0, 2 * luck(k, n)), "only one side"),
    ("by-luck", lambda k, n: 0.5**k, "how many sequences"),
    ("by-luck", lambda k, n: luck(k, n) * 2**n, "at most 1"),
    ("by-luck", lambda k, n: 100 * luck(k, n), "not per cent"),
    ("by-luck", lambda k, n: luck(k, n) * 2**n / 2**25, "another one than 25"),
    ("by-luck", lambda k, n: luck(k, n) * 2**n // 2**n, "cuts off"),
    ("by-luck", lambda k, n: 0.3, "from `right` on"),
]
