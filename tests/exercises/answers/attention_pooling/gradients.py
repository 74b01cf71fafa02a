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


def by_library(query: Tensor, keys: Tensor, values: Tensor, correction: int = 0) -> Tensor:
    both, v = torch.cat([values, keys], 1).T, values.shape[1]
    return torch.cov(both, aweights=weigh(query, keys), correction=correction)[:v, v:] / math.sqrt(len(query))


def by_library_corrected(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return by_library(query, keys, values, 1)


def even(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (values - values.mean(0)).T @ (keys - keys.mean(0)) / len(keys) / math.sqrt(len(query))


def wrong_mean(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return values.T @ (weigh(query, keys)[:, None] * (keys - keys.mean(0))) / math.sqrt(len(query))


def both_wrong_means(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = weigh(query, keys)[:, None]
    return (values - values.mean(0)).T @ (alpha * (keys - keys.mean(0))) / math.sqrt(len(query))


def moment(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return values.T @ (weigh(query, keys)[:, None] * keys) / math.sqrt(len(query))


def means(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = weigh(query, keys)
    return torch.outer(alpha @ values, alpha @ keys)


def unscaled(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = F.softmax(keys @ query, 0)
    return values.T @ (alpha[:, None] * (keys - alpha @ keys))


def by_exp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    powers = torch.exp(keys @ query / math.sqrt(len(query)))
    alpha = powers / powers.sum()
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def by_clamp(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = F.softmax((keys @ query / math.sqrt(len(query))).clamp(-50, 50), 0)
    return values.T @ (alpha[:, None] * (keys - alpha @ keys)) / math.sqrt(len(query))


def by_wrong_jacobian(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = weigh(query, keys)
    return values.T @ (torch.diag(alpha) + torch.outer(alpha, alpha)) @ keys / len(query) ** 0.5


def by_diagonal(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    alpha = weigh(query, keys)
    return values.T @ torch.diag(alpha * (1 - alpha)) @ keys / len(query) ** 0.5


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
    ("query-gradient", by_wrong_jacobian, "the sign of the second part"),
    ("query-gradient", by_diagonal, "the derivative of αi by sj"),
    ("query-gradient", in_place, "works in place"),
    ("query-gradient", lambda q, k, v: covariance(q, k, v) * (len(q) / len(k)) ** 0.5, "not of the number of keys"),
    ("query-gradient", lambda *a: 0 * covariance(*a), "0 throughout"),
    ("query-gradient", by_library_corrected, "correction=0"),
    ("query-gradient", moment, "is the sum of the weights still 1 after the step?"),
    ("query-gradient", means, "what falls away"),
    ("query-gradient", even, "the keys do not all weigh the same"),
    ("query-gradient", wrong_mean, "which mean?"),
    ("query-gradient", both_wrong_means, "which mean?"),
    ("query-gradient", unscaled, "without the scale, in the softmax as well"),
    ("query-gradient", lambda q, k, v: unscaled(q, k, v) / math.sqrt(len(q)), "missing in the softmax"),
    ("query-gradient", lambda q, k, v: covariance(q, k, v) * math.sqrt(len(q)), "where is this factor"),
    ("query-gradient", lambda q, k, v: covariance(q, k, v) / math.sqrt(len(q)), "not by d"),
    ("query-gradient", lambda q, k, v: covariance(q, k, v) * len(q), "on the wrong side"),
    ("query-gradient", lambda *a: -covariance(*a), "the sign"),
    ("query-gradient", lambda *a: covariance(*a).T, "a row for each entry of the output"),
    ("query-gradient", lambda *a: covariance(*a) if a[1].shape == a[2].shape else covariance(*a) + 1, "by 0.001"),
    ("query-gradient", lambda *a: covariance(*a).T if a[1].shape == a[2].shape else covariance(*a), "a row for each"),
    ("query-gradient", lambda q, k, v: weigh(q, k) @ v, "shape of each step"),
    ("query-gradient", lambda q, k, v: covariance(q, k, v).abs(), "by 0.001"),
    ("query-gradient", lambda q, k, v: covariance(q.zero_(), k, v), "works in place"),
]
