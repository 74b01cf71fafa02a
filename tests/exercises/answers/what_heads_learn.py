"""Answers to the exercises of the chapter "What heads learn, and which matter"."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def gate_gradients(losses: Any, num_heads: int, count: int, at: float = 1.0) -> Tensor:
    gates = torch.full((count, num_heads), at, requires_grad=True)
    return torch.autograd.grad(losses(gates).sum(), gates)[0]


def importance(*arguments: Any) -> Tensor:
    return gate_gradients(*arguments).abs().mean(dim=0)


def by_backward(losses: Any, num_heads: int, count: int) -> Any:
    gates = torch.nn.Parameter(torch.ones(count, num_heads, dtype=torch.float64))
    losses(gates).backward(torch.ones(count))
    assert gates.grad is not None
    return gates.grad.abs().mean(0).numpy()


def by_jacrev(losses: Any, num_heads: int, count: int) -> Tensor:
    return torch.func.jacrev(losses)(torch.ones(count, num_heads)).sum(dim=1).abs().mean(dim=0)


def without_gradient(losses: Any, num_heads: int, count: int) -> Tensor:
    gates = torch.ones(count, num_heads)
    losses(gates).sum().backward()
    assert gates.grad is not None
    return gates.grad.abs().mean(dim=0)


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


Loss = Callable[[Tensor], Any]


def twins(
    excess: Callable[[float, float, float], float] = lambda both, a, b: both - a - b,
    gate: float = 0.0,
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
    "gate-importance": [importance, by_backward, by_jacrev],
    "predict-staircase": [(0.43, 0.05, 1, 5), torch.tensor([0.43, 0.05, 1, 5])],
    "prefix-matching": [score, by_loops, by_numpy],
    "find-twins": [twins(), twins_by_items],
    "use-twins": [[3], torch.tensor([3])],
    "prune-carefully": [pruned(), pruned_from_the_end],
}

WRONG: list[tuple[str, Any, str]] = [
    ("gate-importance", lambda *a: gate_gradients(*a, at=0.5).abs().mean(dim=0), "then their mean"),
    ("gate-importance", without_gradient, "requires_grad=True"),
    ("gate-importance", lambda f, h, n: f(torch.ones(h, n)), "a row of gates for each example"),
    ("predict-staircase", (0.5, 0.05, 1, 5), "how many guessed"),
    ("predict-staircase", (0.43, 0.05, 1, 4), "how many heads must stay"),
    ("prefix-matching", last_sequence, "which columns count"),
    ("prefix-matching", lambda letters, A: score(letters, A) * 0 + 1, "which columns count"),
    ("prefix-matching", by_classes, "run it yourself"),
    ("find-twins", twins(lambda both, a, b: both - 2 * max(a, b)), "minus cost of the first alone"),
    ("find-twins", lambda *a: (1, 1), "no twin of itself"),
    ("find-twins", twins(gate=0.5), "0 removes a head"),
    ("use-twins", [5], "find the question on whose place"),
    ("prune-carefully", lambda *a: {*pruned()(*a)}, "return a list"),
    ("prune-carefully", pruned(much=True), "the loss without it"),
    (
        "prune-carefully",
        lambda loss, n, keep: pruned()(lambda g: loss(torch.ones(8)), n, keep),
        "num_heads gates",
    ),
]
