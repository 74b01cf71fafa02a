"""Answers to the exercise on a layer of causal self-attention that cannot learn."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l


class Layer(nn.Module):
    """The layer of the debugging exercise, fixed unless told otherwise."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, width) for _ in range(3))

    def forward(self, X: Tensor) -> Any:
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)
        scores = Q @ K.mT / self.scale(X, Q)
        may = self.order(torch.ones(X.shape[1], X.shape[1]).bool())
        A = self.after(F.softmax(self.masked(scores, may), self.dim), may)
        return self.mixed(A, X, V), self.second(A, scores)

    dim = 2

    @staticmethod
    def scale(X: Tensor, Q: Tensor) -> float:
        return math.sqrt(Q.shape[2])

    @staticmethod
    def order(everything: Tensor) -> Tensor:
        return everything.tril()

    @staticmethod
    def masked(scores: Tensor, may: Tensor) -> Tensor:
        return scores.masked_fill(~may, -math.inf)

    @staticmethod
    def after(A: Tensor, may: Tensor) -> Tensor:
        return A

    @staticmethod
    def mixed(A: Tensor, X: Tensor, V: Tensor) -> Tensor:
        return A @ V

    @staticmethod
    def second(A: Tensor, scores: Tensor) -> Tensor:
        return A


def layer(base: type[Layer] = Layer, **changes: Any) -> type[Layer]:
    return type("Changed", (base,), {k: v if k == "dim" else staticmethod(v) for k, v in changes.items()})


def unmasked(scores: Tensor, may: Tensor) -> Tensor:
    return scores


def late(A: Tensor, may: Tensor) -> Tensor:
    return A * may


class OneResult(Layer):
    def forward(self, X: Tensor) -> Any:
        return super().forward(X)[0]


class Doubled(Layer):
    """Parameters in float64, and casts on the way."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        self.double()

    def forward(self, X: Tensor) -> Any:
        return super().forward(X.double())


class Buffered(Layer):
    """The mask is a buffer, and the layers are made the other way round."""

    def __init__(self, d_model: int, width: int) -> None:
        nn.Module.__init__(self)
        self.register_buffer("mask", torch.ones(99, 99).bool().tril())
        for letter in "vkq":
            setattr(self, f"W_{letter}", nn.Linear(d_model, width))

    def forward(self, X: Tensor) -> Any:
        n = X.shape[1]
        scores = torch.einsum("bip,bjp->bij", self.W_q(X), self.W_k(X)) * self.W_q(X).shape[-1] ** -0.5
        A = torch.where(self.mask[:n, :n], scores, -math.inf).softmax(-1)  # type: ignore[index]
        return [A @ self.W_v(X), A]


def make_lazy(d_model: int, width: int) -> nn.Module:
    made = Layer(d_model, width)
    made.W_q, made.W_k, made.W_v = (nn.LazyLinear(width) for _ in range(3))
    return made


class ByPyTorch(Layer):
    def forward(self, X: Tensor) -> Any:
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)
        identity = torch.eye(X.shape[1]).expand(len(X), -1, -1)
        A = F.scaled_dot_product_attention(Q, K, identity, is_causal=True)
        return F.scaled_dot_product_attention(Q, K, V, is_causal=True), A


class Tied(Layer):
    """Three layers, two of which have one matrix."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        self.W_k.weight = self.W_q.weight


class WithATable(Layer):
    """A mask of fixed size, which is cut."""

    size = 8

    def forward(self, X: Tensor) -> Any:
        n = X.shape[1]
        scores = self.W_q(X) @ self.W_k(X).mT / math.sqrt(self.W_q(X).shape[2])
        A = scores.masked_fill(~torch.ones(self.size, self.size).bool().tril()[:n, :n], -math.inf).softmax(2)
        return A @ self.W_v(X), A


class WithASmallTable(WithATable):
    size = 64


