"""Answers to the exercises of the chapter "Multi-head attention"."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


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


def attend_in_numpy(X: Tensor, W_in: Tensor, W_o: Tensor, num_heads: int) -> Any:
    own = np.einsum("bnd,hrpd->rbhnp", X.numpy(), W_in.numpy().reshape(num_heads, 3, -1, X.shape[2]))
    scores = own[0] @ own[1].swapaxes(2, 3) / np.sqrt(own.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    pooled = powers / powers.sum(-1, keepdims=True) @ own[2]
    return pooled.swapaxes(1, 2).reshape(X.shape) @ W_o.numpy().T


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


def heads(weigh: Callable[..., Tensor] = d2l.masked_softmax) -> Callable[..., Tensor]:
    """The function of the debugging exercise."""

    def function(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
        queries, keys, values = (d2l.transpose_qkv(part, h) for part in (Q, K, V))
        scores = queries @ keys.mT / math.sqrt(queries.shape[2])
        return d2l.transpose_output(weigh(scores, lens.repeat_interleave(h)) @ values, h)

    return function


def heads_outside(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    """Row i b + e is head i of example e: here repeat is right."""
    queries, keys, values = (torch.cat(part.chunk(h, 2)) for part in (Q, K, V))
    pooled = d2l.masked_softmax(queries @ keys.mT / math.sqrt(queries.shape[2]), lens.repeat(h)) @ values
    return torch.cat(pooled.chunk(h), 2)


def example_by_example(Q: Tensor, K: Tensor, V: Tensor, lens: Tensor, h: int) -> Tensor:
    output = torch.zeros_like(Q)
    for e, length in enumerate(lens.tolist()):
        for own in torch.arange(Q.shape[2]).chunk(h):
            scores = Q[e][:, own] @ K[e, :length][:, own].T / math.sqrt(len(own))
            output[e, :, own] = scores.softmax(1) @ V[e, :length][:, own]
    return output


def split_by_loop(X: Tensor, h: int) -> Tensor:
    return torch.stack([part for example in X for part in example.chunk(h, 1)])


def split_in_numpy(X: Tensor, h: int) -> Any:
    b, n, d = X.shape
    return X.numpy().reshape(b, n, h, d // h).swapaxes(1, 2).reshape(b * h, n, d // h)


def hidden(scores: Tensor, lens: Tensor) -> Tensor:
    return (torch.arange(scores.shape[2]) >= lens[:, None, None]).expand(scores.shape)


def renormalised(scores: Tensor, lens: Tensor) -> Tensor:
    weights = F.softmax(scores, -1) * ~hidden(scores, lens)
    return weights / weights.sum(-1, keepdim=True)


def filled(fill: float) -> Callable[..., Tensor]:
    return heads(lambda scores, lens: F.softmax(scores.masked_fill(hidden(scores, lens), fill), -1))


PARAMETERS = 4 * 512**2


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


def by_ridge(weights: Tensor, C: Tensor) -> float:
    inner = weights @ C @ weights.T
    added = torch.linalg.inv(inner + 1e-3 * torch.eye(len(inner)))
    return float(1 - (C @ weights.T @ added @ weights @ C).trace() / C.trace())


def by_limit(weights: Tensor, C: Tensor, **limits: float) -> float:
    A, C = weights.double(), C.double()
    return float(1 - (C @ A.T @ torch.linalg.pinv(A @ C @ A.T, **limits) @ A @ C).trace() / C.trace())


RIGHT: dict[str, list[Any]] = {
    "split-heads": [split_by_loop, split_in_numpy],
    "predict-heads": [(8, PARAMETERS, 1), np.array([8, PARAMETERS, 1])],
    "multi-head-attention": [by_einsum, by_loop, attend_in_numpy],
    "debug-multi-head": [heads(), heads_outside, example_by_example],
    "measure-heads": [measure, by_numpy, word_by_word],
    "use-heads": [(2 / 3, 1 / 3, 0, 1 / 3), torch.tensor([2 / 3, 1 / 3, 1e-9, 1 / 3])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("split-heads", lambda X, h: d2l.transpose_qkv(X.flip(2), h), "number the entries"),
    ("predict-heads", (7, PARAMETERS, 1), "as many products as a head is wide"),
    ("predict-heads", (8, 1000, 1), "count the matrices"),
    ("predict-heads", (8, PARAMETERS, 2), "what do eight narrow heads add up to?"),
    ("multi-head-attention", with_heads(powers), "does an exp overflow"),
    ("multi-head-attention", with_heads(divisor=math.sqrt(6)), "compare with a loop over the heads"),
    ("multi-head-attention", lambda *a: by_einsum(*a).squeeze(1), "shape of each step"),
    ("debug-multi-head", filled(-1e30), "below every score"),
    ("debug-multi-head", heads(renormalised), "A mask after it"),
    ("debug-multi-head", lambda Q, K, V, lens, h: heads()(Q, K, V, lens.flip(0), h), "compare with a loop"),
    ("measure-heads", lambda A, C: by_limit(A, C, rtol=1e-3), "a limit has to be relative"),
    ("measure-heads", by_inverse, "Does your way?"),
    ("measure-heads", lambda A, C: measure(A, C) + 2e-3, "C itself needs neither"),
    ("measure-heads", by_ridge, "C itself needs neither"),
    ("use-heads", (0.7, 1 / 3, 0, 1 / 3), "choose any weights"),
    ("use-heads", (2 / 3, 1 / 3, 0.1, 1 / 3), "solved for the words"),
    ("use-heads", (2 / 3, 1 / 3, 0, 0.35), "something in common"),
]
