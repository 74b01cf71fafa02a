"""Right and wrong answers to the exercises of the chapter "Self-attention"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l


def attend(
    *,
    dim: int = 2,
    scale: Callable[[Tensor, Tensor], float] = lambda X, Q: math.sqrt(Q.shape[2]),
    allowed: Callable[[Tensor], Tensor] = lambda everything: everything.tril(),
    masked: Callable[[Tensor, Tensor], Tensor] = lambda scores, allowed: scores.masked_fill(~allowed, -math.inf),
    weigh: Callable[..., Tensor] = F.softmax,
    after: Callable[[Tensor, Tensor], Tensor] = lambda A, allowed: A,
    project: Callable[[Tensor, Tensor], Tensor] = lambda X, W: X @ W.T,
    mixed: Callable[..., Tensor] = lambda A, X, K, V: A @ V,
) -> Callable[..., Any]:
    """Causal self-attention, right unless told otherwise."""

    def function(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Tensor]:
        Q, K, V = (project(X, W) for W in (W_q, W_k, W_v))
        may = allowed(torch.ones(X.shape[1], X.shape[1]).bool())
        A = after(weigh(masked(Q @ K.mT / scale(X, Q), may), dim), may)
        return mixed(A, X, K, V), A

    return function


def unmasked(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores


def no_softmax(scores: Tensor, dim: int) -> Tensor:
    return scores


def by_pytorch(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> list[Tensor]:
    Q, K = (X @ W_q.T)[:, None], (X @ W_k.T)[:, None]
    one_hot = torch.eye(X.shape[1]).expand(len(X), 1, -1, -1)
    weights = F.scaled_dot_product_attention(Q, K, one_hot, is_causal=True)[:, 0]
    return [weights @ X @ W_v.T, weights]


def in_float64(*arguments: Tensor) -> tuple[Tensor, Tensor]:
    return attend()(*(argument.double() for argument in arguments))


def in_place(X: Tensor, *Ws: Tensor) -> tuple[Tensor, Tensor]:
    output, weights = attend()(X, *Ws)
    X.zero_()
    return output, weights


class Layer(nn.Module):
    """The layer of the debugging exercise, mended unless told otherwise."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, X: Tensor) -> Any:
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)
        scores = Q @ K.mT / self.scale(X)
        A = F.softmax(scores, self.dim)
        return self.mixed(A, X, V), self.second(A, scores)

    dim = 2

    @staticmethod
    def scale(X: Tensor) -> float:
        return math.sqrt(X.shape[2])

    @staticmethod
    def mixed(A: Tensor, X: Tensor, V: Tensor) -> Tensor:
        return A @ V

    @staticmethod
    def second(A: Tensor, scores: Tensor) -> Tensor:
        return A


def layer(**changes: Any) -> type[Layer]:
    return type("Changed", (Layer,), {k: v if k == "dim" else staticmethod(v) for k, v in changes.items()})


def make_lazy(d_model: int) -> nn.Module:
    made = Layer(d_model)
    made.W_q, made.W_k, made.W_v = (nn.LazyLinear(d_model) for _ in range(3))
    return made


class BornAnew(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model

    def forward(self, X: Tensor) -> tuple[Tensor, Tensor]:
        return d2l.SelfAttention(self.d_model)(X)


class StillAnew(Layer):
    def forward(self, X: Tensor) -> Any:
        return d2l.SelfAttention(X.shape[2])(X)


class CutOff(Layer):
    def forward(self, X: Tensor) -> Any:
        output, weights = super().forward(X)
        return output.detach().requires_grad_(), weights


class CutOffEntirely(Layer):
    def forward(self, X: Tensor) -> Any:
        return tuple(result.detach() for result in super().forward(X))


class WithoutForward(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model) for _ in range(3))


class OneHead(Layer):
    def forward(self, X: Tensor) -> Any:
        return super().forward(X)[0]


def error(
    difference: Callable[..., Tensor] = lambda f, X, order: f(X[:, order]) - f(X)[:, order],
    statistic: Callable[[Tensor], Tensor] = lambda difference: difference.abs().max(),
) -> Callable[..., float]:
    return lambda f, X, order: statistic(difference(f, X, order)).item()


def inverse(order: list[int]) -> list[int]:
    return [order.index(i) for i in range(len(order))]


