"""Answers to the exercises: what a bag can do, how words become numbers, and what a phrase does to a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

Score = Callable[[Tensor], Any]
Texts = list[list[str]]


def encode(
    *,
    padding: int = 0,
    unknown: int = 1,
    drop: bool = False,
    front: bool = True,
    last: bool = True,
    fixed: bool = False,
    words: Callable[[Tensor, Tensor], Any] = lambda tokens, words: words,
) -> Callable[[Texts, dict[str, int], int], Any]:
    """Numbers of words and a mask, right unless told otherwise."""

    def answer(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
        rows = [[vocabulary.get(word, unknown) for word in text if not drop or word in vocabulary] for text in texts]
        rows = [row[-longest:] if last else row[:longest] for row in rows]
        width = longest if fixed else max(min(len(text), longest) for text in texts)
        tokens = torch.full((len(rows), width), padding)
        mask = torch.zeros(len(rows), width, dtype=torch.bool)
        for i, row in enumerate(rows):
            place = slice(width - len(row), width) if front else slice(0, len(row))
            tokens[i, place] = torch.tensor(row, dtype=torch.long)
            mask[i, place] = True
        return tokens, words(tokens, mask)

    return answer


def encode_by_rows(texts: Texts, vocabulary: dict[str, int], longest: int) -> list[Tensor]:
    rows = [torch.tensor([vocabulary.get(w, 1) for w in text][-longest:], dtype=torch.long).flip(0) for text in texts]
    tokens = pad_sequence(rows, batch_first=True).flip(1)
    return [tokens, tokens > 0]


def encode_in_numpy(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    width = min(longest, max(len(text) for text in texts))
    tokens = np.zeros((len(texts), width), dtype=np.int64)
    for row, text in zip(tokens, texts, strict=True):
        for i, word in enumerate(reversed(text[-width:])):
            row[width - 1 - i] = vocabulary.get(word, 1)
    return tokens, tokens != 0


def encode_by_left_padding(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    rows = [torch.tensor([vocabulary.get(w, 1) for w in t[-longest:]], dtype=torch.int32) for t in texts]
    tokens = pad_sequence(rows, batch_first=True, padding_side="left")
    lens = torch.tensor([len(row) for row in rows])
    return tokens, torch.arange(tokens.shape[1]) >= tokens.shape[1] - lens[:, None]


def encode_from_behind(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    """Of an empty text it takes the slice -0: that is, the whole row."""
    tokens = torch.zeros(len(texts), min(longest, max(map(len, texts))), dtype=torch.long)
    for row, text in zip(tokens, texts, strict=True):
        kept = text[-longest:]
        row[-len(kept) :] = torch.tensor([vocabulary.get(word, 1) for word in kept])
    return tokens, tokens != 0


def encode_and_empty(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    found = encode()(texts, vocabulary, longest)
    texts[0].clear()
    return found


def encode_strictly(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    return encode()(texts, {word: vocabulary[word] for text in texts for word in text}, longest)


def encode_and_add(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    found = encode()(texts, vocabulary, longest)
    for text in texts:
        for word in text:
            vocabulary.setdefault(word, 1)
    return found


def encode_turned(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    tokens, words = encode(front=False)(texts, vocabulary, longest)
    return tokens.flip(1), words.flip(1)


def encode_reversed(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    return encode()([text[::-1] for text in texts], vocabulary, longest)


def encode_by_place(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    return encode()(texts, {word: number for number, word in enumerate(vocabulary, start=2)}, longest)


def effects(
    *, number: int = 1, hide: Callable[[Tensor, int, int], Tensor] | None = None, step: int = 1, more: int = 0
) -> Callable[[Score, Tensor, int], Tensor]:
    """The effects of phrases, right unless told otherwise."""

    def answer(score: Score, tokens: Tensor, width: int) -> Tensor:
        found = []
        for i in range(0, len(tokens) - width + 1 + more, step):
            hidden = tokens.clone()
            hidden[i : i + width] = number
            found.append(float(score(tokens) - score(hide(tokens, i, width) if hide else hidden)))
        return torch.tensor(found)

    return answer


def effects_by_unfold(score: Score, tokens: Tensor, width: int) -> Tensor:
    places = torch.arange(len(tokens)).unfold(0, width, 1)  # (phrases, width)
    rows = tokens.repeat(len(places), 1).scatter(1, places, 1)
    return score(tokens) - torch.stack([score(row) for row in rows])  # type: ignore[no-any-return]


def effects_by_where(score: Score, tokens: Tensor, width: int) -> list[float]:
    n, i = len(tokens), torch.arange(len(tokens))
    return [
        (score(tokens) - score(torch.where((i >= k) & (i < k + width), 1, tokens))).item() for k in range(n - width + 1)
    ]


def effects_by_cat(score: Score, tokens: Tensor, width: int) -> Tensor:
    ones = torch.ones(width, dtype=torch.long)
    begins = range(len(tokens) - width + 1)
    rows = [torch.cat([tokens[:k], ones, tokens[k + width :]]) for k in begins]
    return torch.stack([score(tokens) - score(row) for row in rows])


def effects_in_place(score: Score, tokens: Tensor, width: int) -> Tensor:
    whole, found = score(tokens), []
    for i in range(len(tokens) - width + 1):
        tokens[i : i + width] = 1
        found.append(whole - score(tokens))
    return torch.stack(found)


def effects_summed(score: Score, tokens: Tensor, width: int) -> Tensor:
    return effects_in_place(score, tokens.clone(), width)


def effects_step_by_step(score: Score, tokens: Tensor, width: int) -> Tensor:
    hidden, found = tokens.clone(), []
    for i in range(len(tokens) - width + 1):
        before = score(hidden)
        hidden[i : i + width] = 1
        found.append(before - score(hidden))
    return torch.stack(found)


def delete(tokens: Tensor, i: int, width: int) -> Tensor:
    return torch.cat([tokens[:i], tokens[i + width :]])


def everywhere(tokens: Tensor, i: int, width: int) -> Tensor:
    return tokens.masked_fill(torch.isin(tokens, tokens[i : i + width]), 1)


def only_first_word(tokens: Tensor, i: int, width: int) -> Tensor:
    return tokens.index_fill(0, torch.tensor(i), 1)


def only_last_word(tokens: Tensor, i: int, width: int) -> Tensor:
    return tokens.index_fill(0, torch.tensor(i + width - 1), 1)


def word_effects(score: Score, tokens: Tensor, width: int) -> Tensor:
    return effects()(score, tokens, 1).unfold(0, width, 1).sum(dim=1)


def scores_alone(score: Score, tokens: Tensor, width: int) -> Tensor:
    return float(score(tokens)) - effects()(score, tokens, width)


def keep_one(score: Score, tokens: Tensor, width: int) -> Tensor:
    ones = torch.ones_like(tokens)
    rows = []
    for i in range(len(tokens) - width + 1):
        row = ones.clone()
        row[i : i + width] = tokens[i : i + width]
        rows.append(score(row))
    return torch.stack(rows)


def hide_all(tokens: Tensor, i: int, width: int) -> Tensor:
    return torch.ones_like(tokens)


RIGHT: dict[str, list[Any]] = {
    "predict-bag": [(0.9, 0.1, 0.5), [0.9, 0.1, 0.5]],
    "encode-words": [encode(), encode_by_rows, encode_in_numpy, encode_by_left_padding],
    "effect-of-words": [effects(), effects_by_unfold, effects_by_where, effects_by_cat],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-bag", (0.9, 0.1, 0.75), "cannot change a proof"),
    ("predict-bag", (0.7, 0.1, 0.5), "how many reviews are in no pair"),
    ("predict-bag", (0.9, 0.3, 0.5), "what about the pairs"),
    ("predict-bag", (0.9, 0.1, 0.7), "know about order"),
    ("encode-words", encode(front=False), "padding stands in front"),
    ("encode-words", lambda texts, vocabulary, longest: vocabulary["no such word"], "run it yourself"),
    ("encode-words", encode(last=False), "not the first"),
    ("encode-words", encode(front=False, last=False), "padding stands in front"),
    ("encode-words", encode(fixed=True), "no wider than `longest`"),
    ("encode-words", lambda t, v, n: encode()(t, v, 99), "no wider than `longest`"),
    ("encode-words", encode(unknown=0), "padding is 0: the model must tell"),
    ("encode-words", encode(padding=1), "an unknown word is 1: the model must tell"),
    ("encode-words", encode(drop=True), "moves all that come before it"),
    ("encode-words", encode_turned, "was a whole row turned round?"),
    ("encode-words", encode_reversed, "the words stand in their order"),
    ("encode-words", encode_by_place, "number of the word"),
    ("encode-words", encode_and_empty, "work on copies"),
    ("encode-words", encode_and_add, "work on copies"),
    ("encode-words", encode_from_behind, "what does x[-0:] take"),
    ("encode-words", encode_strictly, "vocabulary.get(word, 1)"),
    ("encode-words", encode(words=lambda tokens, words: words.sum(dim=1)), "where a text begins"),
    ("encode-words", encode(words=lambda tokens, words: words.long()), "a mask holds True and False"),
    ("encode-words", encode(words=lambda tokens, words: ~words), "True means a word"),
    ("encode-words", encode(words=lambda tokens, words: tokens > 1), "they are no padding"),
    ("encode-words", encode(words=lambda tokens, words: words.flip(1)), "about those places, too"),
    ("encode-words", encode(words=lambda tokens, words: words | True), "padding is no word"),
    ("encode-words", encode(words=lambda tokens, words: words.any(dim=1)), "shape of each step"),
    ("encode-words", lambda *a: encode()(*a)[0], "return tokens, words"),
    ("encode-words", lambda *a: [part.tolist() for part in encode()(*a)], "make both of them tensors"),
    ("encode-words", lambda *a: (encode()(*a)[0].float(), encode()(*a)[1]), "looked up by integers"),
    ("encode-words", lambda *a: (encode()(*a)[0].to(torch.uint8), encode()(*a)[1]), "looked up by integers"),
    ("encode-words", lambda *a: (encode()(*a)[0] + 1, encode()(*a)[1]), "number of the word"),
    ("effect-of-words", lambda *a: -effects()(*a), "has a positive effect"),
    ("effect-of-words", lambda *a: effects()(*a).abs(), "a fall may be negative"),
    ("effect-of-words", effects(number=0), "0 is padding"),
    ("effect-of-words", effects(hide=delete), "deleting moves"),
    ("effect-of-words", effects(hide=everywhere), "the same word elsewhere stays"),
    ("effect-of-words", effects(hide=only_first_word), "which ones did you replace?"),
    ("effect-of-words", effects(hide=only_last_word), "which ones did you replace?"),
    ("effect-of-words", effects(hide=hide_all), "one phrase at a time"),
    ("effect-of-words", effects(step=2), "does the last phrase begin"),
    ("effect-of-words", effects(more=1), "does the last phrase begin"),
    ("effect-of-words", lambda score, t, w: effects()(score, t, 1), "does the last phrase begin"),
    ("effect-of-words", word_effects, "do not add up"),
    ("effect-of-words", lambda score, t, w: effects()(score, t, w) / w, "not of each of its words"),
    ("effect-of-words", scores_alone, "the effect is a difference"),
    ("effect-of-words", effects_in_place, "clone the tokens"),
    ("effect-of-words", effects_summed, "put the words back"),
    ("effect-of-words", effects_step_by_step, "put the words back"),
    ("effect-of-words", keep_one, "keep the other words"),
    ("effect-of-words", lambda score, t, w: effects()(lambda x: score(x.tolist()), t, w), "as a tensor"),
    ("effect-of-words", lambda score, t, w: effects()(lambda x: score(x[None]), t, w), "one review at a time"),
    ("effect-of-words", lambda *a: effects()(*a).sum(), "shape of each step"),
]
