"""Answers to the exercise on the derivative of the output by the query."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def weigh(query: Tensor, keys: Tensor) -> Tensor:
    return F.softmax(keys @ query / math.sqrt(len(query)), 0)


def covariance(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The covariance of value and key under the weights."""
    alpha = weigh(query, keys)
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def by_pairs(query: Tensor, keys: Tensor, values: Tensor) -> Any:
    """Half the sum over all pairs of keys."""
    alpha = weigh(query, keys)
    dv, dk = values[:, None] - values, keys[:, None] - keys
    return (torch.einsum("i,j,ijv,ijd->vd", alpha, alpha, dv, dk) / 2 / math.sqrt(len(query))).numpy()


def by_functional(query: Tensor, keys: Tensor, values: Tensor) -> Any:
    return torch.autograd.functional.jacobian(lambda query: weigh(query, keys) @ values, query)


def by_exp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    powers = torch.exp(keys @ query / math.sqrt(len(query)))
    alpha = powers / powers.sum()
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def by_clamp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = F.softmax((keys @ query / math.sqrt(len(query))).clamp(-50, 50), 0)
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


RIGHT: dict[str, list[Any]] = {
    "query-gradient": [covariance, by_pairs, by_functional],
}

WRONG: list[tuple[str, Any, str]] = [
    ("query-gradient", by_exp, "does an exp overflow"),
    ("query-gradient", by_clamp, "a limit cut them off"),
]
