"""Answers to the exercise on what several heads know together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


def explained(A: Tensor, C: Tensor) -> Tensor:
    """The covariance of the best read-outs."""
    return C @ A.T @ torch.linalg.pinv(A @ C @ A.T) @ A @ C


def measure(statistic: Callable[[Tensor, Tensor], Any] = lambda rest, C: rest.trace() / C.trace()) -> Any:
    """The error of the best read-out, right unless told otherwise; `rest` is the covariance that is left."""
    return lambda weights, C: float(statistic(C - explained(weights, C), C))


def by_sampling(weights: Tensor, covariance: Tensor) -> float:
    """Words with exactly this covariance, and a least-squares read-out."""
    eigenvalues, vectors = torch.linalg.eigh(covariance.double())
    values = (vectors * eigenvalues.clamp(min=0).sqrt()).T  # (cases, words)
    mixtures = values @ weights.double().T
    rest = values - mixtures @ torch.linalg.lstsq(mixtures, values, driver="gelsd").solution
    return (rest.square().sum() / values.square().sum()).item()


def by_numpy(weights: Tensor, covariance: Tensor) -> Any:
    A, C = weights.numpy().astype(float), covariance.numpy().astype(float)
    factors = np.linalg.lstsq(A @ C @ A.T, A @ C, rcond=None)[0]
    return 1 - np.trace(C @ A.T @ factors) / np.trace(C)


def word_by_word(weights: Tensor, C: Tensor) -> float:
    inner = torch.linalg.pinv(weights @ C @ weights.T)
    return sum(float(C[i, i] - C[i] @ weights.T @ inner @ weights @ C[i]) for i in range(len(C))) / float(C.trace())


def by_projection(weights: Tensor, covariance: Tensor) -> float:
    """The mixtures span a subspace; what is orthogonal to it is lost."""
    eigenvalues, vectors = torch.linalg.eigh(covariance.double())
    root = vectors * eigenvalues.clamp(min=0).sqrt()
    U, S, _ = torch.linalg.svd(root.T @ weights.double().T, full_matrices=False)
    basis = U[:, S > 1e-6]
    return 1 - ((basis.T @ root.T).square().sum() / covariance.trace()).item()


def by_inverse(weights: Tensor, C: Tensor) -> float:
    return 1 - (C @ weights.T @ torch.linalg.inv(weights @ C @ weights.T) @ weights @ C).trace() / C.trace()


def by_inverse_where_heads_differ(A: Tensor, C: Tensor) -> float:
    """It fails where a head looks at a word that never varies: a row of zeros, singular on every processor."""
    return measure()(A, C) if torch.linalg.matrix_rank(A) < len(A) else by_inverse(A, C)


def by_limit(weights: Tensor, C: Tensor, **limits: float) -> float:
    A, C = weights.double(), C.double()
    return float(1 - (C @ A.T @ torch.linalg.pinv(A @ C @ A.T, **limits) @ A @ C).trace() / C.trace())


def by_ridge(weights: Tensor, C: Tensor) -> float:
    A, C = weights.double(), C.double()
    inner = A @ C @ A.T + 1e-10 * torch.eye(len(A)).double()
    return float(1 - (C @ A.T @ torch.linalg.inv(inner) @ A @ C).trace() / C.trace())


def nan_for_equal_heads(weights: Tensor, C: Tensor) -> float:
    equal = len(weights) == 2 and torch.equal(weights[0], weights[1])
    return math.nan if equal else measure()(weights, C)


def by_diagonal(A: Tensor, C: Tensor) -> Tensor:
    return 1 - (C @ A.T / (A @ C @ A.T).diagonal() @ A @ C).trace() / C.trace()


def projector(A: Tensor) -> Tensor:
    return A.T @ torch.linalg.pinv(A @ A.T) @ A


RIGHT: dict[str, list[Any]] = {
    "measure-heads": [
        measure(),
        by_numpy,
        by_sampling,
        word_by_word,
        by_projection,
        lambda *a: torch.tensor(measure()(*a)),
        lambda A, C: measure()(A.double(), C.double()),
        lambda A, C: 1 - (torch.linalg.pinv(A @ C @ A.T) @ A @ C @ C @ A.T).trace() / C.trace(),
        lambda A, C: measure()(A / A.sum(1, keepdim=True), C).__abs__(),
    ],
    "use-heads": [(2 / 3, 1 / 3, 0, 1 / 3), [0.667, 0.333, 0.0, 0.333], torch.tensor([2 / 3, 1 / 3, 1e-9, 1 / 3])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("measure-heads", measure(lambda rest, C: rest.trace()), "Divide by the sum"),
    ("measure-heads", measure(lambda rest, C: rest.trace() / len(C)), "mean squared error"),
    ("measure-heads", measure(lambda rest, C: (rest.trace() / C.trace()).sqrt()), "you took a root"),
    ("measure-heads", measure(lambda rest, C: 1 - rest.trace() / C.trace()), "what is left?"),
    ("measure-heads", measure(lambda rest, C: rest[0, 0] / C[0, 0]), "the first word alone"),
    ("measure-heads", measure(lambda rest, C: (rest.diagonal() / C.diagonal()).mean()), "no mean of ratios"),
    ("measure-heads", measure(lambda rest, C: rest.sum() / C.sum()), "do not cancel"),
    ("measure-heads", lambda A, C: measure()(A.mean(0, keepdim=True), C), "do not average the heads"),
    ("measure-heads", lambda A, C: measure()(A, C * torch.eye(len(C))), "where is the rest of the covariance?"),
    ("measure-heads", lambda A, C: 1 - projector(A).trace() / len(C), "where is the covariance?"),
    ("measure-heads", lambda A, C: 1 - (projector(A) @ C).trace() / C.trace(), "on both sides"),
    ("measure-heads", by_diagonal, "the mixtures of two heads are related, too"),
    ("measure-heads", lambda A, C: measure()(A, C) / len(A), "divide by the number of heads?"),
    ("measure-heads", lambda A, C: 1 - len(A) / len(C), "where is the covariance?"),
    ("measure-heads", nan_for_equal_heads, "Does your way?"),
    ("measure-heads", lambda A, C: by_limit(A, C, rtol=1e-3), "a limit has to be relative"),
    ("measure-heads", lambda A, C: by_limit(A, C, atol=1e-8), "a limit has to be relative"),
    ("measure-heads", by_ridge, "a limit has to be relative"),
    ("measure-heads", by_inverse, "Does your way?"),
    ("measure-heads", by_inverse_where_heads_differ, "Does your way?"),
    ("measure-heads", lambda A, C: measure()(A.T if len(A) == len(C) else A, C), "Does your way?"),
    ("measure-heads", lambda A, C: measure()(A[:1], C), "E[v u]"),
    ("measure-heads", lambda A, C: 1 - torch.linalg.eigvalsh(C)[-len(A) :].sum() / C.trace(), "E[v u]"),
    ("measure-heads", lambda A, C: 0.777, "E[v u]"),
    ("measure-heads", lambda A, C: measure()(A, C) + 2e-3, "if you draw numbers, chance is left"),
    ("measure-heads", lambda A, C: A, "a tensor of one entry"),
    ("use-heads", (0.7, 1 / 3, 0, 1 / 3), "choose any weights"),
    ("use-heads", (2 / 3, 0.4, 0, 1 / 3), "no multiples of each other"),
    ("use-heads", (2 / 3, 1 / 3, 0.1, 1 / 3), "solved for the words"),
    ("use-heads", (2 / 3, 1 / 3, 0, 0.35), "something in common"),
    ("use-heads", (2 / 3, 1 / 3, 0), "look at the starter's form"),
]
