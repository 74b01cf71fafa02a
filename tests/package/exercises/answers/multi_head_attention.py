"""Right and wrong answers to the exercises of the chapter "Multi-head attention"."""

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


def multi_head(
    *,
    split: Callable[[Tensor, int], Tensor] = d2l.transpose_qkv,
    join: Callable[[Tensor, int], Tensor] = d2l.transpose_output,
    divisor: Callable[[int, int], float] = lambda d, h: math.sqrt(d / h),
    dim: int = 2,
    project: Callable[[Tensor, Tensor], Tensor] = lambda X, W: X @ W.T,
    last: Callable[[Tensor, Tensor], Tensor] = lambda X, W: X @ W.T,
) -> Callable[..., Tensor]:
    """Multi-head self-attention, right unless told otherwise."""

    def attend(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
        Q, K, V = (split(project(X, W), num_heads) for W in (W_q, W_k, W_v))
        weights = F.softmax(Q @ K.mT / divisor(X.shape[2], num_heads), dim)
        return last(join(weights @ V, num_heads), W_o)

    return attend


def by_einsum(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, num_heads: int) -> Tensor:
    Q, K, V = (torch.einsum("bnd,hpd->bhnp", X, W.unflatten(0, (num_heads, -1))) for W in (W_q, W_k, W_v))
    pooled = F.scaled_dot_product_attention(Q, K, V)
    return torch.einsum("bhnp,ohp->bno", pooled, W_o.unflatten(1, (num_heads, -1)))


def averaged(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(0, (-1, num_heads)).mean(1).repeat(1, 1, num_heads)


def summed(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(0, (-1, num_heads)).sum(1).repeat(1, 1, num_heads)


def heads(
    *,
    split: Callable[[Tensor, int], Tensor] = d2l.transpose_qkv,
    split_values: Callable[[Tensor, int], Tensor] | None = None,
    join: Callable[[Tensor, int], Tensor] = d2l.transpose_output,
    divisor: Callable[[int, int], float] = lambda d, h: math.sqrt(d / h),
    repeat: Callable[[Tensor, int], Tensor] = lambda lens, h: lens.repeat_interleave(h),
) -> Callable[..., Tensor]:
    """The function of the debugging exercise, mended unless told otherwise."""

    def function(Q: Tensor, K: Tensor, V: Tensor, valid_lens: Tensor, num_heads: int) -> Tensor:
        queries, keys, values = split(Q, num_heads), split(K, num_heads), (split_values or split)(V, num_heads)
        scores = queries @ keys.mT / divisor(Q.shape[2], num_heads)
        return join(d2l.masked_softmax(scores, repeat(valid_lens, num_heads)) @ values, num_heads)

    return function


def without_lengths(Q: Tensor, K: Tensor, V: Tensor, valid_lens: Tensor, num_heads: int) -> Tensor:
    return heads()(Q, K, V, torch.full_like(valid_lens, K.shape[1]), num_heads)


def in_place(X: Tensor, *more: Any) -> Tensor:
    output = multi_head()(X, *more)
    X.zero_()
    return output


def without_bias(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    Q, K, _ = (d2l.transpose_qkv(part, 3) for part in (X @ mha.in_proj_weight.T).chunk(3, 2))
    scores = Q @ K.mT / math.sqrt(2)
    return d2l.masked_softmax(scores, valid_lens.repeat_interleave(3)).unflatten(0, (2, 3))


def explained(weights: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """What the best read-out gives, and what is left."""
    mixtures = values @ weights.T
    best = mixtures @ torch.linalg.pinv(mixtures) @ values
    return best, values - best


def measure(statistic: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], float]:
    return lambda weights, values: statistic(explained(weights, values)[1], values).item()


def relative(rest: Tensor, values: Tensor) -> Tensor:
    return rest.square().sum() / values.square().sum()


def by_numpy(weights: Tensor, values: Tensor) -> float:
    mixtures = (values @ weights.T).numpy()
    rest = values.numpy() - mixtures @ np.linalg.lstsq(mixtures, values.numpy(), rcond=None)[0]
    return (rest**2).sum() / (values.numpy() ** 2).sum()


def by_normal_equations(weights: Tensor, values: Tensor) -> float:
    mixtures = values @ weights.T
    return relative(values - mixtures @ torch.linalg.inv(mixtures.T @ mixtures) @ mixtures.T @ values, values).item()


def nan_for_equal_heads(weights: Tensor, values: Tensor) -> float:
    equal = len(weights) == 2 and torch.equal(weights[0], weights[1])
    return math.nan if equal else measure(relative)(weights, values)


def per_head(
    padding: Callable[[Tensor, int], Tensor | None] = lambda lens, n: torch.arange(n) >= lens[:, None],
    *,
    average: bool = False,
) -> Callable[..., Tensor]:
    """The weights of an nn.MultiheadAttention, right unless told otherwise."""

    def weights(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
        mask = padding(valid_lens, X.shape[1])
        return mha(X, X, X, key_padding_mask=mask, average_attn_weights=average)[1]

    return weights


def opposite(lens: Tensor, n: int) -> Tensor:
    return torch.arange(n) < lens[:, None]


def masked_afterwards(mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Tensor:
    return per_head(lambda lens, n: None)(mha, X, valid_lens) * opposite(valid_lens, X.shape[1])[:, None, None]


PARAMETERS = 4 * 512**2

RIGHT: dict[str, list[Any]] = {
    "predict-heads": [(8, PARAMETERS, 1), (8.0, float(PARAMETERS), 1.0), np.array([8, PARAMETERS, 1])],
    "multi-head-attention": [multi_head(), by_einsum, lambda *a: multi_head()(*a).double()],
    "debug-multi-head": [heads()],
    "measure-heads": [measure(relative), by_numpy, lambda *a: torch.tensor(measure(relative)(*a))],
    "weights-per-head": [per_head(), lambda mha, X, lens: per_head()(mha, X, lens).detach().clone()],
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
    ("predict-heads", (8, PARAMETERS, 8), "width per head?"),
    ("predict-heads", (8, PARAMETERS, 0.125), "there are eight of them"),
    ("predict-heads", (8, PARAMETERS, 64), "the number of heads enters once"),
    ("predict-heads", (8, PARAMETERS, 2), "what do eight narrow heads add up to?"),
    ("predict-heads", 8, "look at the starter's form"),
    ("multi-head-attention", multi_head(split=wrong_split, join=wrong_join), "which tokens own head 0's rows? Cut"),
    ("multi-head-attention", multi_head(split=wrong_split), "on the way there"),
    ("multi-head-attention", multi_head(join=wrong_join), "the way back needs a transpose"),
    ("multi-head-attention", multi_head(split=every_other_column), "not every h-th column"),
    ("multi-head-attention", multi_head(join=averaged), "not averaged"),
    ("multi-head-attention", multi_head(join=summed), "not summed"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: math.sqrt(d)), "how long is the dot product in one head?"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: d / h), "not by its root"),
    ("multi-head-attention", multi_head(divisor=lambda d, h: 1), "not scaled"),
    ("multi-head-attention", multi_head(dim=1), "The softmax goes over the keys"),
    ("multi-head-attention", multi_head(project=lambda X, W: X @ W, last=lambda X, W: X @ W), "transpose W"),
    ("multi-head-attention", multi_head(project=lambda X, W: X @ W), "you transposed W_o only"),
    ("multi-head-attention", lambda X, q, k, *more: multi_head()(X, k, q, *more), "You swapped W_q and W_k"),
    ("multi-head-attention", lambda *a: multi_head()(*a[:5], 1), "num_heads is not used"),
    ("multi-head-attention", multi_head(last=lambda X, W: X), "where is W_o?"),
    ("multi-head-attention", multi_head(last=lambda X, W: X @ W), "W_o is applied as XWᵀ, too"),
    ("multi-head-attention", multi_head(last=lambda X, W: X @ W.T + 1), "compare with the loop over the heads"),
    ("multi-head-attention", in_place, "works in place"),
    ("multi-head-attention", lambda *a: multi_head()(*a)[0], "shape of each step"),
    ("debug-multi-head", heads(split=wrong_split, join=wrong_join), "They are pieces of one token"),
    ("debug-multi-head", heads(join=wrong_join), "but the way back is not"),
    ("debug-multi-head", heads(split=wrong_split), "the way there has none"),
    ("debug-multi-head", heads(split=wrong_split, split_values=d2l.transpose_qkv), "but Q and K are not"),
    ("debug-multi-head", heads(divisor=lambda d, h: math.sqrt(d)), "how long is the dot product in one head?"),
    ("debug-multi-head", heads(repeat=lambda lens, h: lens.repeat(h)), "which length does it get?"),
    ("debug-multi-head", without_lengths, "the valid lengths are not used"),
    ("debug-multi-head", heads(repeat=lambda lens, h: lens[:1].repeat(len(lens) * h)), "a length of its own"),
    (
        "debug-multi-head",
        heads(split=wrong_split, split_values=d2l.transpose_qkv, divisor=lambda d, h: math.sqrt(d)),
        "and neither is the scale",
    ),
    ("debug-multi-head", heads(divisor=lambda d, h: math.sqrt(2)), "compare with a loop"),
    ("debug-multi-head", heads(divisor=lambda d, h: 1), "the scores are not scaled"),
    ("debug-multi-head", heads(divisor=lambda d, h: 3), "compare with a loop over the heads"),
    ("debug-multi-head", lambda *a: heads()(*a) + 1, "Print V after the split"),
    ("measure-heads", measure(lambda rest, values: rest.square().sum()), "Divide by the sum"),
    ("measure-heads", measure(lambda rest, values: rest.square().mean()), "mean squared error"),
    ("measure-heads", measure(lambda rest, values: relative(rest, values).sqrt()), "you took a root"),
    ("measure-heads", measure(lambda rest, values: 1 - relative(rest, values)), "what is left?"),
    (
        "measure-heads",
        measure(lambda rest, values: (rest.square().sum(0) / values.square().sum(0)).mean()),
        "nor a mean of ratios",
    ),
    ("measure-heads", measure(lambda rest, values: relative(rest[:, 0], values[:, 0])), "the first word alone"),
    ("measure-heads", lambda w, v: measure(relative)(w.mean(0, keepdim=True), v), "do not average the heads"),
    (
        "measure-heads",
        lambda w, v: relative(v - (v @ w.T).mean(1, keepdim=True), v).item(),
        "not the mixture itself",
    ),
    ("measure-heads", lambda w, v: relative(v - v @ w.T @ w, v).item(), "solve a least-squares problem"),
    ("measure-heads", nan_for_equal_heads, "no inverse exists"),
    ("measure-heads", lambda w, v: 1 - len(w) / v.shape[1], "neither a count of heads"),
    ("measure-heads", by_normal_equations, "no inverse exists"),
    ("measure-heads", lambda w, v: 0.123, "print the mixtures"),
    ("measure-heads", lambda w, v: w, "a tensor of one entry"),
    ("weights-per-head", per_head(average=True), "look for average_attn_weights"),
    ("weights-per-head", lambda mha, X, lens: torch.zeros(2, 4, 4), "a mean over the heads is no head"),
    ("weights-per-head", per_head(opposite), "True means ignore"),
    ("weights-per-head", per_head(lambda lens, n: None), "the padding has weight"),
    ("weights-per-head", per_head(lambda lens, n: torch.arange(n) > lens[:, None]), "one key too many"),
    ("weights-per-head", masked_afterwards, "before the softmax"),
    ("weights-per-head", lambda mha, X, lens: mha(X, X, X), "take its second part"),
    (
        "weights-per-head",
        lambda *a: F.normalize(masked_afterwards(*a), p=1, dim=-1),
        "what they should be",
    ),
    ("weights-per-head", without_bias, "what they should be"),
    ("weights-per-head", lambda *a: per_head()(*a)[0], "shape of each step"),
    ("weights-per-head", lambda *a: per_head()(*a) + 1, "what they should be"),
]
