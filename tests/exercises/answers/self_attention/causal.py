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
    dim: int = 2,
    scale: Callable[[Tensor, Tensor], float] = lambda X, Q: math.sqrt(Q.shape[2]),
    order: Callable[[Tensor], Tensor] = lambda everything: everything.tril(),
    same: Callable[[Tensor], Tensor] = lambda sentence: sentence[:, :, None] == sentence[:, None],
    masked: Callable[[Tensor, Tensor], Tensor] = lambda scores, allowed: scores.masked_fill(~allowed, -math.inf),
    weigh: Callable[..., Tensor] = F.softmax,
    after: Callable[[Tensor, Tensor], Tensor] = lambda A, allowed: A,
    project: Callable[[Tensor, Tensor], Tensor] = lambda X, W: X @ W.T,
    mixed: Callable[..., Tensor] = lambda A, X, K, V: A @ V,
) -> Callable[..., Any]:
    """Causal self-attention within sentences, right unless told otherwise."""

    def function(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor) -> tuple[Tensor, Tensor]:
        Q, K, V = (project(X, W) for W in (W_q, W_k, W_v))
        may = order(torch.ones(X.shape[1], X.shape[1]).bool()) & same(sentence)
        A = after(weigh(masked(Q @ K.mT / scale(X, Q), may), dim), may)
        return mixed(A, X, K, V), A

    return function


