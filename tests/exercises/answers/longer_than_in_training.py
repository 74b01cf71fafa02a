"""Answers to the exercises of the chapter "Longer than in training"."""

import math
from typing import Any

import torch
from torch import Tensor


def yarn(positions: Tensor, p: int, L: int, s: float, window: int | None = None) -> Tensor:
    """Right: pair by pair, in plain numbers."""
    columns = []
    for j in range(p // 2):
        omega = 10000 ** (-2 * j / p)
        slowed = min(max((32 - L * omega / math.tau) / 31, 0), 1) if window is None or window > L else 0
        columns.append(positions * (omega + slowed * (omega / s - omega)))
    return torch.stack(columns, dim=1)


def half(positions: Tensor, p: int, L: int, s: float, window: int | None = None) -> Tensor:
    """Wrong: only pairs of the second half are stretched."""
    omega = 10000 ** (-torch.arange(0, p, 2) / p)
    return positions[:, None] * torch.cat([omega[: p // 4], omega[p // 4 :] / s])


RIGHT: dict[str, list[Any]] = {"debug-stretching": [yarn, lambda *given: yarn(*given).float()]}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-stretching", half, "print γ"),
    ("debug-stretching", lambda i, p, L, s, window=None: 1.01 * yarn(i, p, L, s, window), "print γ"),
]
