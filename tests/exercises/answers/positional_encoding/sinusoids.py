"""Answers to the exercises: tables of waves of many lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def rows(*, dtype: torch.dtype = torch.float64) -> Callable[[int, int, int], Tensor]:
    """The table of sinusoids."""

    def answer(start: int, num_steps: int, d: int) -> Tensor:
        i = torch.arange(start, start + num_steps, dtype=dtype)[:, None]
        angles = i * 10000 ** (-torch.arange(0, d, 2, dtype=dtype) / d)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d]

    return answer


def f(i: int, column: int, d: int) -> float:
    """One number of the table."""
    angle = i * math.exp(-math.log(10000) * (column // 2 * 2) / d)
    return math.cos(angle) if column % 2 else math.sin(angle)


def float32_positions(start: int, num_steps: int, d: int) -> Tensor:
    i = torch.arange(start, start + num_steps, dtype=torch.float32).double()[:, None]
    angles = i * 10000 ** (-torch.arange(0, d, 2).double() / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d]


def of_a_complex_exponential(start: int, num_steps: int, d: int) -> Tensor:
    i = torch.arange(start, start + num_steps).double()[:, None]
    waves = torch.exp(1j * i * 10000 ** (-torch.arange(0, d, 2).double() / d))
    return torch.view_as_real(waves).flip(-1).flatten(1)[:, :d]


def for_even_only(start: int, num_steps: int, d: int) -> Tensor:
    P = torch.zeros(num_steps, d)
    angles = torch.arange(start, start + num_steps)[:, None] * 10000 ** (-torch.arange(0, d, 2) / d)
    P[:, 0::2], P[:, 1::2] = angles.sin(), angles.cos()
    return P


RIGHT: dict[str, list[Any]] = {
    "predict-positions": [(100, 32, 2.832), torch.tensor([100.0, 32.0, 2.83])],
    "odd-width": [
        rows(),
        of_a_complex_exponential,
        lambda start, num_steps, d: [[f(start + i, j, d) for j in range(d)] for i in range(num_steps)],
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-positions", (7, 32, 2.83), "what is the largest 2j?"),
    ("predict-positions", (100, 5, 2.83), "put δ = 0"),
    ("predict-positions", (100, 32, 0.05), "there is one pair"),
    ("odd-width", for_even_only, "how many cosines?"),
    ("odd-width", float32_positions, "in double precision"),
    ("odd-width", lambda start, num_steps, d: rows()(start % 10**6, num_steps, d), "double precision"),
]
