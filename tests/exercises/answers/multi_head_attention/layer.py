"""Answers to the exercises on a layer with several heads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


def by_heads(W_in: Tensor, h: int) -> list[Tensor]:
    """Rows in the order head, role, column."""
    return [part.reshape(-1, W_in.shape[1]) for part in W_in.reshape(h, 3, -1, W_in.shape[1]).unbind(1)]


def by_einsum(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
    Q, K, V = torch.einsum("bnd,hrpd->rbhnp", X, W_in.unflatten(0, (num_heads, 3, -1)))
    pooled = F.scaled_dot_product_attention(Q, K, V)
    return torch.einsum("bhnp,ohp->bno", pooled, W_o.unflatten(1, (num_heads, -1)))


def by_loop(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
    output = torch.zeros_like(X)
    for own, out in zip(W_in.chunk(num_heads), W_o.chunk(num_heads, 1), strict=True):
        Q, K, V = (X @ own.T).chunk(3, 2)
        output = output + (Q @ K.mT / Q.shape[2] ** 0.5).softmax(2) @ V @ out.T
    return output


def by_pytorch(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
    """PyTorch's own layer, once the rows are in its order."""
    mha = nn.MultiheadAttention(X.shape[2], num_heads, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat(by_heads(W_in, num_heads)))
        mha.out_proj.weight.copy_(W_o)
    return mha(X, X, X)[0]


def by_numpy(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Any:
    own = np.einsum("bnd,hrpd->rbhnp", X.numpy(), W_in.numpy().reshape(num_heads, 3, -1, X.shape[2]))
    scores = own[0] @ own[1].swapaxes(2, 3) / np.sqrt(own.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    pooled = powers / powers.sum(-1, keepdims=True) @ own[2]
    return pooled.swapaxes(1, 2).reshape(X.shape) @ W_o.numpy().T


def in_place(X: Tensor, *more: Any) -> Tensor:
    output = by_einsum(X, *more)
    X.zero_()
    return output


def with_heads(
    weigh: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1), divisor: float | None = None
) -> Callable[..., Tensor]:
    """By a permutation of five axes."""

    def attend(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
        Q, K, V = (X @ W_in.T).unflatten(2, (num_heads, 3, -1)).permute(3, 0, 2, 1, 4)
        pooled = weigh(Q @ K.mT / (divisor or math.sqrt(Q.shape[-1]))) @ V  # (b, h, n, d / h)
        return pooled.transpose(1, 2).flatten(2) @ W_o.T

    return attend


def powers(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


PARAMETERS = 4 * 512**2


RIGHT: dict[str, list[Any]] = {
    "predict-heads": [(8, PARAMETERS, 1), (8.0, float(PARAMETERS), 1.0), np.array([8, PARAMETERS, 1])],
    "multi-head-attention": [
        by_einsum,
        by_loop,
        by_pytorch,
        by_numpy,
        with_heads(),
        with_heads(lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()),
        lambda *a: by_einsum(*a).double(),
        lambda X, W_in, W_o, h: by_loop(X.double(), W_in.double(), W_o.double(), h),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-heads", (7, PARAMETERS, 1), "as many products as a head is wide"),
    ("predict-heads", (8, 1000, 1), "count the matrices"),
    ("predict-heads", (8, PARAMETERS, 2), "what do eight narrow heads add up to?"),
    ("predict-heads", 8, "look at the starter's form"),
    ("multi-head-attention", with_heads(powers), "does an exp overflow"),
    ("multi-head-attention", with_heads(lambda s: powers(s).nan_to_num()), "does an exp overflow"),
    ("multi-head-attention", with_heads(divisor=math.sqrt(6)), "compare with a loop over the heads"),
    ("multi-head-attention", lambda *a: by_einsum(*a).squeeze(0), "shape of each step"),
    ("multi-head-attention", lambda *a: by_einsum(*a).squeeze(1), "shape of each step"),
    ("multi-head-attention", lambda *a: by_einsum(*a).mT, "shape of each step"),
    ("multi-head-attention", in_place, "works in place"),
]