class Orthogonal(Layer):
    """Other initial values, from which it learns as well."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        for projection in (self.W_q, self.W_k, self.W_v):
            nn.init.orthogonal_(projection.weight)
            nn.init.zeros_(projection.bias)


class ByExp(Layer):
    def forward(self, X: Tensor) -> Any:
        scores = self.W_q(X) @ self.W_k(X).mT / math.sqrt(self.W_q(X).shape[2])
        powers = scores.exp().tril()
        A = powers / powers.sum(2, keepdim=True)
        return A @ self.W_v(X), A


RIGHT: dict[str, list[Any]] = {
    "debug-self-attention": [
        Layer,
        make_lazy,
        Doubled,
        Buffered,
        ByPyTorch,
        Orthogonal,
        lambda d, p: Layer(d, p).train(),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-self-attention", WithATable, "run it yourself"),
    ("debug-self-attention", WithASmallTable, "run it yourself"),
    ("debug-self-attention", layer(order=lambda everything: torch.ones(5, 5).bool().tril()), "run it yourself"),
    ("debug-self-attention", Tied, "two of the layers share a parameter"),
    ("debug-self-attention", ByExp, "does an exp overflow"),
    *[
        ("debug-self-attention", layer(masked=lambda s, may, fill=fill: s.masked_fill(~may, fill)), "below every score")
        for fill in (-60, -1e4, -1e5, -1e6, -1e9, -1e30, -1e38)
    ],
    *[
        ("debug-self-attention", layer(masked=lambda s, may, fill=fill: s - fill * ~may), "Mask before it")
        for fill in (1e5, 1e6, 1e9, 1e30)
    ],
    ("debug-self-attention", layer(masked=lambda s, may: s + ~may * -math.inf), "0 times infinity?"),
    ("debug-self-attention", layer(masked=lambda s, may: s * may), "e⁰ is 1"),
    ("debug-self-attention", d2l.SelfAttention, "run it yourself"),
    ("debug-self-attention", lambda d_model, width: 3, "pass the class itself"),
    ("debug-self-attention", nn.Linear, "make the three layers once"),
    ("debug-self-attention", Layer(5, 3), "without parentheses"),
    ("debug-self-attention", OneResult, "return output, weights"),
    ("debug-self-attention", layer(scale=lambda X, Q: math.sqrt(X.shape[2])), "which width do you take the root of?"),
    ("debug-self-attention", layer(scale=lambda X, Q: math.sqrt(X.shape[1])), "the length of the sequence"),
    ("debug-self-attention", layer(scale=lambda X, Q: Q.shape[2]), "not by its root"),
    ("debug-self-attention", layer(scale=lambda X, Q: 1), "the scores are not scaled"),
    ("debug-self-attention", layer(scale=lambda X, Q: math.sqrt(3)), "which width does a score sum over"),
    ("debug-self-attention", layer(dim=1), "In a batch, dim=1 are the queries"),
    ("debug-self-attention", layer(masked=unmasked), "the mask is not used"),
    ("debug-self-attention", layer(masked=unmasked, after=late), "mask the scores, not the weights"),
    (
        "debug-self-attention",
        layer(masked=unmasked, after=lambda A, may: A * may / (A * may).sum(2, keepdim=True)),
        "Mask before it",
    ),
    ("debug-self-attention", layer(masked=lambda scores, may: scores - 20 * ~may), "Mask before it"),
    ("debug-self-attention", layer(masked=lambda scores, may: scores.masked_fill(~may, -60)), "below every score"),
    ("debug-self-attention", layer(masked=lambda scores, may: scores.masked_fill(~may, -1e4)), "below every score"),
    ("debug-self-attention", layer(masked=lambda scores, may: scores - 1000 * ~may), "Mask before it"),
    ("debug-self-attention", layer(order=lambda everything: everything.triu()), "the mask is transposed"),
    ("debug-self-attention", layer(order=lambda everything: ~everything.tril()), "or the wrong way round"),
    ("debug-self-attention", layer(order=lambda everything: everything.tril(-1)), "a token does not skip itself"),
    (
        "debug-self-attention",
        layer(order=lambda everything: everything.tril(-1), after=lambda A, may: A.nan_to_num()),
        "a token does not skip itself",
    ),
    ("debug-self-attention", layer(mixed=lambda A, X, V: A.mT @ V), "do not transpose them"),
    ("debug-self-attention", layer(mixed=lambda A, X, V: A @ V + 1), "what are they multiplied with?"),
    ("debug-self-attention", layer(second=lambda A, scores: scores), "scores are not yet weights"),
    ("debug-self-attention", layer(second=lambda A, scores: A + 1), "write the shape of each step"),
]
