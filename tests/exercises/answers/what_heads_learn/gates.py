"""Answers to the exercises: how strongly the loss depends on a gate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


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


def by_jacobian(losses: Any, num_heads: int, count: int) -> Tensor:
    rows = torch.autograd.functional.jacobian(losses, torch.ones(count, num_heads))  # (count, count, heads)
    return rows.diagonal(dim1=0, dim2=1).abs().mean(dim=1)


def by_jacrev(losses: Any, num_heads: int, count: int) -> Tensor:
    return torch.func.jacrev(losses)(torch.ones(count, num_heads)).sum(dim=1).abs().mean(dim=0)


def by_mean_loss(losses: Any, num_heads: int, count: int) -> Tensor:
    gates = torch.ones(count, num_heads, requires_grad=True)
    losses(gates).mean().backward()
    assert gates.grad is not None
    return gates.grad.abs().sum(dim=0)


def weighted_by_loss(losses: Any, num_heads: int, count: int) -> Tensor:
    gates = torch.ones(count, num_heads, requires_grad=True)
    each = losses(gates)
    weights = each.detach() / each.detach().sum()
    return torch.autograd.grad(each.sum(), gates)[0].abs().mul(weights[:, None]).sum(dim=0)


def one_at_a_time(losses: Any, num_heads: int, count: int) -> Tensor:
    gates = torch.ones(count, num_heads, requires_grad=True)
    rows = [torch.autograd.grad(losses(gates)[i], gates)[0][i] for i in range(count)]
    return torch.stack(rows).abs().mean(dim=0)


def without_gradient(losses: Any, num_heads: int, count: int) -> Tensor:
    gates = torch.ones(count, num_heads)
    losses(gates).sum().backward()
    assert gates.grad is not None
    return gates.grad.abs().mean(dim=0)


RIGHT: dict[str, list[Any]] = {"gate-importance": [importance, by_backward, by_jacobian, by_jacrev, by_mean_loss]}

WRONG: list[tuple[str, Any, str]] = [
    ("gate-importance", weighted_by_loss, "then their mean"),
    ("gate-importance", lambda *a: gate_gradients(*a, at=0.5).abs().mean(dim=0), "then their mean"),
    ("gate-importance", gate_gradients, "shape of each step"),
    ("gate-importance", lambda *a: importance(*a) + 1, "then their mean"),
    ("gate-importance", lambda *a: gate_gradients(*a, at=-1.0).abs().mean(dim=0), "then their mean"),
    ("gate-importance", lambda *a: gate_gradients(*a).abs().sum(dim=0) / 4, "then their mean"),
    ("gate-importance", without_gradient, "requires_grad=True"),
    ("gate-importance", one_at_a_time, "which single number has all these gradients"),
    ("gate-importance", lambda f, h, n: f(torch.ones(h)), "a row of gates for each example"),
    ("gate-importance", lambda f, h, n: f(torch.ones(h, n)), "a row of gates for each example"),
    ("gate-importance", lambda f, h, n: gate_gradients(f, h, n).abs().mean(dim=1), "shape of each step"),
    ("gate-importance", lambda f, h, n: torch.ones(h), "then their mean"),
]
