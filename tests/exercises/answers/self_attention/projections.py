"""Answers to the exercise on a layer that cannot learn: its projections, and what stops their gradient."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn

from tests.exercises.answers.self_attention.layer import Layer, late, layer, unmasked


class OneForAll(Layer):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        self.W_q, self.W_k, self.W_v = [nn.Linear(d_model, width)] * 3


class TwoForAll(Layer):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        self.W_k = self.W_q


class Starter(OneForAll):
    masked = staticmethod(unmasked)
    after = staticmethod(late)

    @staticmethod
    def scale(X: Tensor, Q: Tensor) -> float:
        return math.sqrt(X.shape[2])

    @staticmethod
    def mixed(A: Tensor, X: Tensor, V: Tensor) -> Tensor:
        return A.detach() @ V


class WithoutBias(Layer):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, width, bias=False) for _ in range(3))


class WithOutput(Layer):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        self.W_o = nn.Linear(width, width)


class Frozen(Layer):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        self.W_k.requires_grad_(False)


class InList(nn.Module):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.layers = [nn.Linear(d_model, width) for _ in range(3)]

    def forward(self, X: Tensor) -> Any:
        return X, X


class Hidden(Layer):
    """The projections are in a list, so that nobody finds their parameters."""

    def __init__(self, d_model: int, width: int) -> None:
        nn.Module.__init__(self)
        self.all = [nn.Linear(d_model, width) for _ in range(3)]

    def __getattr__(self, name: str) -> Any:
        return self.all["qkv".index(name[-1])] if name.startswith("W_") else super().__getattr__(name)


class Anew(nn.Module):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.sizes = d_model, width

    def forward(self, X: Tensor) -> Any:
        return Layer(*self.sizes)(X)


class StillAnew(Layer):
    def forward(self, X: Tensor) -> Any:
        return Layer(self.W_q.in_features, self.W_q.out_features)(X)


class CutOffEntirely(Layer):
    def forward(self, X: Tensor) -> Any:
        return tuple(result.detach() for result in super().forward(X))


class CutOffInput(Layer):
    def forward(self, X: Tensor) -> Any:
        return super().forward(X.detach())


class Zeroed(Layer):
    """Every parameter begins with 0."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        for parameter in self.parameters():
            nn.init.zeros_(parameter)


class ZeroedScores(Layer):
    def __init__(self, d_model: int, width: int) -> None:
        super().__init__(d_model, width)
        for projection in (self.W_q, self.W_k):
            nn.init.zeros_(projection.weight)
            nn.init.zeros_(projection.bias)


RIGHT: dict[str, list[Any]] = {}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-self-attention", CutOffInput, "where does the gradient stop"),
    ("debug-self-attention", Zeroed, "Begin with random numbers"),
    ("debug-self-attention", ZeroedScores, "Begin with random numbers"),
    ("debug-self-attention", Starter, "And which width does the scale take the root of?"),
    ("debug-self-attention", OneForAll, "The three names stand for 1"),
    ("debug-self-attention", TwoForAll, "The three names stand for 2"),
    ("debug-self-attention", WithoutBias, "each of the three has a bias, too"),
    ("debug-self-attention", WithOutput, "and no others"),
    ("debug-self-attention", Frozen, "switched requires_grad off"),
    ("debug-self-attention", InList, "make the three layers once"),
    ("debug-self-attention", Hidden, "made once in __init__"),
    ("debug-self-attention", Anew, "make the three layers once"),
    ("debug-self-attention", StillAnew, "does forward make new random layers"),
    ("debug-self-attention", CutOffEntirely, "where does the gradient stop"),
    ("debug-self-attention", layer(mixed=lambda A, X, V: A.detach() @ V), "where does the gradient stop"),
    ("debug-self-attention", layer(mixed=lambda A, X, V: A @ V.detach()), "where does the gradient stop"),
    (
        "debug-self-attention",
        layer(mixed=lambda A, X, V: (A @ V).detach() + 0 * (A @ V)),
        "where does the gradient stop",
    ),
    (
        "debug-self-attention",
        layer(mixed=lambda A, X, V: (A @ V).detach().requires_grad_()),
        "where does the gradient stop",
    ),
]
