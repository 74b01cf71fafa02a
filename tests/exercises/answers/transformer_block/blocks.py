"""Answers to the exercises: what is counted, and what is added and normed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Layer = Callable[[Tensor], Tensor]


def norm(X: Tensor, dim: int | tuple[int, ...] = -1, eps: float = 1e-5, *, unbiased: bool = False) -> Tensor:
    mean = X.mean(dim=dim, keepdim=True)
    return (X - mean) / (X.var(dim=dim, keepdim=True, unbiased=unbiased) + eps).sqrt()


def centred(X: Tensor) -> Tensor:
    return X - X.mean(-1, keepdim=True)


def variance(X: Tensor) -> Tensor:
    return X.var(-1, keepdim=True, unbiased=False)


def stacked(
    post: Callable[[Tensor, Layer, Layer], Tensor] = lambda X, f, norm: norm(X + f(X)),
    pre: Callable[[Tensor, Layer, Layer], Tensor] = lambda X, f, norm: X + f(norm(X)),
    norm: Layer = norm,
    last: Callable[[bool], bool] = lambda norm_first: norm_first,
    order: Callable[[list[Layer]], list[Layer]] = lambda layers: layers,
) -> Callable[[Tensor, list[Layer], bool], Tensor]:
    """A stack of layers in the residual stream, right unless told otherwise."""

    def answer(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
        for layer in order(layers):
            X = (pre if norm_first else post)(X, layer, norm)
        return norm(X) if last(norm_first) else X

    return answer


def added_in_place(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    for layer in layers:
        X += layer(norm(X)) if norm_first else layer(X)
        X = X if norm_first else norm(X)
    return norm(X) if norm_first else X


def by_layer_norm(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    norm = nn.LayerNorm(X.shape[-1])
    for layer in layers:
        X = X + layer(norm(X)) if norm_first else norm(X + layer(X))
    return norm(X) if norm_first else X


def by_recursion(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    if not layers:
        return F.layer_norm(X, X.shape[2:]) if norm_first else X
    Y = X.double()
    normed = F.layer_norm(Y, Y.shape[2:])
    Y = Y + layers[0](normed) if norm_first else F.layer_norm(Y + layers[0](Y), Y.shape[2:])
    return by_recursion(Y, layers[1:], norm_first)


def each_from_the_bottom(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    Y = X + sum(layer(norm(X) if norm_first else X) for layer in layers)
    return norm(Y)


def batch_normed(X: Tensor) -> Tensor:
    return (X - X.mean(dim=(0, 1))) / (X.var(dim=(0, 1), unbiased=False) + 1e-5).sqrt()


def token_by_token(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    """The layers never see a sequence."""
    tokens = X.reshape(-1, 1, X.shape[2])
    return stacked()(tokens, layers, norm_first).reshape(X.shape)


def flattened(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    return stacked()(X.reshape(-1, X.shape[-1]), layers, norm_first).reshape(X.shape)


def one_vector_at_a_time(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    return torch.stack([torch.stack([stacked()(x, layers, norm_first) for x in row]) for row in X])


def example_by_example(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    return torch.cat([stacked()(x[None], layers, norm_first) for x in X])


def emptied(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    while layers:
        layer = layers.pop(0)
        X = X + layer(norm(X)) if norm_first else norm(X + layer(X))
    return norm(X) if norm_first else X


def normed_first(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    return stacked()(X if norm_first else norm(X), layers, norm_first)


def by_root_mean_square(X: Tensor) -> Tensor:
    return X / (X.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def clamped(X: Tensor) -> Tensor:
    return centred(X) / variance(X).clamp(min=1e-5).sqrt()


def ended(end: Layer) -> Callable[[Tensor, list[Layer], bool], Tensor]:
    """Pre-norm with another last norm."""

    def answer(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
        X = stacked(last=lambda _: False)(X, layers, norm_first)
        return end(X) if norm_first else X

    return answer


def only_first(layers: list[Layer]) -> list[Layer]:
    return layers[:1]


RIGHT: dict[str, list[Any]] = {
    "predict-block": [(49728, 128, 5), torch.tensor([49728, 128, 5]), (49728, 128, 25**0.5)],
    "add-norm": [stacked(), by_layer_norm, by_recursion, example_by_example],
}

WRONG: list[tuple[str, Any, str]] = [
    ("add-norm", torch.no_grad()(stacked()), "cuts the result off"),
    ("predict-block", (1, 128, 5), "four d x d projections"),
    ("predict-block", (49728, 128), "look at the starter's form"),
    ("predict-block", (49728, 100, 5), "three matrices of h x d"),
    ("predict-block", (49728, 128, 13), "the mean square of a sum"),
    ("add-norm", stacked(post=lambda X, f, norm: X + norm(f(X))), "the norm is over the sum"),
    ("add-norm", stacked(post=lambda X, f, norm: X + f(norm(X))), "norm_first is False"),
    ("add-norm", stacked(post=lambda X, f, norm: norm(norm(X) + norm(f(X)))), "one norm for each layer is enough"),
    ("add-norm", stacked(post=lambda X, f, norm: norm(X + f(norm(X)))), "the layer gets X itself"),
    ("add-norm", stacked(post=lambda X, f, norm: norm(f(X))), "where is the X that is added?"),
    ("add-norm", stacked(post=lambda X, f, norm: X + f(X)), "and the norm after each sum?"),
    ("add-norm", stacked(pre=lambda X, f, norm: norm(X + f(X))), "norm_first is True"),
    ("add-norm", stacked(pre=lambda X, f, norm: norm(X) + f(norm(X))), "adds to the stream itself"),
    ("add-norm", stacked(pre=lambda X, f, norm: X + norm(f(X))), "the norm comes before the layer"),
    ("add-norm", stacked(pre=lambda X, f, norm: f(norm(X))), "where is the stream"),
    ("add-norm", stacked(pre=lambda X, f, norm: norm(X + f(norm(X)))), "no norm after each sum"),
    ("add-norm", stacked(norm=lambda X: norm(X, dim=1)), "which numbers are normed together?"),
    ("add-norm", stacked(norm=lambda X: norm(X, dim=(1, 2))), "each token has a mean of its own"),
    ("add-norm", stacked(norm=lambda X: norm(X, dim=(0, 1, 2))), "not the whole batch"),
    ("add-norm", stacked(norm=lambda X: norm(X, unbiased=True)), "unbiased=False"),
    ("add-norm", stacked(norm=lambda X: centred(X) / (variance(X) + 1e-5)), "which is the root"),
    ("add-norm", stacked(norm=lambda X: X / (variance(X) + 1e-5).sqrt()), "subtract the mean"),
    ("add-norm", stacked(norm=lambda X: centred(X) / (variance(X).sqrt() + 1e-5)), "belongs under the root"),
    ("add-norm", stacked(norm=lambda X: norm(X, eps=0.0)), "and epsilon?"),
    ("add-norm", stacked(norm=lambda X: norm(X, eps=1e-6)), "which epsilon?"),
    ("add-norm", ended(lambda X: norm(norm(X))), "once is enough"),
    ("add-norm", stacked(norm=lambda X: norm(norm(X))), "once is enough"),
    ("add-norm", ended(lambda X: norm(X, eps=1e-6)), "which epsilon?"),
    ("add-norm", ended(lambda X: norm(X, eps=1e-8)), "which epsilon is yours?"),
    ("add-norm", stacked(norm=lambda X: norm(X, eps=1e-8)), "which epsilon is yours?"),
    ("add-norm", stacked(pre=lambda X, f, norm: X + f(norm(norm(X)))), "once is enough"),
    ("add-norm", stacked(pre=lambda X, f, norm: 2 * X + f(norm(X))), "print the stream"),
    ("add-norm", ended(lambda X: norm(X, eps=1e-3)), "print the stream"),
    ("add-norm", ended(lambda X: norm(X, eps=0.0)), "and epsilon?"),
    ("add-norm", ended(lambda X: norm(X, unbiased=True)), "unbiased=False"),
    ("add-norm", ended(lambda X: centred(X) / (variance(X).sqrt() + 1e-5)), "epsilon belongs under the root"),
    ("add-norm", ended(clamped), "epsilon is added"),
    ("add-norm", ended(lambda X: F.normalize(centred(X), dim=-1) * X.shape[-1] ** 0.5), "and epsilon?"),
    ("add-norm", stacked(norm=lambda X: 2 * norm(X)), "print the stream after each step"),
    ("add-norm", added_in_place, "changes the caller's tensor"),
    ("add-norm", lambda X, layers, norm_first: None, "return a tensor"),
    ("add-norm", stacked(last=lambda norm_first: False), "which norm is missing?"),
    ("add-norm", stacked(last=lambda norm_first: True), "once is enough"),
    ("add-norm", stacked(order=lambda layers: layers[::-1]), "the first one first"),
    ("add-norm", stacked(order=lambda layers: layers[:3]), "how many layers are there?"),
    ("add-norm", stacked(order=only_first), "how many layers are there?"),
    ("add-norm", stacked(order=lambda layers: layers[-1:]), "how many layers are there?"),
    ("add-norm", each_from_the_bottom, "what the first one has left in the stream"),
    ("add-norm", lambda X, layers, norm_first: stacked()(X, layers, not norm_first), "norm_first is False"),
    ("add-norm", lambda X, layers, norm_first: stacked()(X, layers, False), "norm_first is True"),
    ("add-norm", stacked(norm=batch_normed), "not over the batch"),
    ("add-norm", stacked(norm=lambda X: norm(X, dim=(0, 1))), "not over the batch"),
    ("add-norm", stacked(norm=lambda X: norm(X, dim=0)), "not over the batch"),
    ("add-norm", token_by_token, "a layer may look at all tokens of a sequence"),
    ("add-norm", flattened, "a layer may look at all tokens of a sequence"),
    ("add-norm", one_vector_at_a_time, "a layer may look at all tokens of a sequence"),
    ("add-norm", emptied, "change the list itself"),
    ("add-norm", normed_first, "the first layer of post-norm reads X as it is"),
    ("add-norm", stacked(norm=by_root_mean_square), "subtract the mean"),
    ("add-norm", stacked(norm=clamped), "epsilon is added, not a lower bound"),
    ("add-norm", stacked(norm=lambda X: F.normalize(X, dim=-1)), "print the stream after each step"),
]
