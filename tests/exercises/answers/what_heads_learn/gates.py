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


def by_jacrev(losses: Any, num_heads: int, count: int) -> Tensor:
    return torch.func.jacrev(losses)(torch.ones(count, num_heads)).sum(dim=1).abs().mean(dim=0)


def without_gradient(losses: Any, num_heads: int, count: int) -> Tensor:
    gates = torch.ones(count, num_heads)
    losses(gates).sum().backward()
    assert gates.grad is not None
    return gates.grad.abs().mean(dim=0)


RIGHT: dict[str, list[Any]] = {"gate-importance": [importance, by_backward, by_jacrev]}

WRONG: list[tuple[str, Any, str]] = [
    ("gate-importance", lambda *a: gate_gradients(*a, at=0.5).abs().mean(dim=0), "then their mean"),
    ("gate-importance", without_gradient, "requires_grad=True"),
    ("gate-importance", lambda f, h, n: f(torch.ones(h, n)), "a row of gates for each example"),
]
