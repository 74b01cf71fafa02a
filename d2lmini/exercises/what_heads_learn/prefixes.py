"""How much a head looks at what came after earlier occurrences of the same letter."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.exercises.core import checker, expect_function, expect_measured

_ROWS = (
    [[0, 1, 0, 1, 2, 0]],
    [[3, 3, 1, 3, 4, 1, 3], [5, 0, 5, 5, 2, 0, 2]],
    [[0, 1, 2, 3]],
    [[1, 2, 1], [0, 3, 4], [2, 2, 2]],
)


def _draw_weights(seed: int, batch: int, n: int) -> tuple[Tensor, str]:
    """Causal weights whose rows add up to 1, and the line that draws them."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(batch, n, n, generator=generator).tril()
    code = f"torch.manual_seed({seed}); A = torch.rand({batch}, {n}, {n}).tril(); A = A / A.sum(dim=2, keepdim=True)"
    return weights / weights.sum(dim=2, keepdim=True), code


@checker("prefix-matching")
def check_prefix_matching(prefix_matching: Any) -> str:
    """`prefix_matching(letters, weights)`: the mean weight on what came after earlier occurrences (Olsson et al.)."""
    expect_function(prefix_matching)
    for seed, rows in enumerate(_ROWS):
        letters = torch.tensor(rows)
        weights, code = _draw_weights(seed, *letters.shape)
        right, mistakes = _list_scores(letters, weights)
        expect_measured(
            prefix_matching(letters, weights),
            right,
            claim="the mean weight on the places right after an earlier occurrence of the same letter",
            given=f"{code}; letters = torch.tensor({rows})",
            hint="write down for each place which columns count, as booleans (batch, n, n), and print them",
            mistakes={hint: wrong for hint, wrong in mistakes.items() if abs(wrong - right) > 1e-3},
            tolerance=1e-4,
        )
    return "all earlier occurrences, only places that have one, all sequences alike, and 0 if there is none"


def _list_scores(letters: Tensor, weights: Tensor) -> tuple[float, dict[str, float]]:
    """The score, and what well-known mistakes give, by their hints."""
    n = letters.shape[1]
    same = letters[:, :, None] == letters[:, None, :]  # (batch, n, n)
    earlier = same.tril(-1)
    repeated = earlier.any(dim=2)  # (batch, n)
    after = _shift(earlier)
    latest = earlier & (earlier.flip(2).cumsum(dim=2).flip(2) == 1)
    first = earlier & (earlier.cumsum(dim=2) == 1)
    each = [_average(weights[i : i + 1], after[i : i + 1], repeated[i : i + 1]) for i in range(len(letters))]
    total = (weights * after).sum()
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
        "places whose letter is new do not count": float(total / letters.numel()),
        "the mean is over all places, whatever sequence they belong to": sum(each) / len(each),
        "a mean, not a sum": float(total),
        "the weights of one place add up; the mean is over places": float(total / max(int(after.sum()), 1)),
        "each row of weights belongs to a query: which index is the query's?": _average(
            weights, _shift(earlier.mT).tril() if n > 1 else earlier, earlier.mT.any(dim=2)
        ),
    }


def _shift(marked: Tensor) -> Tensor:
    """The same marks one column further."""
    return F.pad(marked, (1, 0))[:, :, :-1]


def _average(weights: Tensor, marked: Tensor, counted: Tensor) -> float:
    """The mean weight on the marked keys, over the queries that are counted."""
    return float((weights * marked).sum(dim=2)[counted].mean()) if counted.any() else 0.0
