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


def by_jacobian(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = weigh(query, keys)
    return values.T @ (torch.diag(alpha) - torch.outer(alpha, alpha)) @ keys / len(query) ** 0.5


def by_moments(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = weigh(query, keys)
    moment = torch.einsum("k,kv,kd->vd", alpha, values, keys)
    return (moment - torch.outer(alpha @ values, alpha @ keys)) / math.sqrt(len(query))


def by_pairs(query: Tensor, keys: Tensor, values: Tensor) -> Any:
    """Half the sum over all pairs of keys."""
    alpha = weigh(query, keys)
    dv, dk = values[:, None] - values, keys[:, None] - keys
    return (torch.einsum("i,j,ijv,ijd->vd", alpha, alpha, dv, dk) / 2 / math.sqrt(len(query))).numpy()


def by_difference(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    keys, values, steps = keys.double(), values.double(), torch.eye(len(query)).double() * 1e-6
    return torch.stack([weigh(query + s, keys) @ values - weigh(query - s, keys) @ values for s in steps], 1) / 2e-6


def by_difference_in_float32(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    steps = torch.eye(len(query)) * 1e-3
    return torch.stack([weigh(query + s, keys) @ values - weigh(query - s, keys) @ values for s in steps], 1) / 2e-3


def by_autograd(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    query = query.clone().requires_grad_()
    output = weigh(query, keys) @ values
    return torch.stack([torch.autograd.grad(entry, query, retain_graph=True)[0] for entry in output])


def by_functional(query: Tensor, keys: Tensor, values: Tensor) -> Any:
    return torch.autograd.functional.jacobian(lambda query: weigh(query, keys) @ values, query)


def by_library(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    both, v = torch.cat([values, keys], 1).T, values.shape[1]
    return torch.cov(both, aweights=weigh(query, keys), correction=0)[:v, v:] / math.sqrt(len(query))


def by_exp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    powers = torch.exp(keys @ query / math.sqrt(len(query)))
    alpha = powers / powers.sum()
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def by_clamp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = F.softmax((keys @ query / math.sqrt(len(query))).clamp(-50, 50), 0)
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def in_place(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = weigh(query, keys)
    keys -= alpha @ keys
    return values.T @ (alpha[:, None] * keys) / math.sqrt(len(query))


RIGHT: dict[str, list[Any]] = {
    "query-gradient": [
        covariance,
        by_jacobian,
        by_moments,
        by_pairs,
        by_difference,
        by_library,
        by_autograd,
        by_functional,
        lambda q, k, v: torch.func.jacrev(lambda q: weigh(q, k) @ v)(q),
        lambda q, k, v: torch.func.jacfwd(lambda q: weigh(q, k) @ v)(q),
        lambda *a: covariance(*(x.double() for x in a)).tolist(),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("query-gradient", lambda *a: covariance(*a).squeeze(), "shape of each step"),
    ("query-gradient", lambda *a: covariance(*a).squeeze(0), "shape of each step"),
    ("query-gradient", by_exp, "does an exp overflow"),
    ("query-gradient", lambda *a: by_exp(*a).nan_to_num(), "does an exp overflow"),
    ("query-gradient", by_difference_in_float32, "a difference loses digits"),
    ("query-gradient", by_clamp, "a limit cut them off"),
    ("query-gradient", in_place, "works in place"),
    ("query-gradient", lambda *a: covariance(*a).abs(), "by 0.001"),
]
