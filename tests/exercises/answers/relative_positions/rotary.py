"""Answers to the exercises: rotary embedding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l


def rotary(scale: Callable[[int], float] = math.sqrt) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attention with rotary embedding, right unless told otherwise."""

    def answer(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        m, n, p = len(Q), *K.shape

        def turn(X: Tensor, first: int) -> Tensor:
            angles = torch.arange(first, first + len(X))[:, None] * 10000 ** (-torch.arange(0, p, 2).double() / p)
            pairs = torch.view_as_complex(X.double().unflatten(-1, (-1, 2)).contiguous())
            return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(1)

        return (turn(Q, n - m) @ turn(K, 0).T / scale(p)).softmax(1) @ V.double()

    return answer


def with_package(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    turned = d2l.apply_rotary(Q, offset=len(K) - len(Q)), d2l.apply_rotary(K)
    return (turned[0] @ turned[1].T / math.sqrt(K.shape[1])).softmax(1) @ V


def by_offsets(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Right: only keys are turned, by how far they stand from the query."""
    outputs = []
    for i, q in enumerate(Q, start=len(K) - len(Q)):
        turned = [d2l.apply_rotary(k[None], offset=abs(j - i))[0] for j, k in enumerate(K)]
        back = [d2l.apply_rotary(q[None], offset=abs(j - i))[0] for j in range(len(K))]
        scores = torch.stack([q @ t if j >= i else b @ K[j] for j, (t, b) in enumerate(zip(turned, back, strict=True))])
        outputs.append((scores / math.sqrt(len(q))).softmax(0) @ V)
    return torch.stack(outputs)


def base(length: int, p: int) -> float:
    return float(((length - 1) / math.pi) ** (p / (p - 2)))


def by_bisection(length: int, p: int) -> float:
    """Right: the angle falls with the base."""
    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        if (length - 1) * math.exp(-middle * (p - 2) / p) > math.pi:
            low = middle
        else:
            high = middle
    return math.exp(low)


RIGHT: dict[str, list[Any]] = {
    "debug-rotary": [rotary(), with_package, by_offsets],
    "rotary-base": [base, by_bisection],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-rotary", rotary(scale=lambda p: math.sqrt(12)), "compare turned queries"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, K[-10:], V[-10:]), "compare turned queries"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, 2 * K - K.detach(), V), "is a part of the way cut off?"),
    ("rotary-base", lambda length, p: base(length, 10), "solve for the base"),
    ("rotary-base", lambda length, p: 10000, "solve for the base"),
]
