"""Answers to the exercises on causal self-attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def attend(
    *,
    scale: float = 0.0,
    same: Callable[[Tensor], Tensor] = lambda sentence: sentence[:, :, None] == sentence[:, None],
    masked: Callable[[Tensor, Tensor], Tensor] = lambda scores, allowed: scores.masked_fill(~allowed, -math.inf),
    weigh: Callable[..., Tensor] = F.softmax,
    after: Callable[[Tensor, Tensor], Tensor] = lambda A, allowed: A,
) -> Callable[..., Any]:
    """Causal self-attention within sentences, right unless told otherwise."""

    def function(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor) -> tuple[Tensor, Tensor]:
        Q, K, V = (X @ W.T for W in (W_q, W_k, W_v))
        may = same(sentence).tril()
        A = after(weigh(masked(Q @ K.mT / (scale or math.sqrt(len(W_q))), may), 2), may)
        return A @ V, A

    return function


def unmasked(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores


def by_pytorch(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor) -> list[Tensor]:
    Q, K = (X @ W_q.T)[:, None], (X @ W_k.T)[:, None]
    one_hot = torch.eye(X.shape[1]).expand(len(X), 1, -1, -1)
    allowed = (sentence[:, :, None] == sentence[:, None]).tril()
    weights = F.scaled_dot_product_attention(Q, K, one_hot, allowed[:, None])[:, 0]
    return [weights @ X @ W_v.T, weights]


def token_by_token(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor) -> tuple[Tensor, Tensor]:
    """Two loops, and no mask at all."""
    b, n = sentence.shape
    weights = torch.zeros(b, n, n)
    for e in range(b):
        for i in range(n):
            seen = [j for j in range(i + 1) if sentence[e, j] == sentence[e, i]]
            scores = (W_k @ X[e, seen].T).T @ (W_q @ X[e, i]) / math.sqrt(len(W_q))
            weights[e, i, seen] = scores.softmax(0)
    return weights @ (X @ W_v.T), weights


def in_float64(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor) -> tuple[Tensor, Tensor]:
    return attend()(X.double(), W_q.double(), W_k.double(), W_v.double(), sentence)


def in_place(X: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
    output, weights = attend()(X, *rest)
    X.zero_()
    return output, weights


def renormalised(A: Tensor, allowed: Tensor) -> Tensor:
    return A * allowed / (A * allowed).sum(2, keepdim=True)


def powers(scores: Tensor, dim: int) -> Tensor:
    """Powers of e over their sum; the largest is not taken away."""
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


def by_logsumexp(scores: Tensor, dim: int) -> Tensor:
    return (scores - scores.logsumexp(dim, keepdim=True)).exp()


def by_one_hot(sentence: Tensor) -> Tensor:
    belongs = F.one_hot(sentence).float()
    return (belongs @ belongs.mT).bool()


RIGHT: dict[str, list[Any]] = {
    "predict-causal-row": [(0.5, 0.25, 0.25, 0), torch.tensor([0.5, 0.25, 0.25, 0]), [1 / 2, 1 / 4, 1 / 4, 0.0]],
    "causal-self-attention": [
        attend(),
        by_pytorch,
        in_float64,
        token_by_token,
        attend(masked=lambda scores, may: scores + torch.zeros(may.shape).masked_fill(~may, -math.inf)),
        attend(masked=lambda scores, may: torch.where(may, scores, torch.finfo(scores.dtype).min)),
        attend(weigh=by_logsumexp),
        attend(same=by_one_hot),
        attend(same=lambda s: (s**2)[:, :, None] == (s**2)[:, None]),
        attend(same=lambda s: (s[:, :, None] - s[:, None]).abs() < 0.5),
        lambda *a: tuple(part.numpy() for part in attend()(*a)),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    *[
        ("causal-self-attention", attend(**told), hint)
        for hint, some in (
            (
                "which number is below every score?",
                [{"masked": lambda s, may, fill=fill: s.masked_fill(~may, fill)} for fill in (-20, -1e5, -1e9, -1e38)],
            ),
            (
                "Mask before it",
                [
                    *({"masked": lambda s, may, fill=fill: s - fill * ~may} for fill in (1e3, 1e9, 1e30)),
                    {"masked": unmasked, "after": renormalised},
                ],
            ),
            (
                "does an exp overflow",
                [{"weigh": powers}, {"masked": unmasked, "weigh": lambda s, dim: s.exp(), "after": renormalised}],
            ),
            ("cut them off", [{"masked": lambda s, may: s.clamp(max=1e4).masked_fill(~may, -math.inf)}]),
            (
                "however large",
                [
                    {"same": lambda s: s.bfloat16()[:, :, None] == s.bfloat16()[:, None]},
                    {"same": lambda s: s.short()[:, :, None] == s.short()[:, None]},
                    {"same": lambda s: by_one_hot(s % 512)},
                ],
            ),
            ("mask and weights one by one", [{"scale": 5.0}]),
        )
        for told in some
    ],
    ("causal-self-attention", lambda *a: (attend()(*a)[0] + 1, attend()(*a)[1]), "what are they multiplied with?"),
    ("causal-self-attention", lambda *a: attend()(*a)[0], "return output, weights"),
    ("causal-self-attention", lambda *a: attend()(*a)[::-1], "shape of each step"),
    ("causal-self-attention", in_place, "works in place"),
    ("predict-causal-row", (2 / 8, 1 / 8, 1 / 8, 4 / 8), "may it see 苹果?"),
    ("predict-causal-row", (2 / 8, 1 / 8, 1 / 8, 0), "mask before the softmax"),
    ("predict-causal-row", (0.67, 0.33, 0, 0), "is the diagonal 0?"),
    ("predict-causal-row", (0, 0, 0.2, 0.8), "the first word may see one key"),
    ("predict-causal-row", (0, 0, 0, 1), "and a token sees itself, too"),
    ("predict-causal-row", (2, 1, 1, 0), "divide by their sum"),
    ("predict-causal-row", (1, 0, 0, 0), "what is e⁰?"),
    ("predict-causal-row", (0.4, 0.2, 0.2, 0.2), "minus infinity, not 0"),
    ("predict-causal-row", (0.3, 0.3, 0.3, 0.3), "what must the weights of one query add up to?"),
    ("predict-causal-row", (0.25, 0.5, 0.25, 0), "what is 2 to their scores?"),
    ("predict-causal-row", (0.5, 0.25, 0.25), "look at the starter's form"),
    ("predict-causal-row", (math.nan,) * 4, "what"),
    ("predict-causal-row", (0.509, 0.259, 0.259, 0.009), "what must the weights of one query add up to?"),
]
