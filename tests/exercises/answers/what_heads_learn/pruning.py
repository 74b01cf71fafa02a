"""Answers to the exercises: twins, and careful pruning."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Loss = Callable[[Tensor], Any]


def pair_costs(loss: Loss, num_heads: int) -> tuple[list[float], dict[tuple[int, int], float]]:
    def cost(*off: int) -> float:
        gates = torch.ones(num_heads)
        gates[list(off)] = 0
        return float(loss(gates)) - float(loss(torch.ones(num_heads)))

    alone = [cost(i) for i in range(num_heads)]
    return alone, {(i, j): cost(i, j) for i in range(num_heads) for j in range(i + 1, num_heads)}


def twins(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    return max(both, key=lambda pair: both[pair] - alone[pair[0]] - alone[pair[1]])


def costliest_pair(loss: Loss, num_heads: int) -> tuple[int, int]:
    _, both = pair_costs(loss, num_heads)
    return max(both, key=both.__getitem__)


def cheapest_pair(loss: Loss, num_heads: int) -> tuple[int, int]:
    _, both = pair_costs(loss, num_heads)
    return min(both, key=both.__getitem__)


def two_costliest_but_one(loss: Loss, num_heads: int) -> tuple[int, int]:
    _, both = pair_costs(loss, num_heads)
    return sorted(both, key=both.__getitem__)[-2]


def alone_losses(loss: Loss, num_heads: int) -> list[float]:
    return [float(loss(1 - torch.eye(num_heads)[head])) for head in range(num_heads)]


def one_list(loss: Loss, num_heads: int, keep: int) -> list[int]:
    losses = alone_losses(loss, num_heads)
    return sorted(sorted(range(num_heads), key=losses.__getitem__)[-keep:])


def least_missed(loss: Loss, num_heads: int, keep: int) -> list[int]:
    losses = alone_losses(loss, num_heads)
    return sorted(sorted(range(num_heads), key=losses.__getitem__)[:keep])


def carefully(loss: Loss, num_heads: int, keep: int) -> list[int]:
    left = list(range(num_heads))

    def loss_without(head: int) -> float:
        gates = torch.zeros(num_heads)
        gates[[other for other in left if other != head]] = 1
        return float(loss(gates))

    while len(left) > keep:
        left.remove(min(left, key=loss_without))
    return left


def carefully_from_the_end(loss: Loss, num_heads: int, keep: int) -> Tensor:
    gates = torch.ones(num_heads)
    while gates.sum() > keep:
        open_heads = gates.nonzero().flatten().tolist()
        losses = {head: float(loss(gates.index_fill(0, torch.tensor(head), 0.0))) for head in reversed(open_heads)}
        gates[min(losses, key=losses.__getitem__)] = 0
    return gates.nonzero().flatten()


def forward_selection(loss: Loss, num_heads: int, keep: int) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < keep:

        def loss_with(head: int) -> float:
            gates = torch.zeros(num_heads)
            gates[[*chosen, head]] = 1
            return float(loss(gates))

        chosen.append(min((head for head in range(num_heads) if head not in chosen), key=loss_with))
    return sorted(chosen)


def by_ratio(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    return max(both, key=lambda pair: both[pair] / (alone[pair[0]] + alone[pair[1]] + 1e-9))


def twice_the_sum(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    return max(both, key=lambda pair: both[pair] - 2 * (alone[pair[0]] + alone[pair[1]]))


def beyond_twice_the_larger(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    return max(both, key=lambda pair: both[pair] - 2 * max(alone[pair[0]], alone[pair[1]]))


def least_change(loss: Loss, num_heads: int, keep: int) -> list[int]:
    left = list(range(num_heads))

    def loss_of(heads: list[int]) -> float:
        gates = torch.zeros(num_heads)
        gates[heads] = 1
        return float(loss(gates))

    while len(left) > keep:
        now = loss_of(left)
        left.remove(min(left, key=lambda head: abs(loss_of([h for h in left if h != head]) - now)))
    return left


def by_size_of_excess(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    return max(both, key=lambda pair: abs(both[pair] - alone[pair[0]] - alone[pair[1]]))


def least_excess(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    return min(both, key=lambda pair: both[pair] - alone[pair[0]] - alone[pair[1]])


def best_subset(loss: Loss, num_heads: int, keep: int) -> list[int]:
    def loss_of(heads: tuple[int, ...]) -> float:
        gates = torch.zeros(num_heads)
        gates[list(heads)] = 1
        return float(loss(gates))

    return list(min(itertools.combinations(range(num_heads), keep), key=loss_of))


def skipping_head_0(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    pairs = [pair for pair in both if 0 not in pair] or [*both]
    return max(pairs, key=lambda pair: both[pair] - alone[pair[0]] - alone[pair[1]])


def skipping_the_last(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    pairs = [pair for pair in both if num_heads - 1 not in pair] or [*both]
    return max(pairs, key=lambda pair: both[pair] - alone[pair[0]] - alone[pair[1]])


def only_neighbours(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone, both = pair_costs(loss, num_heads)
    pairs = [(i, i + 1) for i in range(num_heads - 1)]
    return max(pairs, key=lambda pair: both[pair] - alone[pair[0]] - alone[pair[1]])


def gates_reversed(loss: Loss, num_heads: int) -> tuple[int, int]:
    """Counts as gates what is removed."""
    return twins(lambda gates: loss(1 - gates), num_heads)


def twins_by_items(loss: Loss, num_heads: int) -> tuple[int, int]:
    def cost(off: list[int]) -> float:
        return loss(torch.tensor([head not in off for head in range(num_heads)])).item()  # type: ignore[no-any-return]

    pairs = itertools.combinations(range(num_heads), 2)
    return max(pairs, key=lambda pair: cost([*pair]) - cost([pair[0]]) - cost([pair[1]]))


def most_missed(loss: Loss, num_heads: int, keep: int) -> list[int]:
    return carefully(lambda gates: -loss(gates), num_heads, keep)


def forgets_the_removed(loss: Loss, num_heads: int, keep: int) -> list[int]:
    """Opens all other gates again before each trial."""
    left = list(range(num_heads))
    while len(left) > keep:
        left.remove(min(left, key=lambda head: float(loss(1 - torch.eye(num_heads)[head]))))
    return left


RIGHT: dict[str, list[Any]] = {
    "find-twins": [
        twins,
        lambda *a: list(reversed(twins(*a))),
        lambda loss, h: twins(lambda gates: loss(gates.bool()), h),
        lambda *a: torch.tensor(twins(*a)),
        lambda *a: np.array(twins(*a)),
        twins_by_items,
        lambda *a: {*twins(*a)},
    ],
    "use-twins": [[3], torch.tensor([3])],
    "prune-carefully": [
        carefully,
        carefully_from_the_end,
        lambda *a: tuple(carefully(*a)),
        lambda *a: np.array(carefully(*a)),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("find-twins", costliest_pair, "these two cost most together"),
    ("find-twins", cheapest_pair, "these two cost least together"),
    ("find-twins", two_costliest_but_one, "minus cost of the first alone"),
    ("find-twins", twice_the_sum, "each once"),
    ("find-twins", beyond_twice_the_larger, "each once"),
    ("find-twins", by_ratio, "the ratio is largest"),
    ("find-twins", by_size_of_excess, "the wrong end of it"),
    ("find-twins", least_excess, "the wrong end of it"),
    ("find-twins", lambda *a: (2.5, 4.0), "return i, j"),
    ("find-twins", skipping_head_0, "which pairs do you try?"),
    ("find-twins", skipping_the_last, "which pairs do you try?"),
    ("find-twins", only_neighbours, "which pairs do you try?"),
    ("find-twins", gates_reversed, "where all gates are 1"),
    ("find-twins", lambda loss, h: (h, h + 1), "0 to num_heads - 1"),
    ("use-twins", [5], "find the question on whose place"),
    ("find-twins", lambda *a: (1, 1), "no twin of itself"),
    ("find-twins", lambda *a: 0.5, "return i, j"),
    ("prune-carefully", one_list, "made afresh"),
    ("prune-carefully", least_missed, "they go, the others stay"),
    ("prune-carefully", forward_selection, "begin with all heads"),
    ("prune-carefully", lambda loss, n, keep: carefully(loss, n, keep)[::-1], "sort them"),
    ("prune-carefully", lambda loss, n, keep: sorted({*range(n)} - {*carefully(loss, n, keep)}), "not those that go"),
    ("prune-carefully", lambda loss, n, keep: carefully(loss, n, keep - 1), "how often does your loop run"),
    ("prune-carefully", lambda loss, n, keep: [0, 2, 3, 4][:keep], "the loss without it"),
    ("prune-carefully", least_change, "the loss without it"),
    ("prune-carefully", best_subset, "begin with all heads"),
    ("prune-carefully", lambda *a: 3, "return a list"),
    ("prune-carefully", lambda *a: {*carefully(*a)}, "return a list"),
    ("prune-carefully", most_missed, "they go, the others stay"),
    ("prune-carefully", forgets_the_removed, "made afresh"),
    ("prune-carefully", lambda loss, n, keep: list(range(n))[-keep:], "the loss without it"),
]
