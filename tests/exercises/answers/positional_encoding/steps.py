"""Answers to the exercise on the matrix of a step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.exercises.answers.positional_encoding.sinusoids import rows


def split(d: int) -> Tensor:
    """The permutation that puts all sines before all cosines."""
    return torch.eye(d, dtype=torch.float64)[[*range(0, d, 2), *range(1, d, 2)]]


def matrix(delta: float, d: int) -> Tensor:
    """The matrix of a step."""
    angles = delta * 10000 ** (-torch.arange(0, d, 2).double() / d)
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])


def exponential(delta: int, d: int) -> Tensor:
    """Right: many tiny steps."""
    omega = (10000 ** (-torch.arange(0, d, 2).double() / d)).diag()
    zero = torch.zeros_like(omega)
    return torch.matrix_exp(delta * torch.cat([torch.cat([zero, omega], 1), torch.cat([-omega, zero], 1)]))


def float32_frequencies(delta: int, d: int) -> Tensor:
    """The angles are in double precision, what they are made from is not."""
    angles = delta * (10000 ** (-torch.arange(0, d, 2).double() / d)).float().double()
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])


def fit(delta: int, d: int) -> Tensor:
    """A matrix from d positions and where they go."""
    P, moved = (rows()(begin, d, d) @ split(d).T for begin in (0, delta))
    return torch.linalg.lstsq(P, moved).solution.T


RIGHT: dict[str, list[Any]] = {
    "step-matrix": [matrix, exponential, lambda delta, d: torch.linalg.matrix_power(matrix(1, d), delta)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("step-matrix", float32_frequencies, "computed in double precision?"),
    ("step-matrix", fit, "is it a fit?"),
    ("step-matrix", lambda delta, d: torch.linalg.matrix_power(matrix(1, d).float(), delta), "a large step"),
]