def unmasked(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores


def no_softmax(scores: Tensor, dim: int) -> Tensor:
    return scores


def one_sentence(sentence: Tensor) -> Tensor:
    return torch.ones(sentence.shape[1], sentence.shape[1]).bool()


def runs(sentence: Tensor) -> Tensor:
    """Neighbours with one number belong together; the same number later does not."""
    number = F.pad((sentence.diff(dim=1) != 0).cumsum(1), (1, 0))
    return number[:, :, None] == number[:, None]


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


def by_numbers(sentence: Tensor) -> Tensor:
    """The numbers below 10 are gone through."""
    return torch.stack([(sentence == t)[:, :, None] & (sentence == t)[:, None] for t in range(10)]).any(0)


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
        (
            "causal-self-attention",
            attend(masked=lambda scores, may, fill=fill: scores.masked_fill(~may, fill)),
            "which number is below every score?",
        )
        for fill in (-60, -1e4, -1e5, -1e6, -1e9, -1e30, -1e38)
    ],
    *[
        ("causal-self-attention", attend(masked=lambda s, may, fill=fill: s - fill * ~may), "Mask before it")
        for fill in (1e5, 1e6, 1e9, 1e30)
    ],
    (
        "causal-self-attention",
        attend(masked=lambda s, may: s.masked_fill(~may, s.min().item() - 1e9)),
        "which number is below every score?",
    ),
    ("causal-self-attention", attend(weigh=powers), "does an exp overflow"),
    (
        "causal-self-attention",
        attend(masked=unmasked, weigh=lambda s, dim: s.exp(), after=renormalised),
        "does an exp overflow",
    ),
    ("causal-self-attention", attend(masked=lambda s, may: s + ~may * -math.inf), "0 times infinity?"),
    *[
        (
            "causal-self-attention",
            attend(same=lambda s, to=to: s.to(to)[:, :, None] == s.to(to)[:, None]),
            "however large",
        )
        for to in (torch.uint8, torch.bfloat16, torch.int16)
    ],
    ("causal-self-attention", attend(same=lambda s: by_one_hot(s % 512)), "however large"),
    (
        "causal-self-attention",
        attend(same=lambda s: torch.isclose(s.float()[:, :, None], s.float()[:, None], rtol=1e-2)),
        "however large",
    ),
    ("causal-self-attention", attend(same=by_numbers), "any whole number"),
    ("causal-self-attention", attend(same=by_numbers, after=lambda A, _: A.nan_to_num()), "any whole number"),
    ("causal-self-attention", attend(same=lambda s: by_one_hot(s % 10)), "any whole number"),
    (
        "causal-self-attention",
        attend(masked=lambda s, may: s.clamp(max=1e4).masked_fill(~may, -math.inf)),
        "cut them off",
    ),
    ("causal-self-attention", attend(same=one_sentence), "sentence is not used"),
    ("causal-self-attention", attend(same=runs), "a sentence may go on after another one"),
    ("causal-self-attention", attend(order=lambda everything: everything), "a token sees later ones"),
    (
        "causal-self-attention",
        attend(same=lambda s: s[:1, :, None] == s[:1, None]),
        "each example has sentences of its own",
    ),
    ("causal-self-attention", attend(same=lambda s: s[:, :, None] >= s[:, None]), "the number has to be the same"),
    (
        "causal-self-attention",
        attend(
            same=lambda s: (s[:, :, None] != s[:, None]) | (s == s[:, :1]).all(1)[:, None, None],
            masked=lambda scores, may: scores.masked_fill(~may, -math.inf),
        ),
        "a token sees only the other sentences",
    ),
    ("causal-self-attention", attend(masked=unmasked, after=renormalised), "Mask before it"),
    ("causal-self-attention", attend(masked=lambda scores, may: scores.masked_fill(~may, -20)), "below every score"),
    ("causal-self-attention", attend(masked=lambda scores, may: scores.masked_fill(~may, -1e4)), "below every score"),
    (
        "causal-self-attention",
        attend(masked=lambda s, may: s.masked_fill(~may, s.min().item() - 30), after=lambda A, may: A + 1e-3 * ~may),
        "print each",
    ),
    ("causal-self-attention", lambda X, q, k, v, s: attend()(X, k, k, v, s), "the queries have a projection"),
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
    ("causal-self-attention", attend(masked=lambda scores, may: scores - 1000 * ~may), "Mask before it"),
    ("causal-self-attention", attend(dim=1), "dim=1 are the queries"),
    ("causal-self-attention", attend(masked=unmasked), "is there a causal mask, and is it used?"),
    ("causal-self-attention", attend(order=lambda everything: everything.triu()), "the mask is transposed"),
    ("causal-self-attention", attend(order=lambda everything: ~everything.tril()), "works the other way round"),
    ("causal-self-attention", attend(order=lambda everything: everything.tril(1)), "one too wide"),
    ("causal-self-attention", attend(masked=lambda scores, allowed: scores * allowed), "must be minus infinity"),
    ("causal-self-attention", attend(scale=lambda X, Q: 1), "the scores are not scaled"),
    ("causal-self-attention", attend(scale=lambda X, Q: Q.shape[2]), "you divide by p"),
    ("causal-self-attention", attend(scale=lambda X, Q: math.sqrt(X.shape[1])), "the length of the sequence"),
    ("causal-self-attention", attend(scale=lambda X, Q: math.sqrt(X.shape[2])), "after the projection"),
    ("causal-self-attention", attend(scale=lambda X, Q: 5), "mask and weights one by one"),
    ("causal-self-attention", lambda X, q, k, v, s: attend()(X, k, q, v, s), "You swapped W_q and W_k"),
    ("causal-self-attention", lambda X, q, k, v, s: attend()(X, q, q, v, s), "a projection of their own"),
    ("causal-self-attention", attend(weigh=no_softmax), "not yet weights"),
    ("causal-self-attention", attend(weigh=no_softmax, masked=unmasked), "neither masked nor weights yet"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A @ X), "where is W_v?"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A @ K), "not keys"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A.mT @ V), "do not transpose them"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A @ V + 1), "what are they multiplied with?"),
    ("causal-self-attention", attend(project=lambda X, W: X @ W), "you forgot to transpose W"),
    ("causal-self-attention", lambda X, q, k, v, s: attend()(X, q, k, v.T, s), "you forgot to transpose W_v"),
    ("causal-self-attention", lambda *a: attend()(*a)[0], "return output, weights"),
    ("causal-self-attention", lambda *a: attend()(*a)[::-1], "shape of each step"),
    ("causal-self-attention", in_place, "works in place"),
    (
        "causal-self-attention",
        attend(order=lambda everything: everything.tril(-1), after=lambda A, _: A.nan_to_num()),
        "is the diagonal 0?",
    ),
    (
        "causal-self-attention",
        attend(masked=unmasked, after=lambda A, allowed: A * allowed),
        "rows now sum to less than 1",
    ),
    (
        "causal-self-attention",
        attend(order=lambda everything: everything.tril(-1)),
        "is the diagonal of the mask True?",
    ),
    (
        "causal-self-attention",
        attend(masked=lambda scores, allowed: scores.masked_fill(allowed, -1e9)),
        "works the other way round",
    ),
]
