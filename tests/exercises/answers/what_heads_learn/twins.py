"""Answers to the exercises: more ways to look for twins."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Loss = Callable[[Tensor], Any]


def twins(
    count: Callable[[int], int] = lambda num_heads: num_heads,
    gate: float = 0.0,
    change: Callable[[float], float] = lambda cost: cost,
    *,
    diagonal: bool = False,
    width: int = 0,
) -> Callable[[Loss, int], tuple[int, int]]:
    """The pair with the largest excess, right unless told otherwise."""

    def answer(loss: Loss, num_heads: int) -> tuple[int, int]:
        n = count(num_heads)

        def cost(*off: int) -> float:
            gates = torch.ones(max(width, n))
            gates[list(off)] = gate
            return change(float(loss(gates) - loss(torch.ones(max(width, n)))))

        pairs = [(i, j) for i in range(n) for j in range(i + (not diagonal), n)]
        return max(pairs, key=lambda pair: cost(*pair) - cost(pair[0]) - cost(pair[1]))

    return answer


def more_than_nothing(loss: Loss, num_heads: int) -> Any:
    """Finds no pair where no difference is positive."""
    whole = float(loss(torch.ones(num_heads)))
    most, found = 0.0, None
    alone = [float(loss(1 - row)) - whole for row in torch.eye(num_heads)]
    for j in range(num_heads):
        for i in range(j):
            gates = torch.ones(num_heads)
            gates[[i, j]] = 0
            excess = float(loss(gates)) - whole - alone[i] - alone[j]
            if excess > most:
                most, found = excess, (i, j)
    return found


def not_below_zero(loss: Loss, num_heads: int) -> tuple[int, int]:
    whole = float(loss(torch.ones(num_heads)))
    alone = [float(loss(1 - row)) - whole for row in torch.eye(num_heads)]
    excess = {}
    for i in range(num_heads):
        for j in range(i + 1, num_heads):
            both = 1 - torch.eye(num_heads)[i] - torch.eye(num_heads)[j]
            excess[i, j] = max(0.0, float(loss(both)) - whole - alone[i] - alone[j])
    return max(excess, key=excess.__getitem__)


def gates_left_closed(loss: Loss, num_heads: int) -> tuple[int, int]:
    """Opens the gates again for each first head only."""
    whole = float(loss(torch.ones(num_heads)))
    alone = [float(loss(1 - row)) - whole for row in torch.eye(num_heads)]
    excess = {}
    for i in range(num_heads):
        gates = torch.ones(num_heads)
        gates[i] = 0
        for j in range(i + 1, num_heads):
            gates[j] = 0
            excess[i, j] = float(loss(gates)) - whole - alone[i] - alone[j]
    return max(excess, key=excess.__getitem__)


def most_alike(loss: Loss, num_heads: int) -> tuple[int, int]:
    alone = [float(loss(1 - row)) for row in torch.eye(num_heads)]
    pairs = [(i, j) for j in range(num_heads) for i in range(j)]
    return min(pairs, key=lambda pair: abs(alone[pair[0]] - alone[pair[1]]))


def by_costs(excess: Callable[[float, float, float], float], most: float = -1e9) -> Callable[[Loss, int], Any]:
    """The pair with the largest `excess` of the cost of both and of each alone, if it is more than `most`."""

    def answer(loss: Loss, num_heads: int) -> Any:
        largest, found = most, None
        whole = float(loss(torch.ones(num_heads)))
        alone = [float(loss(1 - row)) - whole for row in torch.eye(num_heads)]
        for i, j in itertools.combinations(range(num_heads), 2):
            both = float(loss(1 - torch.eye(num_heads)[i] - torch.eye(num_heads)[j])) - whole
            if excess(both, alone[i], alone[j]) > largest:
                largest, found = excess(both, alone[i], alone[j]), (i, j)
        return found

    return answer


def with_start(start: float, pair: tuple[int, int] | None) -> Callable[[Loss, int], Any]:
    """The search begins with this number, and returns this pair if nothing is larger."""
    return lambda loss, h: by_costs(lambda both, a, b: both - a - b, start)(loss, h) or pair


def two_most_replaceable(loss: Loss, num_heads: int) -> list[int]:
    """The heads whose excesses with all others have the largest sums."""
    whole, eye = float(loss(torch.ones(num_heads))), torch.eye(num_heads)
    alone = [float(loss(1 - row)) - whole for row in eye]
    table = torch.zeros(num_heads, num_heads)
    for i, j in itertools.combinations(range(num_heads), 2):
        table[i, j] = table[j, i] = float(loss(1 - eye[i] - eye[j])) - whole - alone[i] - alone[j]
    return table.sum(dim=1).topk(2).indices.tolist()  # type: ignore[no-any-return]


def loss_of(loss: Loss, num_heads: int, heads: list[int]) -> float:
    gates = torch.zeros(num_heads)
    gates[heads] = 1
    return float(loss(gates))


def scanned(
    start: float, place: int = 0, *, again: bool = True, width: int = 99
) -> Callable[[Loss, int, int], list[int]]:
    """Looks among the first `width` heads for a loss below `start`, in each round again or not.

    Where it finds none, the head at this place goes.
    """

    def answer(loss: Loss, num_heads: int, keep: int) -> list[int]:
        left, least = list(range(num_heads)), start
        while len(left) > keep:
            least, goes = start if again else least, left[place]
            for head in left[:width]:
                found = loss_of(loss, num_heads, [other for other in left if other != head])
                if found < least:
                    least, goes = found, head
            left.remove(goes)
        return left

    return answer


def pruned(change: Callable[[float], float]) -> Callable[[Loss, int, int], list[int]]:
    """Removes the head after which what becomes of the loss is smallest."""

    def answer(loss: Loss, num_heads: int, keep: int) -> list[int]:
        left = list(range(num_heads))

        def loss_without(head: int) -> float:
            return change(loss_of(loss, num_heads, [other for other in left if other != head]))

        while len(left) > keep:
            left.remove(min(left, key=loss_without))
        return left

    return answer


RIGHT: dict[str, list[Any]] = {"find-twins": [twins()]}

WRONG: list[tuple[str, Any, str]] = [
    ("find-twins", more_than_nothing, "no difference needs to be positive"),
    ("find-twins", not_below_zero, "no difference is positive here"),
    ("find-twins", twins(diagonal=True), "no twin of itself"),
    ("find-twins", twins(change=abs), "a removal may help"),
    ("find-twins", twins(change=lambda cost: max(0.0, cost)), "a removal may help"),
    ("find-twins", twins(lambda num_heads: 8), "num_heads gates"),
    ("find-twins", twins(width=8), "num_heads gates"),
    ("find-twins", twins(lambda num_heads: min(num_heads, 8), width=0), "num_heads gates"),
    ("find-twins", twins(lambda num_heads: num_heads - 1, width=6), "which pairs do you try?"),
    ("find-twins", twins(gate=0.5), "0 removes a head"),
    ("find-twins", twins(gate=-1.0), "0 removes a head"),
    ("find-twins", gates_left_closed, "open the gates again"),
    ("find-twins", by_costs(lambda both, a, b: both - a - b, -1e6), "no difference needs to be positive"),
    ("find-twins", by_costs(lambda both, a, b: both - abs(a) - abs(b)), "a removal may help"),
    ("find-twins", by_costs(lambda both, a, b: both - max(a, 0) - max(b, 0)), "a removal may help"),
    *(
        ("find-twins", with_start(start, (0, 1)), "no difference is positive here")
        for start in (0, -1, -10, -100, -1e6)
    ),
    *(("find-twins", with_start(start, None), "a pair is returned in any case") for start in (0, -1, -10, -100, -1e6)),
    *(("find-twins", with_start(start, (1, 2)), "no difference is positive here") for start in (-1, -10, -100)),
    *(
        ("prune-carefully", scanned(start, place), "what is the first of them compared with?")
        for start in (10, 100, 1e6)
        for place in (0, 1, -1)
    ),
    *(
        ("prune-carefully", scanned(1e9, place, again=False), "does each round begin with a fresh comparison?")
        for place in (0, 1, -1)
    ),
    ("find-twins", two_most_replaceable, "beyond the single costs"),
    ("prune-carefully", scanned(1e4), "what is the first of them compared with?"),
    ("prune-carefully", scanned(1e9, width=8), "for each head that is left"),
    ("find-twins", most_alike, "minus cost of the first alone"),
    ("prune-carefully", pruned(round), "the loss without it"),
    ("prune-carefully", pruned(int), "the loss without it"),
    ("prune-carefully", pruned(lambda loss: min(loss, 100)), "what is the first of them compared with?"),
    ("find-twins", by_costs(lambda both, a, b: round(both - a - b)), "differ by less than 1"),
    ("find-twins", by_costs(lambda both, a, b: int(both - a - b)), "differ by less than 1"),
    ("prune-carefully", pruned(abs), "losses are below 0 here"),
    ("prune-carefully", pruned(lambda loss: max(0.0, loss)), "losses are below 0 here"),
    ("prune-carefully", lambda loss, n, keep: pruned(float)(lambda g: loss(torch.ones(8)), n, keep), "num_heads gates"),
]
