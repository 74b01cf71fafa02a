"""Answers to the exercises: twins, and careful pruning."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

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
    "find-twins": [twins(), twins_by_items],
    "use-twins": [[3], torch.tensor([3])],
    "prune-carefully": [pruned(), pruned_from_the_end],
}

WRONG: list[tuple[str, Any, str]] = [
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
