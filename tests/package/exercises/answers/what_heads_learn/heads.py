"""Answers to the exercises: counting heads, and moving, cutting and grouping them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


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
    ("share-keys", lambda W, h, g: W.unflatten(0, (g, h // g, -1))[:, 0].flatten(0, 1), "the first head of a group"),
    ("share-keys", lambda W, h, g: W.unflatten(0, (g, h // g, -1)).sum(dim=1).flatten(0, 1), "not their sum"),
    ("share-keys", lambda W, h, g: W.unflatten(0, (h // g, g, -1)).mean(dim=0).flatten(0, 1), "not heads 0 and 2"),
    ("share-keys", lambda W, h, g: W.unflatten(0, (-1, h // g)).mean(dim=1), "not over neighbouring rows"),
    ("share-keys", lambda W, h, g: 2 * shared(W, h, g) + 1, "the heads into groups"),
    ("share-keys", shared_in_place, "work on a new tensor"),
    ("share-keys", lambda W, h, g: W, "shape of each step"),
]
