"""How much a head looks at what came after earlier occurrences of the same letter (Olsson et al.)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import read_number
from d2lmini_exercises.engine import exercise


def move(marked: Tensor, by: int = 1) -> Tensor:
    return F.pad(marked, (by, -by))


def average(scores: Tensor, counted: Tensor, nothing: float = 0.0) -> Any:
    return scores[counted].mean() if counted.any() else nothing


def each(scores: Tensor, counted: Tensor, nothing: float = 0.0) -> Any:
    return torch.stack([torch.as_tensor(average(*row)) for row in zip(scores, counted, strict=True)]).mean()


def match(
    letters: Tensor, weights: Tensor,
    *, find: Any = move, total: Any = lambda found: found.sum(2),
    count: Any = lambda same, scores: same.tril(-1).any(2), average: Any = average,
) -> Any:  # fmt: skip
    """The score, right unless told otherwise."""
    same = letters[:, :, None] == letters[:, None, :]  # (batch, n, n)
    scores = total(weights * find(same.tril(-1)))  # (batch, n)
    return average(scores, count(same, scores))


def among(count: Any) -> dict[str, Any]:
    """The right sum, shared among another number of places, at least one."""
    return {"average": lambda scores, counted: scores.sum() / max(int(count(scores, counted)), 1)}


def one_memory(letters: Tensor, weights: Tensor) -> Any:
    row = letters.flatten()
    known = (row[:, None] == row).tril(-1).any(1).sum()
    return match(letters, weights, **among(lambda *_: known))


def use(answer: Any, letters: Tensor, weights: Tensor) -> Any:
    found = answer(letters, weights)
    number = read_number(found)
    return (
        torch.tensor(number, dtype=found.dtype) if isinstance(found, Tensor) and found.is_floating_point() else number
    )


DRAWN = (
    [[0, 1, 0, 1, 0, 2, 0, 1]],
    [[3, 3, 1, 3, 4, 1, 3], [16, 0, 16, 16, 40, 16, 3]],
    [[0, 1, 2, 3]],
    [[1, 2, 1], [0, 3, 4], [2, 2, 2]],
)
exercise(
    "prefix-matching",
    match,
    (
        *(
            f"torch.manual_seed({seed}); A = torch.rand({len(rows)}, {len(rows[0])}, {len(rows[0])}).tril(); "
            f"weights = A / A.sum(dim=2, keepdim=True); letters = torch.tensor({rows})"
            for seed, rows in enumerate(DRAWN)
        ),
        "weights = torch.eye(5)[None, [0, 1, 2, 1, 4]]; letters = torch.tensor([[0, 1, 2, 0, 1]])",
    ),
    {
        "that is the weight on the letter itself; what came after it stands one column further": {
            "find": lambda earlier: earlier
        },
        "that is what came before it: one column to the other side": {"find": lambda earlier: move(earlier, -1)},
        "the letter may have occurred several times: all of these places count": {
            "find": lambda earlier: move(earlier & (earlier.flip(2).cumsum(2).flip(2) == 1))
        },
        "the letter may have occurred several times, not only at first": {
            "find": lambda earlier: move(earlier & (earlier.cumsum(2) == 1))
        },
        "the weights on all of these places add up: a sum, not the largest of them": {
            "total": lambda found: found.amax(2)
        },
        "the mean of no places is NaN: what should come out where no letter occurs twice?": {
            "average": lambda scores, counted: average(scores, counted, nothing=math.nan)
        },
        "the mean is over all places, whatever sequence they belong to": (
            {"average": each},
            {"average": lambda scores, counted: each(scores[counted.any(1)], counted[counted.any(1)]).nan_to_num()},
        ),
        "places whose letter is new do not count": {"count": lambda same, scores: same.any(2)},
        "only what stands earlier in the same sequence counts: what does your code keep from the one before?": (
            one_memory
        ),
        "a place whose letter has occurred before counts, even if it looks elsewhere": {
            "count": lambda same, scores: scores > 0
        },
        "a mean, not a sum": {"average": lambda scores, counted: scores.sum()},
        "the weights of one place add up; the mean is over places": (
            lambda letters, weights: (
                match(letters, weights)
                * match(letters, weights, average=lambda _, counted: counted.sum())
                / match(letters, torch.ones_like(weights), average=lambda scores, _: scores.sum().clamp(min=1))
            )
        ),
        "each row of weights belongs to a query: which index is the query's?": (
            lambda letters, weights: match(
                letters,
                weights,
                find=lambda earlier: move(earlier.mT).tril(),
                count=lambda same, _: same.triu(1).any(2),
            )
        ),
    },
    claim="the mean weight on the places right after an earlier occurrence of the same letter",
    verified="all earlier occurrences, only places that have one, all sequences alike, and 0 if there is none",
    hint="write down for each place which columns count, as booleans (batch, n, n), and print them",
    use=use,
)
