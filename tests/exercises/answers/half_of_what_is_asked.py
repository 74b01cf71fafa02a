"""Answers to the exercise of the chapter "Half of what is asked"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def explained(A: Tensor, C: Tensor) -> Tensor:
    """The covariance of the best read-outs."""
    return C @ A.T @ torch.linalg.pinv(A @ C @ A.T) @ A @ C


def measure(weights: Tensor, C: Tensor) -> float:
    return float((C - explained(weights, C)).trace() / C.trace())


def by_numpy(weights: Tensor, covariance: Tensor) -> Any:
    A, C = weights.numpy().astype(float), covariance.numpy().astype(float)
    factors = np.linalg.lstsq(A @ C @ A.T, A @ C, rcond=None)[0]
    return 1 - np.trace(C @ A.T @ factors) / np.trace(C)


def word_by_word(weights: Tensor, C: Tensor) -> float:
    inner = torch.linalg.pinv(weights @ C @ weights.T)
    return sum(float(C[i, i] - C[i] @ weights.T @ inner @ weights @ C[i]) for i in range(len(C))) / float(C.trace())


def by_inverse(weights: Tensor, C: Tensor) -> float:
    return 1 - (C @ weights.T @ torch.linalg.inv(weights @ C @ weights.T) @ weights @ C).trace() / C.trace()


def by_limit(weights: Tensor, C: Tensor, **limits: float) -> float:
    A, C = weights.double(), C.double()
    return float(1 - (C @ A.T @ torch.linalg.pinv(A @ C @ A.T, **limits) @ A @ C).trace() / C.trace())


RIGHT: dict[str, list[Any]] = {
    "measure-heads": [measure, by_numpy, word_by_word],
    "use-heads": [(2 / 3, 1 / 3, 0, 1 / 3), torch.tensor([2 / 3, 1 / 3, 1e-9, 1 / 3])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("measure-heads", lambda A, C: by_limit(A, C, rtol=1e-3), "a limit has to be relative"),
    ("measure-heads", by_inverse, "Does your way?"),
    ("measure-heads", lambda A, C: measure(A, C) + 2e-3, "if you draw numbers, chance is left"),
    ("use-heads", (0.7, 1 / 3, 0, 1 / 3), "choose any weights"),
    ("use-heads", (2 / 3, 1 / 3, 0.1, 1 / 3), "solved for the words"),
    ("use-heads", (2 / 3, 1 / 3, 0, 0.35), "something in common"),
]