def stack(
    spread: Callable[[Tensor], Tensor] = lambda X: (X.amax(0) - X.amin(0)).max(),
    *,
    scale: float | None = None,
    dim: int = 1,
    residual: bool = False,
    frozen: bool = False,
    more: int = 0,
    in_place: bool = False,
) -> Callable[[Tensor, int], float]:
    """The measurement of the stack, right unless told otherwise."""

    def measure(X: Tensor, num_layers: int) -> float:
        first, original = X, X
        for _ in range(num_layers + more):
            source = first if frozen else X
            new = F.softmax(source @ source.T / (scale or math.sqrt(X.shape[1])), dim) @ X
            X = X + new if residual else new
        if in_place and num_layers:
            original.copy_(X)
        return spread(X).item()

    return measure


RIGHT: dict[str, list[Any]] = {
    "predict-causal-row": [(0.5, 0.25, 0.25, 0), torch.tensor([0.5, 0.25, 0.25, 0]), [1 / 2, 1 / 4, 1 / 4, 0.0]],
    "causal-self-attention": [attend(), by_pytorch, in_float64],
    "debug-self-attention": [make_lazy, Layer, d2l.SelfAttention],
    "measure-equivariance": [
        error(),
        lambda f, X, order: (f(X[:, order]) - f(X)[:, order]).abs().max(),
        error(lambda f, X, order: f(X[:, order])[:, inverse(order)] - f(X)),
    ],
    "stacked-self-attention": [stack(), lambda X, num_layers: torch.tensor(stack()(X.double(), num_layers))],
}

