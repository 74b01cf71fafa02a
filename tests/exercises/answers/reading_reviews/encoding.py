"""Answers to the exercises: more ways from words to numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Texts = list[list[str]]


def to_rows(texts: Texts, vocabulary: dict[str, int], longest: int) -> list[list[int]]:
    return [[vocabulary.get(word, 1) for word in text][-longest:] for text in texts]


def fill(rows: list[list[int]], n: int) -> tuple[Tensor, Tensor]:
    tokens = torch.tensor([[0] * (n - len(row)) + row for row in rows], dtype=torch.long).reshape(len(rows), n)
    return tokens, tokens != 0


def encode(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    rows = to_rows(texts, vocabulary, longest)
    return fill(rows, max(map(len, rows)))


def with_the_default_dtype(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    """Of empty texts alone torch.tensor makes floats."""
    rows = to_rows(texts, vocabulary, longest)
    n = max(len(row) for row in rows)
    tokens = torch.tensor([[0] * (n - len(row)) + row for row in rows])
    return tokens, tokens != 0


def in_lower_case(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    return encode([[word.lower() for word in text] for text in texts], vocabulary, longest)


def without_spaces_and_case(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    known = {word.casefold(): number for word, number in vocabulary.items()}
    return encode([[word.casefold() for word in text] for text in texts], known, longest)


def with_capitals(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    return encode(
        [[max(word, word.capitalize(), key=vocabulary.__contains__) for word in text] for text in texts],
        vocabulary,
        longest,
    )


def skipping_the_empty(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    return encode([text for text in texts if text] or [[]], vocabulary, longest)


def cut_after_padding(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    tokens, words = encode(texts, vocabulary, max(1, *map(len, texts)) if len(texts) > 1 else len(texts[0]))
    return tokens[:, :longest], words[:, :longest]


def at_least_one_wide(texts: Texts, vocabulary: dict[str, int], longest: int) -> Any:
    rows = to_rows(texts, vocabulary, longest)
    return fill(rows, max(1, *map(len, rows), 0))


RIGHT: dict[str, list[Any]] = {"encode-words": [encode]}

WRONG: list[tuple[str, Any, str]] = [
    ("encode-words", with_the_default_dtype, "looked up by integers"),
    ("encode-words", in_lower_case, "as it is written"),
    ("encode-words", without_spaces_and_case, "as it is written"),
    ("encode-words", with_capitals, "1 if it is unknown"),
    ("encode-words", lambda texts, vocabulary, n: encode(texts, vocabulary, min(n, 4)), "no wider than"),
    ("encode-words", skipping_the_empty, "a row for each text, also for an empty one"),
    ("encode-words", cut_after_padding, "cut each text before you pad it"),
    ("encode-words", at_least_one_wide, "no wider than"),
    ("encode-words", lambda *a: [part.short() if i == 0 else part for i, part in enumerate(encode(*a))], "int64"),
]
