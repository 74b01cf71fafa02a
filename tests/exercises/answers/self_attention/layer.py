"""Answers to the exercise on a layer of causal self-attention that cannot learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Layer(nn.Module):
    """The layer of the debugging exercise, fixed unless told otherwise."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, width) for _ in range(3))

    def forward(self, X: Tensor) -> Any:
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)
        may = self.order(torch.ones(X.shape[1], X.shape[1]).bool())
        A = F.softmax(self.masked(Q @ K.mT / self.scale(X, Q), may), 2)
        return self.mixed(A, V), A

    scale = staticmethod(lambda X, Q: math.sqrt(Q.shape[2]))
    order = staticmethod(torch.tril)
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
    "debug-self-attention": [Layer, ByPyTorch, calls(lambda own, X: Layer.forward(own.double(), X.double()))],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-self-attention", Layer(5, 3), "without parentheses"),
    ("debug-self-attention", lambda d_model, width: 3, "pass the class itself"),
    ("debug-self-attention", nn.Linear, "make the three layers once"),
    ("debug-self-attention", calls(lambda own, X: Layer.forward(own, X)[0]), "return output, weights"),
    ("debug-self-attention", calls(lambda own, X: Layer(X.shape[2], own.W_q.out_features)(X)), "new random layers"),
    ("debug-self-attention", layer(masked=lambda s, may: s.masked_fill(~may, -1e38)), "below every score"),
    ("debug-self-attention", layer(masked=lambda s, may: s - 1e30 * ~may), "Mask before it"),
    ("debug-self-attention", layer(masked=lambda s, may: s + ~may * -math.inf), "0 times infinity?"),
    ("debug-self-attention", layer(scale=lambda X, Q: math.sqrt(X.shape[2])), "which width do you take the root of?"),
    ("debug-self-attention", layer(scale=lambda X, Q: math.sqrt(3)), "which width does a score sum over"),
    ("debug-self-attention", layer(order=torch.triu), "the mask is transposed"),
    ("debug-self-attention", layer(mixed=lambda A, V: A @ V + 1), "what are they multiplied with?"),
    ("debug-self-attention", layer(mixed=lambda A, V: A.detach() @ V), "where does the gradient stop"),
    ("debug-self-attention", calls(lambda own, X: [x.detach() for x in Layer.forward(own, X)]), "the gradient stop"),
    ("debug-self-attention", made(lambda own: setattr(own, "W_k", own.W_q)), "The three names stand for 2"),
    ("debug-self-attention", made(lambda own: setattr(own.W_k, "weight", own.W_q.weight)), "share a parameter"),
    ("debug-self-attention", made(lambda own: own.W_q.register_parameter("bias", None)), "has a bias, too"),
    ("debug-self-attention", made(lambda own: setattr(own, "W_o", nn.Linear(2, 2))), "and no others"),
    ("debug-self-attention", made(lambda own: vars(own).update(own._modules) or own._modules.clear()), "in __init__"),
    ("debug-self-attention", made(lambda own: own.W_k.requires_grad_(False)), "switched requires_grad off"),
    ("debug-self-attention", made(lambda own: [p.data.zero_() for p in own.parameters()]), "Begin with random numbers"),
]
