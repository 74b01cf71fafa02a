"""Answers to the exercises of the chapter "Attention pooling"."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


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


def attend(
    *,
    hide: Callable[[Tensor, Tensor], Tensor] = lambda scores, may: scores.masked_fill(~may, -math.inf),
    after: Callable[[Tensor, Tensor], Tensor] = lambda weights, may: weights.nan_to_num(),
) -> Callable[..., Tensor]:
    """Masked attention, right unless told otherwise."""

    def function(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = queries @ keys.T / math.sqrt(queries.shape[1])
        return after(hide(scores, mask).softmax(1), mask) @ values

    return function


def pool(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return d2l.masked_softmax((queries @ keys.T / math.sqrt(queries.shape[1]))[None], mask=mask)[0] @ values


def by_kernel(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def by_numpy(*arguments: Tensor) -> Any:
    """A loop over queries that picks the keys that count."""
    Q, K, V, mask = (argument.numpy() for argument in arguments)
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    found = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        if mask[i].any():
            powers = np.exp(scores[i, mask[i]] - scores[i, mask[i]].max())
            found[i] = powers / powers.sum() @ V[mask[i]]
    return found


def late(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """The weights masked, and divided by what is left."""
    weights = F.softmax(queries @ keys.T / math.sqrt(queries.shape[1]), 1) * mask
    return (weights / weights.sum(1, keepdim=True)).nan_to_num() @ values


def empty_rows(weights: Tensor, may: Tensor) -> Tensor:
    return weights * may.any(-1, keepdim=True)


def softmax(fill: float = -math.inf) -> Callable[[Tensor, Tensor], Tensor]:
    """The masked softmax of the debugging exercise."""

    def masked(X: Tensor, valid_lens: Tensor) -> Tensor:
        scores = X.masked_fill(torch.arange(X.shape[-1]) >= valid_lens[:, None, None], fill)
        nothing = (valid_lens == 0)[:, None, None]
        return F.softmax(scores.masked_fill(nothing, 0), -1).masked_fill(nothing, 0)

    return masked


def shown(X: Tensor, valid_lens: Tensor) -> Tensor:
    return (torch.arange(X.shape[-1]) < valid_lens[:, None, None]).expand(X.shape)


def additive_mask(X: Tensor, valid_lens: Tensor) -> Tensor:
    return F.softmax(X + torch.where(shown(X, valid_lens), 0.0, -math.inf).to(X.dtype), -1).nan_to_num()


def masked_by_exp(X: Tensor, valid_lens: Tensor) -> Tensor:
    may = shown(X, valid_lens)
    largest = X.masked_fill(~may, -math.inf).amax(-1, keepdim=True).clamp(min=torch.finfo(X.dtype).min)
    powers = torch.exp((X - largest).masked_fill(~may, -math.inf))
    return powers / powers.sum(-1, keepdim=True).masked_fill(~may.any(-1, keepdim=True), 1)


def by_loop(X: Tensor, valid_lens: Tensor) -> Tensor:
    rows = []
    for scores, length in zip(X, valid_lens.tolist(), strict=True):
        rows.append(F.pad(F.softmax(scores[:, :length], -1), (0, X.shape[-1] - length)))
    return torch.stack(rows)


def saturation(queries: Tensor, keys: Tensor, scale: float) -> Any:
    scores = torch.einsum("nd,nmd->nm", queries, keys)
    return sorted(F.softmax(scale * scores, 1).amax(1).tolist())[len(queries) // 2]


def in_numpy(queries: Tensor, keys: Tensor, scale: float) -> Any:
    scores = scale * (keys.numpy() @ queries.numpy()[:, :, None])[:, :, 0]
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.median(powers.max(1) / powers.sum(1))


RIGHT: dict[str, list[Any]] = {
    "query-gradient": [covariance, by_pairs, by_functional],
    "masked-attention": [attend(), pool, by_kernel, by_numpy],
    "debug-masked-softmax": [softmax(), masked_by_exp, by_loop],
    "predict-mixture": [(10, 12, 7), torch.tensor([10.0, 12, 7])],
    "measure-saturation": [saturation, in_numpy],
    "use-saturation": [(128,), torch.tensor(128)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("query-gradient", by_exp, "does an exp overflow"),
    ("query-gradient", by_clamp, "a limit cut them off"),
    ("masked-attention", late, "what is left for the others"),
    *[
        (
            "masked-attention",
            attend(hide=lambda s, may, fill=fill: s.masked_fill(~may, fill), after=empty_rows),
            "which number is below every score",
        )
        for fill in (-1e5, -1e38)
    ],
    (
        "masked-attention",
        attend(hide=lambda s, may: s.clamp(-1e4, 1e4).masked_fill(~may, -math.inf)),
        "has a limit cut them off?",
    ),
    ("debug-masked-softmax", softmax(fill=-3.4e38), "does every constant in your code fit?"),
    ("debug-masked-softmax", additive_mask, "too late for the gradient"),
    ("use-saturation", 100, "print each median"),
    ("predict-mixture", (10, 1, 7), "multiply the scores by 2"),
    ("predict-mixture", (10, 12, 1), "what are the weights?"),
    ("predict-mixture", (10, 12, None), "look at the starter's form"),
    ("measure-saturation", lambda Q, K, scale: saturation(Q.roll(1, 0), K, scale), "with its own keys"),
]
