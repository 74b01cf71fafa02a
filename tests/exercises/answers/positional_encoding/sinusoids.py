"""Answers to the exercises: tables of waves, the matrix of a step, and decoding token by token."""

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


def decode(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """One token after the other."""
    tokens = [encoding(X[:, i : i + 1], start=i) for i in range(X.shape[1])]
    pasts = [torch.cat(tokens[: i + 1], dim=1) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def keys_from_the_whole(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: the kept tokens get their positions again at each step."""
    pasts = [encoding(X[:, : i + 1]) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def from_the_table(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    kept = [X[:, i : i + 1] + encoding.P[:, i : i + 1] for i in range(X.shape[1])]
    pasts = [torch.cat(kept[: i + 1], dim=1) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def of_the_weights(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    layer.dropout.p = 0.0
    return decode(layer, encoding.forward, X)


RIGHT: dict[str, list[Any]] = {
    "predict-positions": [(100, 32, 2.832), torch.tensor([100.0, 32.0, 2.83])],
    "odd-width": [
        rows(),
        of_a_complex_exponential,
        lambda start, num_steps, d: [[f(start + i, j, d) for j in range(d)] for i in range(num_steps)],
    ],
    "step-matrix": [matrix, exponential, lambda delta, d: torch.linalg.matrix_power(matrix(1, d), delta)],
    "debug-decoding": [decode, keys_from_the_whole],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-positions", (100, 5, 2.83), "put δ = 0"),
    ("predict-positions", (100, 32, 0.05), "there is one pair"),
    ("odd-width", for_even_only, "how many cosines?"),
    ("odd-width", float32_positions, "in double precision"),
    ("odd-width", lambda start, num_steps, d: rows()(start % 10**6, num_steps, d), "double precision"),
    ("step-matrix", float32_frequencies, "computed in double precision?"),
    ("step-matrix", fit, "is it a fit?"),
    ("step-matrix", lambda delta, d: torch.linalg.matrix_power(matrix(1, d).float(), delta), "a large step"),
    ("debug-decoding", from_the_table, "call it, no more"),
    ("debug-decoding", of_the_weights, "call it, no more"),
]
