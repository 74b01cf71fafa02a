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
    same: Callable[[Tensor], Tensor] = lambda sentence: sentence[:, :, None] == sentence[:, None],
    masked: Callable[[Tensor, Tensor], Tensor] = lambda scores, allowed: scores.masked_fill(~allowed, -math.inf),
) -> Callable[..., Any]:
    """Causal self-attention within sentences, right unless told otherwise."""

    def function(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor) -> tuple[Tensor, Tensor]:
        Q, K, V = (X @ W.T for W in (W_q, W_k, W_v))
        may = same(sentence).tril()
        A = F.softmax(masked(Q @ K.mT / math.sqrt(len(W_q)), may), 2)
        return A @ V, A

    return function


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


def by_one_hot(sentence: Tensor) -> Tensor:
    belongs = F.one_hot(sentence).float()
    return (belongs @ belongs.mT).bool()


RIGHT: dict[str, list[Any]] = {
    "predict-causal-row": [(0.5, 0.25, 0.25, 0), torch.tensor([0.5, 0.25, 0.25, 0])],
    "causal-self-attention": [attend(), by_pytorch, token_by_token],
}

WRONG: list[tuple[str, Any, str]] = [
    ("causal-self-attention", attend(masked=lambda s, may: s.masked_fill(~may, -1e38)), "below every score"),
    ("causal-self-attention", attend(same=lambda s: by_one_hot(s % 512)), "however large"),
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
]
