"""Answers to the exercises on a layer with several heads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l


def wrong_split(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] * num_heads, X.shape[1], -1)


def wrong_join(X: Tensor, num_heads: int) -> Tensor:
    return X.reshape(X.shape[0] // num_heads, X.shape[1], -1)


def every_other_column(X: Tensor, num_heads: int) -> Tensor:
    return torch.stack([X[..., i::num_heads] for i in range(num_heads)], 1).flatten(0, 1)


def by_heads(W_in: Tensor, h: int) -> list[Tensor]:
    """Rows in the order head, role, column."""
    return [part.reshape(-1, W_in.shape[1]) for part in W_in.reshape(h, 3, -1, W_in.shape[1]).unbind(1)]


def multi_head(
    *,
    cut: Callable[[Tensor, int], Any] = by_heads,
    split: Callable[[Tensor, int], Tensor] = d2l.transpose_qkv,
    join: Callable[[Tensor, int], Tensor] = d2l.transpose_output,
    divisor: Callable[[int, int], float] = lambda d, h: math.sqrt(d / h),
    dim: int = 2,
    roles: tuple[int, int, int] = (0, 1, 2),
    project: Callable[[Tensor, Tensor], Tensor] = lambda X, W: X @ W.T,
    last: Callable[[Tensor, Tensor], Tensor] = lambda X, W: X @ W.T,
) -> Callable[..., Tensor]:
    """Multi-head self-attention, right unless told otherwise."""

    def attend(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
        parts = [split(project(X, W), num_heads) for W in cut(W_in, num_heads)]
        Q, K, V = (parts[role] for role in roles)
        weights = F.softmax(Q @ K.mT / divisor(X.shape[2], num_heads), dim)
        return last(join(weights @ V, num_heads), W_o)

    return attend


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


def averaged(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(0, (-1, num_heads)).mean(1).repeat(1, 1, num_heads)


def summed(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(0, (-1, num_heads)).sum(1).repeat(1, 1, num_heads)


def in_place(X: Tensor, *more: Any) -> Tensor:
    output = multi_head()(X, *more)
    X.zero_()
    return output


def one_head_alone(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
    return multi_head()(X, W_in, W_o, 1)


def one_wide_head(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
    return multi_head()(X, torch.cat(by_heads(W_in, num_heads)), W_o, 1)


def with_heads(
    join: Callable[[Tensor], Tensor], weigh: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1)
) -> Callable[..., Tensor]:
    """From the pooled heads (b, h, n, d / h)."""

    def attend(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
        Q, K, V = (X @ W_in.T).unflatten(2, (num_heads, 3, -1)).permute(3, 0, 2, 1, 4)
        return join(weigh(Q @ K.mT / math.sqrt(Q.shape[-1])) @ V).reshape(X.shape) @ W_o.T

    return attend


def side_by_side(pooled: Tensor) -> Tensor:
    return pooled.transpose(1, 2).flatten(2)


def powers(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


PARAMETERS = 4 * 512**2


def heads_among_heads(X: Tensor, W_in: Tensor, W_o: Tensor, h: int) -> Tensor:
    """The transpose is forgotten: scores are (b, n, h, h)."""
    b, n, d = X.shape
    q, k, v = (X @ W_in.T).view(b, n, h, 3, d // h).unbind(3)
    return (F.softmax(q @ k.mT / (d // h) ** 0.5, -1) @ v).reshape(b, n, d) @ W_o.T


RIGHT: dict[str, list[Any]] = {
    "predict-heads": [(8, PARAMETERS, 1), (8.0, float(PARAMETERS), 1.0), np.array([8, PARAMETERS, 1])],
    "multi-head-attention": [
        multi_head(),
        by_einsum,
        by_loop,
        by_pytorch,
        by_numpy,
        with_heads(side_by_side),
        with_heads(lambda pooled: torch.cat([*pooled.unbind(1)], -1)),
        with_heads(side_by_side, lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()),
        lambda *a: multi_head()(*a).double(),
        lambda X, W_in, W_o, h: multi_head()(X.double(), W_in.double(), W_o.double(), h),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-heads", (512**0.5, PARAMETERS, 1), "how long is the dot product in one head?"),
    ("predict-heads", (64, PARAMETERS, 1), "the width of a head"),
    ("predict-heads", (8**0.5, PARAMETERS, 1), "the root of the number of heads"),
    ("predict-heads", (512, PARAMETERS, 1), "the root is missing"),
    ("predict-heads", (7, PARAMETERS, 1), "as many products as a head is wide"),
    ("predict-heads", (8, 3 * 512**2, 1), "after the concatenation?"),
    ("predict-heads", (8, 8 * PARAMETERS, 1), "how wide is one head?"),
    ("predict-heads", (8, 25 * 512**2, 1), "how wide is one head?"),
    ("predict-heads", (8, PARAMETERS / 8, 1), "there are eight"),
    ("predict-heads", (8, 3 * 512 * 64, 1), "one head without W_o"),
    ("predict-heads", (8, PARAMETERS + 4 * 512, 1), "no biases"),
    ("predict-heads", (8, 512**2, 1), "one of the projections"),
    ("predict-heads", (8, 1000, 1), "count the matrices"),
    ("predict-heads", (8, PARAMETERS, 8), "each of them is narrower"),
    ("predict-heads", (8, PARAMETERS, 0.125), "there are eight of them"),
    ("predict-heads", (8, PARAMETERS, 64), "the number of heads enters once"),
    ("predict-heads", (8, PARAMETERS, 2), "what do eight narrow heads add up to?"),
    ("predict-heads", 8, "look at the starter's form"),
    ("multi-head-attention", heads_among_heads, "heads look at heads"),
    ("multi-head-attention", with_heads(lambda pooled: torch.stack([*pooled.unbind(1)])), "the way back needs"),
    ("multi-head-attention", with_heads(lambda pooled: torch.stack([*pooled.unbind(1)], -1)), "side by side"),
    ("multi-head-attention", with_heads(side_by_side, lambda s: s.softmax(1)), "not over the heads"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: math.sqrt(h)), "how many products does a score add up?"),
    ("multi-head-attention", with_heads(side_by_side, powers), "does an exp overflow"),
    ("multi-head-attention", with_heads(side_by_side, lambda s: powers(s).nan_to_num()), "does an exp overflow"),
    ("multi-head-attention", lambda *a: by_einsum(*a).squeeze(), "shape of each step"),
    ("multi-head-attention", lambda *a: by_einsum(*a).squeeze(0), "shape of each step"),
    ("multi-head-attention", lambda *a: by_einsum(*a).squeeze(1), "shape of each step"),
    ("multi-head-attention", multi_head(cut=lambda W, h: W.chunk(3)), "all queries come first"),
    (
        "multi-head-attention",
        multi_head(cut=lambda W, h: [part.flatten(0, 1) for part in W.unflatten(0, (h, -1, 3)).unbind(2)]),
        "not every third one",
    ),
    ("multi-head-attention", multi_head(cut=lambda W, h: [W[i::3] for i in range(3)]), "not every third one"),
    ("multi-head-attention", multi_head(roles=(0, 2, 1)), "the values come last"),
    ("multi-head-attention", multi_head(roles=(1, 0, 2)), "who asks, and who is asked?"),
    (
        "multi-head-attention",
        multi_head(divisor=lambda d, h: math.sqrt(3 * d / h)),
        "the root of the width of a head's",
    ),
    ("multi-head-attention", one_head_alone, "num_heads is not used"),
    ("multi-head-attention", one_wide_head, "as wide as all of them"),
    ("multi-head-attention", multi_head(split=wrong_split, join=wrong_join), "which tokens own head 0's rows? Cut"),
    ("multi-head-attention", multi_head(split=wrong_split), "on the way there"),
    ("multi-head-attention", multi_head(join=wrong_join), "the way back needs a transpose"),
    ("multi-head-attention", multi_head(split=every_other_column), "not every h-th column"),
    ("multi-head-attention", multi_head(join=averaged), "not averaged"),
    ("multi-head-attention", multi_head(join=summed), "not summed"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: math.sqrt(d)), "how long is the dot product in one head?"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: d / h), "not by its root"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: 1), "not scaled"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: math.sqrt(6)), "compare with a loop over the heads"),
    ("multi-head-attention", multi_head(dim=1), "The softmax goes over the keys"),
    (
        "multi-head-attention",
        multi_head(project=lambda X, W: X @ W, cut=lambda W, h: list(by_heads(W, h))),
        "you forgot to transpose W_in",
    ),
    ("multi-head-attention", multi_head(last=lambda X, W: X), "where is W_o?"),
    ("multi-head-attention", multi_head(last=lambda X, W: X @ W), "W_o is applied as XWᵀ, too"),
    ("multi-head-attention", multi_head(last=lambda X, W: X @ W.T + 1), "compare with a loop over the heads"),
    ("multi-head-attention", in_place, "works in place"),
    ("multi-head-attention", lambda *a: multi_head()(*a)[0], "shape of each step"),
    ("multi-head-attention", lambda *a: multi_head()(*a).mT, "shape of each step"),
]
