"""Answers to the exercises: what came after earlier occurrences of a letter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def shift(marked: Tensor) -> Tensor:
    return F.pad(marked, (1, 0))[:, :, :-1]


def score(
    find: Callable[[Tensor], Tensor] = lambda same: same.tril(-1),
    move: Callable[[Tensor], Tensor] = shift,
    count: Callable[[Tensor], Tensor] = lambda same: same.tril(-1).any(dim=2),
) -> Callable[[Tensor, Tensor], float]:
    """The score, right unless told otherwise."""

    def answer(letters: Tensor, weights: Tensor) -> float:
        same = letters[:, :, None] == letters[:, None, :]
        counted = count(same)
        return (weights * move(find(same))).sum(dim=2)[counted].mean().item() if counted.any() else 0.0

    return answer


def by_largest(letters: Tensor, weights: Tensor) -> float:
    earlier = (letters[:, :, None] == letters[:, None, :]).tril(-1)
    counted = earlier.any(dim=2)
    return (weights * shift(earlier)).amax(dim=2)[counted].mean().item() if counted.any() else 0.0


def by_loops(letters: Tensor, weights: Tensor) -> float:
    found = []
    for row, A in zip(letters.tolist(), weights.tolist(), strict=True):
        for i, letter in enumerate(row):
            after = [j + 1 for j in range(i) if row[j] == letter]
            if after:
                found.append(sum(A[i][j] for j in after))
    return sum(found) / len(found) if found else 0


def by_numpy(letters: Tensor, weights: Tensor) -> Any:
    import numpy as np

    row, A = letters.numpy(), weights.numpy().astype(np.float64)
    marked = np.tril(row[:, :, None] == row[:, None, :], -1)
    after = np.roll(marked, 1, axis=2)
    sums = (A * after).sum(axis=2)[marked.any(axis=2)]
    return sums.mean() if len(sums) else np.float64(0)


def as_double_tensor(letters: Tensor, weights: Tensor) -> Tensor:
    same = (letters.unsqueeze(2) == letters.unsqueeze(1)).double().tril(-1)
    hits = torch.einsum("bij,bij->bi", weights.double()[:, :, 1:], same[:, :, :-1])
    counted = same.sum(dim=2) > 0
    return (hits * counted).sum() / counted.sum().clamp(min=1)


def latest(same: Tensor) -> Tensor:
    earlier = same.tril(-1)
    return earlier & (earlier.flip(2).cumsum(dim=2).flip(2) == 1)


def mean_of_sequences(letters: Tensor, weights: Tensor) -> float:
    each = [score()(letters[i : i + 1], weights[i : i + 1]) for i in range(len(letters))]
    return sum(each) / len(each)


def last_sequence(letters: Tensor, weights: Tensor) -> float:
    return score()(letters[-1:], weights[-1:])


def mean_of_nothing(letters: Tensor, weights: Tensor) -> float:
    same = (letters[:, :, None] == letters[:, None, :]).tril(-1)
    return (weights * shift(same)).sum(dim=2)[same.any(dim=2)].mean().item()


def spoils_weights(letters: Tensor, weights: Tensor) -> float:
    same = (letters[:, :, None] == letters[:, None, :]).tril(-1)
    weights *= shift(same)
    counted = same.any(dim=2)
    return weights.sum(dim=2)[counted].mean().item() if counted.any() else 0.0


def only_looking(letters: Tensor, weights: Tensor) -> float:
    """Counts a place only if it looks at what came after."""
    hits = (weights * shift((letters[:, :, None] == letters[:, None, :]).tril(-1))).sum(dim=2)
    return hits[hits > 0].mean().item() if (hits > 0).any() else 0.0


def by_classes(letters: Tensor, weights: Tensor) -> float:
    """Takes the letters for numbers below 16."""
    one_hot = F.one_hot(letters, 16).float()
    same = (one_hot @ one_hot.mT).bool().tril(-1)
    counted = same.any(dim=2)
    return (weights * shift(same)).sum(dim=2)[counted].mean().item() if counted.any() else 0.0


def mean_of_some_sequences(letters: Tensor, weights: Tensor) -> float:
    each = [mean_of_nothing(letters[i : i + 1], weights[i : i + 1]) for i in range(len(letters))]
    some = [score for score in each if not math.isnan(score)]
    return sum(some) / len(some) if some else 0.0


def with_one_memory(letters: Tensor, weights: Tensor) -> float:
    """A letter has occurred if it did in any sequence."""
    seen: set[int] = set()
    total, count = 0.0, 0
    for row, A in zip(letters.tolist(), weights.tolist(), strict=True):
        for i, letter in enumerate(row):
            total += sum(A[i][j + 1] for j in range(i) if row[j] == letter)
            count += letter in seen
            seen.add(letter)
    return total / count if count else 0.0


RIGHT: dict[str, list[Any]] = {"prefix-matching": [score(), by_loops, by_numpy, as_double_tensor]}

WRONG: list[tuple[str, Any, str]] = [
    ("prefix-matching", by_largest, "a sum, not the largest"),
    ("prefix-matching", score(move=lambda marked: marked), "one column further"),
    ("prefix-matching", score(move=lambda marked: F.pad(marked, (0, 1))[:, :, 1:]), "one column to the other side"),
    ("prefix-matching", score(find=latest), "all of these places count"),
    ("prefix-matching", score(find=lambda s: s.tril(-1) & (s.tril(-1).cumsum(2) == 1)), "not only at first"),
    ("prefix-matching", score(count=lambda same: same.any(dim=2)), "whose letter is new do not count"),
    ("prefix-matching", mean_of_sequences, "whatever sequence they belong to"),
    ("prefix-matching", last_sequence, "which columns count"),
    (
        "prefix-matching",
        score(find=lambda same: same.tril(), count=lambda same: same.any(2)),
        "whose letter is new do not count",
    ),
    ("prefix-matching", lambda letters, A: score()(letters, A) * 0 + 1, "which columns count"),
    ("prefix-matching", lambda letters, A: score()(letters, A) * 2, "which columns count"),
    ("prefix-matching", mean_of_nothing, "the mean of no places is NaN"),
    ("prefix-matching", mean_of_some_sequences, "whatever sequence they belong to"),
    ("prefix-matching", with_one_memory, "stands earlier in the same sequence"),
    ("prefix-matching", only_looking, "even if it looks elsewhere"),
    ("prefix-matching", by_classes, "run it yourself"),
    ("prefix-matching", spoils_weights, "works in place"),
    ("prefix-matching", lambda letters, A: "high", "return a float"),
]
