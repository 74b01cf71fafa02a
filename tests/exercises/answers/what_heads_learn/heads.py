"""Answers to the exercises: counting heads, and cutting them out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def cut(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> list[Tensor]:
    width = len(W_out) // num_heads
    rows = [head * width + j for head in keep for j in range(width)]
    return [*(torch.cat([part[rows] for part in whole.chunk(3)]) for whole in (W_in, b_in)), W_out[:, rows]]


def cut_by_unflatten(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> list[Tensor]:
    rows = W_in.unflatten(0, (3, num_heads, -1))[:, keep].flatten(0, 2)
    return [
        rows,
        b_in.view(3, num_heads, -1)[:, keep].flatten(),
        W_out.unflatten(1, (num_heads, -1))[:, keep].flatten(1),
    ]


def cut_by_selection(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> tuple[Any, ...]:
    S = torch.kron(torch.eye(num_heads)[keep], torch.eye(len(W_out) // num_heads))
    S3 = torch.block_diag(S, S, S)
    return (S3 @ W_in).numpy(), (S3 @ b_in).numpy(), (W_out @ S.T).numpy()


def cut_in_place(*arguments: Any) -> Any:
    found = cut(*arguments)
    arguments[0].zero_()
    return found


def of_the_book(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> tuple[Tensor, ...]:
    """The starter, with its five faults."""
    rows = [row for row in range(W_out.shape[0]) if row % num_heads in keep]
    Q, K, V = W_in.chunk(3)
    W_in = torch.cat([Q[rows], K[rows], V[rows] * num_heads / len(keep)])
    return W_in, b_in[: len(W_in)], W_out[:, : len(rows)]


RIGHT: dict[str, list[Any]] = {
    "predict-staircase": [(0.43, 0.05, 1, 5), torch.tensor([0.43, 0.05, 1, 5])],
    "debug-cut": [cut, cut_by_unflatten, cut_by_selection],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-staircase", (0.5, 0.05, 1, 5), "how many guessed"),
    ("predict-staircase", (0.43, 0.05, 1, 4), "how many heads must stay"),
    ("debug-cut", of_the_book, "a head's rows are neighbours"),
    ("debug-cut", lambda *a: [cut(*a)[0], a[1], cut(*a)[2]], "shape of each step"),
    ("debug-cut", lambda *a: [*cut(*a)[:2], cut(*a)[2].flip(1)], "which head did it belong to?"),
    ("debug-cut", lambda *a: cut(*a)[:2], "return W_in and b_in and W_out"),
    ("debug-cut", lambda *a: [part + 1 for part in cut(*a)], "which head did it belong to?"),
    ("debug-cut", cut_in_place, "works in place"),
]
