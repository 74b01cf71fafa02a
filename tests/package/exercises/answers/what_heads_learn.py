"""Answers to the exercises of the chapter "What heads learn, and which matter"."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Loss = Callable[[Tensor], Any]


def gate_gradients(loss: Any, num_heads: int, examples: Any, at: float = 1.0) -> Tensor:
    rows = []
    for example in examples:
        gates = torch.full((num_heads,), at, requires_grad=True)
        rows.append(torch.autograd.grad(loss(gates, example), gates)[0])
    return torch.stack(rows)


def backward_importance(loss: Any, num_heads: int, examples: Any) -> Tensor:
    total = torch.zeros(num_heads)
    for example in examples:
        gates = torch.ones(num_heads, requires_grad=True)
        loss(gates, example).backward()
        assert gates.grad is not None
        total += gates.grad.abs() / len(examples)
    return total


def cut(
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    keep: list[int],
    *,
    by_turns: bool = False,
    first: bool = False,
    factor: float = 1.0,
    output_factor: float = 1.0,
) -> tuple[Tensor, ...]:
    d = W_q.shape[0]
    width = d // num_heads
    rows = [head * width + j for head in keep for j in range(width)]
    if by_turns:
        rows = [row for row in range(d) if row % num_heads in keep]
    columns = W_o[:, : len(rows)] if first else W_o[:, rows]
    share = num_heads / len(keep)
    return W_q[rows], W_k[rows], W_v[rows] * share**factor, columns * share**output_factor


def right_cut(*arguments: Any) -> list[Tensor]:
    return list(cut(*arguments, factor=0, output_factor=0))


def cut_in_place(*arguments: Any) -> tuple[Tensor, ...]:
    found = cut(*arguments, factor=0, output_factor=0)
    arguments[0].zero_()
    return found


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


def shared(W_k: Tensor, num_heads: int, num_groups: int) -> Tensor:
    return W_k.unflatten(0, (num_groups, num_heads // num_groups, -1)).mean(dim=1).flatten(0, 1)


def shared_by_loop(W_k: Tensor, num_heads: int, num_groups: int) -> Tensor:
    heads = W_k.chunk(num_heads)
    size = num_heads // num_groups
    return torch.cat([sum(heads[g * size : (g + 1) * size], torch.zeros(())) / size for g in range(num_groups)])


def shared_in_place(W_k: Tensor, num_heads: int, num_groups: int) -> Tensor:
    found = shared(W_k, num_heads, num_groups)
    W_k.zero_()
    return found


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


def without_zero_grad(loss: Any, num_heads: int, examples: Any) -> Tensor:
    gates = torch.ones(num_heads, requires_grad=True)
    total = torch.zeros(num_heads)
    for example in examples:
        loss(gates, example).backward()
        assert gates.grad is not None
        total += gates.grad.abs()
    return total / len(examples)


def ablated(loss: Any, num_heads: int, examples: Any) -> Tensor:
    ones = torch.ones(num_heads)
    rows = [
        torch.stack([loss(gates, example) - loss(ones, example) for gates in 1 - torch.eye(num_heads)])
        for example in examples
    ]
    return torch.stack(rows).abs().mean(dim=0)


RIGHT: dict[str, list[Any]] = {
    "predict-staircase": [(0.43, 0.05, 1, 5), torch.tensor([0.43, 0.05, 1, 5])],
    "gate-importance": [lambda *a: gate_gradients(*a).abs().mean(dim=0), backward_importance],
    "debug-cut": [lambda *a: cut(*a, factor=0, output_factor=0), right_cut],
    "find-twins": [
        twins,
        lambda *a: list(reversed(twins(*a))),
        lambda *a: torch.tensor(twins(*a)),
        lambda *a: np.array(twins(*a)),
    ],
    "prune-carefully": [
        carefully,
        carefully_from_the_end,
        lambda *a: tuple(carefully(*a)),
        lambda *a: np.array(carefully(*a)),
    ],
    "share-keys": [shared, shared_by_loop],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-staircase", (0.4, 0.05, 1, 5), "is a guess never right"),
    ("predict-staircase", (0.03, 0.05, 1, 5), "two questions are answered"),
    ("predict-staircase", (0.55, 0.05, 1, 5), "once in 20, not once in 4"),
    ("predict-staircase", (2.15, 0.05, 1, 5), "a share of all answers"),
    ("predict-staircase", (0.6, 0.05, 1, 5), "only guessed"),
    ("predict-staircase", (0.45, 0.05, 1, 5), "how many letters"),
    ("predict-staircase", (43, 0.05, 1, 5), "between 0 and 1"),
    ("predict-staircase", (0.5, 0.05, 1, 5), "how many guessed"),
    ("predict-staircase", (0.43, 5, 1, 5), "between 0 and 1"),
    ("predict-staircase", (0.43, 0.0, 1, 5), "it still guesses"),
    ("predict-staircase", (0.43, 0.2, 1, 5), "among the letters"),
    ("predict-staircase", (0.43, 0.05, 5, 5), "who chooses the order"),
    ("predict-staircase", (0.43, 0.05, 0, 5), "has a twin that does its work"),
    ("predict-staircase", (0.43, 0.05, 2, 5), "may be the twin of the first"),
    ("predict-staircase", (0.43, 0.05, 1, 10), "who answers then"),
    ("predict-staircase", (0.43, 0.05, 1, 9), "which questions can it answer"),
    ("predict-staircase", (0.43, 0.05, 1, 1), "here you choose"),
    ("predict-staircase", (0.43, 0.05, 1, 4), "how many heads must stay"),
    ("gate-importance", lambda *a: gate_gradients(*a).mean(dim=0), "do they cancel"),
    ("gate-importance", lambda *a: gate_gradients(*a).mean(dim=0).abs(), "comes before the mean"),
    ("gate-importance", lambda *a: gate_gradients(*a).abs().sum(dim=0), "not their sum"),
    ("gate-importance", lambda *a: gate_gradients(*a).sum(dim=0).abs(), "the sum of the gradients cancels"),
    ("gate-importance", lambda *a: gate_gradients(*a, at=0.0).mean(dim=0), "At which gates"),
    ("gate-importance", lambda *a: gate_gradients(*a, at=0.0).abs().mean(dim=0), "as in the trained model"),
    ("gate-importance", lambda *a: gate_gradients(*a).square().mean(dim=0), "not squares"),
    ("gate-importance", lambda *a: gate_gradients(*a).abs().amax(dim=0), "the largest example"),
    ("gate-importance", lambda loss, h, x: gate_gradients(loss, h, x).abs().sum(dim=0) / h, "not of heads"),
    ("gate-importance", gate_gradients, "shape of each step"),
    ("gate-importance", lambda *a: gate_gradients(*a).abs().mean(dim=0) + 1, "then their mean"),
    ("gate-importance", without_zero_grad, "begin with a gradient of 0"),
    ("gate-importance", ablated, "removing the head is ablation"),
    ("debug-cut", lambda *a: cut(*a, by_turns=True, first=True), "a head's rows are neighbours"),
    ("debug-cut", lambda *a: cut(*a, first=True, output_factor=0), "belong to the first heads"),
    ("debug-cut", lambda *a: cut(*a, factor=0), "write more than before"),
    ("debug-cut", lambda *a: cut(*a, output_factor=0), "who would undo the factor"),
    ("debug-cut", lambda *a: cut(*a, factor=0, output_factor=0)[:3], "return W_q, W_k, W_v, W_o"),
    ("debug-cut", lambda *a: right_cut(*a[:-1], sorted(a[-1])), "which rows belong to head 0"),
    ("debug-cut", cut_in_place, "changes the caller's matrix"),
    ("debug-cut", lambda q, k, v, o, h, keep: right_cut(q, v, k, o, h, keep), "which rows belong to head 0"),
    ("find-twins", costliest_pair, "two heads with different tasks"),
    ("find-twins", cheapest_pair, "cost nothing together"),
    ("find-twins", two_costliest_but_one, "minus cost of the first alone"),
    ("find-twins", twice_the_sum, "each once"),
    ("find-twins", beyond_twice_the_larger, "each once"),
    ("find-twins", by_ratio, "not a ratio"),
    ("find-twins", by_size_of_excess, "the wrong end of it"),
    ("find-twins", least_excess, "the wrong end of it"),
    ("find-twins", lambda *a: (2.0, 4.0), "return i, j"),
    ("find-twins", lambda *a: (1, 1), "no twin of itself"),
    ("find-twins", lambda *a: 0.5, "return i, j"),
    ("prune-carefully", one_list, "made once"),
    ("prune-carefully", least_missed, "they go, the others stay"),
    ("prune-carefully", forward_selection, "here one head goes at a time"),
    ("prune-carefully", lambda loss, n, keep: carefully(loss, n, keep)[::-1], "sort them"),
    ("prune-carefully", lambda loss, n, keep: sorted({*range(n)} - {*carefully(loss, n, keep)}), "not those that go"),
    ("prune-carefully", lambda loss, n, keep: carefully(loss, n, keep - 1), "how often does your loop run"),
    ("prune-carefully", lambda loss, n, keep: [0, 1, 3][:keep], "the loss without it"),
    ("prune-carefully", least_change, "the loss without it"),
    ("prune-carefully", best_subset, "tries all sets"),
    ("prune-carefully", lambda *a: 3, "return a list"),
    ("share-keys", lambda W, h, g: W.unflatten(0, (g, h // g, -1))[:, 0].flatten(0, 1), "the first head of a group"),
    ("share-keys", lambda W, h, g: W.unflatten(0, (g, h // g, -1)).sum(dim=1).flatten(0, 1), "not their sum"),
    ("share-keys", lambda W, h, g: W.unflatten(0, (h // g, g, -1)).mean(dim=0).flatten(0, 1), "not heads 0 and 2"),
    ("share-keys", lambda W, h, g: W.unflatten(0, (-1, h // g)).mean(dim=1), "not over neighbouring rows"),
    ("share-keys", lambda W, h, g: 2 * shared(W, h, g) + 1, "the heads into groups"),
    ("share-keys", shared_in_place, "work on a new tensor"),
    ("share-keys", lambda W, h, g: W, "shape of each step"),
]
