"""How much a head looks at what came after earlier occurrences of the same letter."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import checker, expect_function, expect_measured

_ROWS = (
    [[0, 1, 0, 1, 0, 2, 0, 1]],
    [[3, 3, 1, 3, 4, 1, 3], [16, 0, 16, 16, 40, 16, 3]],
    [[0, 1, 2, 3]],
    [[1, 2, 1], [0, 3, 4], [2, 2, 2]],
    [[0, 1, 2, 0, 1]],
)


def _draw_weights(seed: int, batch: int, n: int) -> tuple[Tensor, str]:
    """Causal weights whose rows add up to 1, and the line that draws them."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(batch, n, n, generator=generator).tril()
    code = f"torch.manual_seed({seed}); A = torch.rand({batch}, {n}, {n}).tril(); A = A / A.sum(dim=2, keepdim=True)"
    return weights / weights.sum(dim=2, keepdim=True), code


def _look_at_one(n: int) -> tuple[Tensor, str]:
    """Weights of 0 and 1: each place looks at itself, but the fourth at the second."""
    weights = torch.eye(n)[None]
    weights[0, 3] = F.one_hot(torch.tensor(1), n)
    return weights, f"A = torch.eye({n})[None]; A[0, 3] = torch.eye({n})[1]"


@checker("prefix-matching")
def check_prefix_matching(prefix_matching: Any) -> str:
    """`prefix_matching(letters, weights)`: the mean weight on what came after earlier occurrences (Olsson et al.)."""
    expect_function(prefix_matching)
    for seed, rows in enumerate(_ROWS):
        letters = torch.tensor(rows)
        is_last = seed == len(_ROWS) - 1
        weights, code = _look_at_one(letters.shape[1]) if is_last else _draw_weights(seed, *letters.shape)
        vars(weights)["drawn"] = code, "A"  # for a report on an answer that stops
        right, mistakes = _list_scores(letters, weights)
        expect_measured(
            prefix_matching(letters, weights),
            right,
            claim="the mean weight on the places right after an earlier occurrence of the same letter",
            given=f"{code}; letters = torch.tensor({rows})",
            hint="write down for each place which columns count, as booleans (batch, n, n), and print them",
            mistakes=mistakes,
            tolerance=1e-4,
        )
    return "all earlier occurrences, only places that have one, all sequences alike, and 0 if there is none"


def _list_scores(letters: Tensor, weights: Tensor) -> tuple[float, dict[str, float | tuple[float, ...]]]:
    """The score, and what well-known mistakes give, by their hints."""
    n = letters.shape[1]
    same = letters[:, :, None] == letters[:, None, :]  # (batch, n, n)
    earlier = same.tril(-1)
    repeated = earlier.any(dim=2)  # (batch, n)
    after = _shift(earlier)
    latest = earlier & (earlier.flip(2).cumsum(dim=2).flip(2) == 1)
    first = earlier & (earlier.cumsum(dim=2) == 1)
    each = [_average(weights[i : i + 1], after[i : i + 1], repeated[i : i + 1]) for i in range(len(letters))]
    some = [score for score, row in zip(each, repeated, strict=True) if row.any()]
    return _average(weights, after, repeated), {
        "that is the weight on the letter itself; what came after it stands one column further": _average(
            weights, earlier, repeated
        ),
        "that is what came before it: one column to the other side": _average(
            weights, F.pad(earlier, (0, 1))[:, :, 1:], repeated
        ),
        "the letter may have occurred several times: all of these places count": _average(
            weights, _shift(latest), repeated
        ),
        "the letter may have occurred several times, not only at first": _average(weights, _shift(first), repeated),
        "the weights on all of these places add up: a sum, not the largest of them": float(
            (weights * after).amax(dim=2)[repeated].mean() if repeated.any() else 0.0
        ),
        "the mean of no places is NaN: what should come out where no letter occurs twice?": _average(
            weights, after, repeated, otherwise=math.nan
        ),
        "the mean is over all places, whatever sequence they belong to": (
            sum(each) / len(each),
            sum(some) / max(len(some), 1),
        ),
        **_list_wrong_counts(letters, weights, after),
        "each row of weights belongs to a query: which index is the query's?": _average(
            weights, _shift(earlier.mT).tril() if n > 1 else earlier, earlier.mT.any(dim=2)
        ),
    }


def _list_wrong_counts(letters: Tensor, weights: Tensor, after: Tensor) -> dict[str, float | tuple[float, ...]]:
    """What it gives to share the right sum among the wrong number of places, by the hints."""
    scores = (weights * after).sum(dim=2)  # (batch, n)
    total = scores.sum()
    in_a_row = letters.flatten()
    known = (in_a_row[:, None] == in_a_row).tril(-1).any(dim=1)  # from any sequence so far
    return {
        "places whose letter is new do not count": float(total / letters.numel()),
        "only what stands earlier in the same sequence counts: what does your code keep from the one before?": float(
            total / max(int(known.sum()), 1)
        ),
        "a place whose letter has occurred before counts, even if it looks elsewhere": float(
            total / max(int((scores > 0).sum()), 1)
        ),
        "a mean, not a sum": float(total),
        "the weights of one place add up; the mean is over places": float(total / max(int(after.sum()), 1)),
    }


def _shift(marked: Tensor) -> Tensor:
    """The same marks one column further."""
    return F.pad(marked, (1, 0))[:, :, :-1]


def _average(weights: Tensor, marked: Tensor, counted: Tensor, otherwise: float = 0.0) -> float:
    """The mean weight on the marked keys, over the queries that are counted."""
    return float((weights * marked).sum(dim=2)[counted].mean()) if counted.any() else otherwise
