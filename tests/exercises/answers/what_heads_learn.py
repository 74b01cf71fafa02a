"""Answers to the exercises of the chapter "What heads learn, and which you would miss"."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def shift(marked: Tensor) -> Tensor:
    return F.pad(marked, (1, 0))[:, :, :-1]


def score(letters: Tensor, weights: Tensor) -> float:
    same = (letters[:, :, None] == letters[:, None, :]).tril(-1)
    counted = same.any(dim=2)
    return (weights * shift(same)).sum(dim=2)[counted].mean().item() if counted.any() else 0.0


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


def last_sequence(letters: Tensor, weights: Tensor) -> float:
    return score(letters[-1:], weights[-1:])


def by_classes(letters: Tensor, weights: Tensor) -> float:
    """Takes the letters for numbers below 16."""
    one_hot = F.one_hot(letters, 16).float()
    same = (one_hot @ one_hot.mT).bool().tril(-1)
    counted = same.any(dim=2)
    return (weights * shift(same)).sum(dim=2)[counted].mean().item() if counted.any() else 0.0


def by_columns(weights: Tensor) -> list[Tensor]:
    """Right: key by key."""
    return [weights[:, j + 1 :, j].mean() for j in range(weights.shape[1] - 1)]


Loss = Callable[[Tensor], Any]


def twins(
    excess: Callable[[float, float, float], float] = lambda both, a, b: both - a - b, gate: float = 0.0
) -> Callable[[Loss, int], tuple[int, int]]:
    """The pair with the largest excess, right unless told otherwise."""

    def answer(loss: Loss, num_heads: int) -> tuple[int, int]:
        def cost(*off: int) -> float:
            gates = torch.ones(num_heads)
            gates[list(off)] = gate
            return float(loss(gates) - loss(torch.ones(num_heads)))

        alone = [cost(i) for i in range(num_heads)]
        pairs = itertools.combinations(range(num_heads), 2)
        return max(pairs, key=lambda pair: excess(cost(*pair), alone[pair[0]], alone[pair[1]]))

    return answer


def twins_by_items(loss: Loss, num_heads: int) -> tuple[int, int]:
    def cost(off: list[int]) -> float:
        return loss(torch.tensor([head not in off for head in range(num_heads)])).item()

    pairs = itertools.combinations(range(num_heads), 2)
    return max(pairs, key=lambda pair: cost([*pair]) - cost([pair[0]]) - cost([pair[1]]))


def pruned(*, much: bool = False) -> Callable[[Loss, int, int], list[int]]:
    """Removes the head after which the loss, or its change, is smallest."""

    def answer(loss: Loss, num_heads: int, keep: int) -> list[int]:
        left = list(range(num_heads))

        def loss_of(heads: list[int]) -> float:
            gates = torch.zeros(num_heads)
            gates[heads] = 1
            return float(loss(gates))

        def worth(head: int) -> float:
            found = loss_of([other for other in left if other != head])
            return abs(found - loss_of(left)) if much else found

        while len(left) > keep:
            left.remove(min(left, key=worth))
        return left

    return answer


def pruned_from_the_end(loss: Loss, num_heads: int, keep: int) -> Tensor:
    gates = torch.ones(num_heads)
    while gates.sum() > keep:
        open_heads = gates.nonzero().flatten().tolist()
        losses = {head: float(loss(gates.index_fill(0, torch.tensor(head), 0.0))) for head in reversed(open_heads)}
        gates[min(losses, key=losses.__getitem__)] = 0
    return gates.nonzero().flatten()


RIGHT: dict[str, list[Any]] = {
    "predict-staircase": [(0.43, 0.05, 1, 5), torch.tensor([0.43, 0.05, 1, 5])],
    "prefix-matching": [score, by_loops, by_numpy],
    "received-weight": [by_columns, lambda weights: torch.tensor([float(w) for w in by_columns(weights)])],
    "find-twins": [twins(), twins_by_items],
    "prune-carefully": [pruned(), pruned_from_the_end],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-staircase", (0.5, 0.05, 1, 5), "how many guessed"),
    ("predict-staircase", (0.43, 0.05, 1, 4), "how many heads must stay"),
    ("prefix-matching", last_sequence, "which columns count"),
    ("prefix-matching", lambda letters, A: score(letters, A) * 0 + 1, "which columns count"),
    ("prefix-matching", by_classes, "run it yourself"),
    ("received-weight", lambda weights: torch.stack(by_columns(weights)) ** 2, "which numbers of the matrix"),
    ("find-twins", twins(lambda both, a, b: both - 2 * max(a, b)), "minus cost of the first alone"),
    ("find-twins", lambda *a: (1, 1), "no twin of itself"),
    ("find-twins", twins(gate=0.5), "0 removes a head"),
    ("prune-carefully", lambda *a: {*pruned()(*a)}, "return a list"),
    ("prune-carefully", pruned(much=True), "the loss without it"),
    ("prune-carefully", lambda loss, n, keep: pruned()(lambda g: loss(torch.ones(8)), n, keep), "num_heads gates"),
]
