"""Answers to the exercises of the chapter "Self-attention"."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def attend(masked: Callable[[Tensor, Tensor], Tensor] = lambda s, may: s.masked_fill(~may, -math.inf)) -> Any:
    """Causal self-attention, right unless told otherwise."""

    def function(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Tensor]:
        Q, K, V = (X @ W.T for W in (W_q, W_k, W_v))
        A = F.softmax(masked(Q @ K.T / math.sqrt(len(W_q)), torch.ones(len(X), len(X)).tril().bool()), 1)
        return A @ V, A

    return function


def by_pytorch(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> list[Tensor]:
    Q, K = (X @ W_q.T)[None], (X @ W_k.T)[None]
    weights = F.scaled_dot_product_attention(Q, K, torch.eye(len(X))[None], is_causal=True)[0]
    return [weights @ X @ W_v.T, weights]


def token_by_token(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Tensor]:
    """A loop, and no mask at all."""
    weights = torch.zeros(len(X), len(X))
    for i in range(len(X)):
        scores = (X[: i + 1] @ W_k.T) @ (W_q @ X[i]) / math.sqrt(len(W_q))
        weights[i, : i + 1] = scores.softmax(0)
    return weights @ (X @ W_v.T), weights


class Layer(nn.Module):
    """The layer of the debugging exercise, fixed unless told otherwise."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, width) for _ in range(3))

    def forward(self, X: Tensor) -> Any:
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)
        may = torch.ones(X.shape[1], X.shape[1]).tril().bool()
        A = F.softmax(self.masked(Q @ K.mT / self.scale(X, Q), may), 2)
        return self.mixed(A, V), A

    scale = staticmethod(lambda X, Q: math.sqrt(Q.shape[2]))
    masked = staticmethod(lambda scores, may: scores.masked_fill(~may, -math.inf))
    mixed = staticmethod(torch.matmul)


def layer(**changes: Any) -> type[Layer]:
    return type("Changed", (Layer,), {name: staticmethod(change) for name, change in changes.items()})


def made(change: Callable[[Layer], Any]) -> Callable[[int, int], Layer]:
    """Something is changed after __init__."""

    def make(d_model: int, width: int) -> Layer:
        new = Layer(d_model, width)
        change(new)
        return new

    return make


def calls(forward: Callable[[Layer, Tensor], Any]) -> type[Layer]:
    return type("Calling", (Layer,), {"forward": forward})


class ByPyTorch(Layer):
    def forward(self, X: Tensor) -> Any:
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)
        identity = torch.eye(X.shape[1]).expand(len(X), -1, -1)
        A = F.scaled_dot_product_attention(Q, K, identity, is_causal=True)
        return F.scaled_dot_product_attention(Q, K, V, is_causal=True), A


RIGHT: dict[str, list[Any]] = {
    "predict-causal-row": [(0.5, 0.25, 0.25, 0), torch.tensor([0.5, 0.25, 0.25, 0])],
    "causal-self-attention": [attend(), by_pytorch, token_by_token],
    "debug-self-attention": [Layer, ByPyTorch],
    "use-equivariance": [(24, 1, 4), torch.tensor([24, 1, 4])],
    "repair-keys": [lambda W_k, M: torch.linalg.inv(M).T @ W_k, lambda W_k, M: torch.linalg.solve(M.T, W_k)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("causal-self-attention", attend(masked=lambda s, may: s.masked_fill(~may, -1e38)), "below every score"),
    ("predict-causal-row", (2 / 8, 1 / 8, 1 / 8, 4 / 8), "may it see 苹果?"),
    ("predict-causal-row", (2 / 8, 1 / 8, 1 / 8, 0), "mask before the softmax"),
    ("predict-causal-row", (0.67, 0.33, 0, 0), "is the diagonal 0?"),
    ("predict-causal-row", (0, 0, 0.2, 0.8), "the first word may see one key"),
    ("predict-causal-row", (0, 0, 0, 1), "and a token sees itself, too"),
    ("predict-causal-row", (2, 1, 1, 0), "divide by their sum"),
    ("predict-causal-row", (1, 0, 0, 0), "what is e⁰?"),
    ("predict-causal-row", (0.4, 0.2, 0.2, 0.2), "minus infinity, not 0"),
    ("predict-causal-row", (0.3, 0.3, 0.3, 0.3), "what must the weights of one query add up to?"),
    ("predict-causal-row", (0.25, 0.5, 0.25, 0), "what is e to their scores?"),
    ("debug-self-attention", Layer(5, 3), "without parentheses"),
    ("debug-self-attention", lambda d_model, width: 3, "pass the class itself"),
    ("debug-self-attention", nn.Linear, "make the three layers once"),
    ("debug-self-attention", calls(lambda own, X: Layer.forward(own, X)[0]), "return output, weights"),
    ("debug-self-attention", calls(lambda own, X: Layer(X.shape[2], own.W_q.out_features)(X)), "new random layers"),
    ("debug-self-attention", layer(masked=lambda s, may: s.masked_fill(~may, -1e38)), "below every score"),
    ("debug-self-attention", layer(masked=lambda s, may: s - 1e30 * ~may), "A mask after it"),
    ("debug-self-attention", layer(scale=lambda X, Q: math.sqrt(3)), "which width does a score sum over"),
    ("debug-self-attention", layer(mixed=lambda A, V: A @ V + 1), "write the shape of each step"),
    ("debug-self-attention", layer(mixed=lambda A, V: A.detach() @ V), "is a part of the way cut off?"),
    (
        "debug-self-attention",
        calls(lambda own, X: [x.detach() for x in Layer.forward(own, X)]),
        "what cuts the result off?",
    ),
    ("debug-self-attention", made(lambda own: setattr(own, "W_k", own.W_q)), "The three names stand for 2"),
    ("debug-self-attention", made(lambda own: setattr(own.W_k, "weight", own.W_q.weight)), "share a parameter"),
    ("debug-self-attention", made(lambda own: own.W_q.register_parameter("bias", None)), "has a bias of its own"),
    ("debug-self-attention", made(lambda own: setattr(own, "W_o", nn.Linear(2, 2))), "and no others"),
    ("debug-self-attention", made(lambda own: vars(own).update(own._modules) or own._modules.clear()), "in __init__"),
    ("debug-self-attention", made(lambda own: own.W_k.requires_grad_(False)), "switched requires_grad off"),
    ("use-equivariance", (12, 1, 4), "itertools.permutations"),
    ("repair-keys", lambda W_k, M: torch.linalg.inv(M + 0.1).T @ W_k, "which matrix stands between"),
    ("use-equivariance", (24, 1, 2), "circular"),
]