WRONG: list[tuple[str, Any, str]] = [
    ("measure-equivariance", error(lambda f, X, order: f(X)[:, order] - f(X[:, order]), torch.max), "absolute values"),
    ("measure-equivariance", error(statistic=lambda D: D[-1].abs().max()), "look at all examples"),
    ("debug-self-attention", layer(mixed=lambda A, X, V: (A @ V).detach() + 0 * (A @ V)), "cuts the output off"),
    ("causal-self-attention", attend(masked=lambda scores, may: scores - 1000 * ~may), "Mask before it"),
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
    ("causal-self-attention", attend(dim=1), "dim=1 are the queries"),
    ("causal-self-attention", attend(masked=unmasked), "the mask is not used"),
    ("causal-self-attention", attend(allowed=lambda everything: everything.triu()), "the mask is transposed"),
    (
        "causal-self-attention",
        attend(allowed=lambda everything: everything.tril(-1), after=lambda A, _: A.nan_to_num()),
        "is the diagonal 0?",
    ),
    (
        "causal-self-attention",
        attend(masked=unmasked, after=lambda A, allowed: A * allowed),
        "rows now sum to less than 1",
    ),
    (
        "causal-self-attention",
        attend(allowed=lambda everything: everything.tril(-1)),
        "the first one then sees nothing",
    ),
    ("causal-self-attention", attend(allowed=lambda everything: ~everything.tril()), "is True where it may attend?"),
    ("causal-self-attention", attend(allowed=lambda everything: everything.tril(1)), "one too wide"),
    (
        "causal-self-attention",
        attend(masked=lambda scores, allowed: scores.masked_fill(allowed, -1e9)),
        "works the other way round",
    ),
    ("causal-self-attention", attend(masked=lambda scores, allowed: scores * allowed), "must be minus infinity"),
    ("causal-self-attention", attend(scale=lambda X, Q: 1), "the scores are not scaled"),
    ("causal-self-attention", attend(scale=lambda X, Q: Q.shape[2]), "you divide by p"),
    ("causal-self-attention", attend(scale=lambda X, Q: math.sqrt(X.shape[1])), "the length of the sequence"),
    ("causal-self-attention", attend(scale=lambda X, Q: math.sqrt(X.shape[2])), "after the projection"),
    ("causal-self-attention", attend(scale=lambda X, Q: 5), "mask and weights one by one"),
    ("causal-self-attention", lambda X, q, k, v: attend()(X, k, q, v), "You swapped W_q and W_k"),
    ("causal-self-attention", lambda X, q, k, v: attend()(X, q, q, v), "a projection of their own"),
    ("causal-self-attention", attend(weigh=no_softmax), "not yet weights"),
    ("causal-self-attention", attend(weigh=no_softmax, masked=unmasked), "neither masked nor weights yet"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A @ X), "where is W_v?"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A @ K), "not keys"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A.mT @ V), "do not transpose them"),
    ("causal-self-attention", attend(mixed=lambda A, X, K, V: A @ V + 1), "what are they multiplied with?"),
    ("causal-self-attention", attend(project=lambda X, W: X @ W), "you forgot to transpose W"),
    ("causal-self-attention", lambda X, q, k, v: attend()(X, q, k, v.T), "you forgot to transpose W_v"),
    ("causal-self-attention", lambda *a: attend()(*a)[0], "return output, weights"),
    ("causal-self-attention", lambda *a: attend()(*a)[::-1], "shape of each step"),
    ("causal-self-attention", in_place, "works in place"),
    ("debug-self-attention", BornAnew, "made once in __init__"),
    ("debug-self-attention", lambda d_model: 3, "pass the class itself"),
    ("debug-self-attention", lambda d_model: nn.Linear(d_model, d_model), "and no others"),
    ("debug-self-attention", Layer(5), "without parentheses"),
    ("debug-self-attention", layer(scale=lambda X: 2), "not its width"),
    ("debug-self-attention", layer(scale=lambda X: X.shape[0]), "which dimension is which"),
    ("debug-self-attention", WithoutForward, "run it yourself"),
    ("debug-self-attention", CutOffEntirely, "cuts the output off"),
    ("debug-self-attention", StillAnew, "does forward make new random layers"),
    ("debug-self-attention", CutOff, "cuts the output off"),
    ("debug-self-attention", layer(scale=lambda X: 1), "the scores are not scaled"),
    ("debug-self-attention", layer(dim=1), "In a batch, dim=1 are the queries"),
    ("debug-self-attention", layer(scale=lambda X: math.sqrt(X.shape[1])), "not its width"),
    ("debug-self-attention", layer(dim=1, scale=lambda X: math.sqrt(X.shape[1])), "two faults are left"),
    ("debug-self-attention", layer(mixed=lambda A, X, V: A @ X), "where is W_v?"),
    ("debug-self-attention", layer(mixed=lambda A, X, V: A @ V + 1), "which dimension is which"),
    ("debug-self-attention", layer(second=lambda A, scores: scores), "some are negative"),
    ("debug-self-attention", layer(second=lambda A, scores: math.sqrt(5) * scores), "not even scaled"),
    ("debug-self-attention", layer(second=lambda A, scores: A + 1), "what the values were multiplied with"),
    ("debug-self-attention", OneHead, "return output, weights"),
    ("measure-equivariance", error(lambda f, X, order: f(X[:, order]) - f(X)), "shuffle the output as well"),
    (
        "measure-equivariance",
        error(lambda f, X, order: f(X[:, order]) - f(X)[:, inverse(order)]),
        "not with its inverse",
    ),
    ("measure-equivariance", error(statistic=lambda D: D.max()), "take absolute values"),
    ("measure-equivariance", error(statistic=lambda D: D.abs().mean()), "not the mean"),
    ("measure-equivariance", error(statistic=lambda D: D.abs().sum()), "not a sum"),
    ("measure-equivariance", error(statistic=lambda D: D.norm()), "not the norm"),
    ("measure-equivariance", error(statistic=lambda D: D[0].abs().max()), "look at all examples"),
    ("measure-equivariance", lambda f, X, order: error()(f, X, [1, 2, 3, 0]), "for a tiny X"),
    ("measure-equivariance", lambda f, X, order: error()(f, X, order) + X.zero_().sum().item(), "makes a new tensor"),
    ("measure-equivariance", lambda f, X, order: math.nan, "for a tiny X and print both"),
    ("measure-equivariance", lambda f, X, order: X, "a tensor of one entry"),
    ("stacked-self-attention", stack(lambda X: (X.amax(1) - X.amin(1)).max()), "not over the features of one token"),
    ("stacked-self-attention", stack(lambda X: X.max() - X.min()), "take each feature alone"),
    ("stacked-self-attention", stack(lambda X: (X.amax(0) - X.amin(0)).mean()), "not their mean"),
    ("stacked-self-attention", stack(lambda X: X.std(0).max()), "not the standard deviation"),
    ("stacked-self-attention", stack(frozen=True), "new weights from its own input"),
    ("stacked-self-attention", stack(scale=1.0), "not scaled"),
    ("stacked-self-attention", stack(dim=0), "along which dimension"),
    ("stacked-self-attention", stack(residual=True), "nothing is added to it"),
    ("stacked-self-attention", stack(more=1), "one layer too many"),
    ("stacked-self-attention", stack(lambda X: (X[0] - X[-1]).abs().max()), "print X after each layer"),
    *[
        ("stacked-self-attention", stack(lambda X, i=i: X[:, i].max() - X[:, i].min()), "print X after each layer")
        for i in range(5)
    ],
    ("stacked-self-attention", stack(more=-1), "one layer too few"),
    ("stacked-self-attention", stack(scale=2.0), "not the number of tokens"),
    ("stacked-self-attention", stack(in_place=True), "make a new tensor in each layer"),
    ("stacked-self-attention", lambda X, num_layers: X, "a tensor of one entry"),
]
