"""Answers to the exercises of the chapter "The Transformer block"."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Layer = Callable[[Tensor], Tensor]


def norm(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / (X.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()


def stacked(
    pre: Callable[[Tensor, Layer], Tensor] = lambda X, f: X + f(norm(X)),
) -> Callable[[Tensor, list[Layer], bool], Tensor]:
    """A stack of layers in the residual stream, right unless told otherwise."""

    def answer(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
        for layer in layers:
            X = pre(X, layer) if norm_first else norm(X + layer(X))
        return norm(X) if norm_first else X

    return answer


def by_recursion(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    if not layers:
        return F.layer_norm(X, X.shape[2:]) if norm_first else X
    Y = X.double()
    normed = F.layer_norm(Y, Y.shape[2:])
    Y = Y + layers[0](normed) if norm_first else F.layer_norm(Y + layers[0](Y), Y.shape[2:])
    return by_recursion(Y, layers[1:], norm_first)


def token_by_token(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    """The layers never see a sequence."""
    tokens = X.reshape(-1, 1, X.shape[2])
    return stacked()(tokens, layers, norm_first).reshape(X.shape)


def emptied(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    while layers:
        layer = layers.pop(0)
        X = X + layer(norm(X)) if norm_first else norm(X + layer(X))
    return norm(X) if norm_first else X


def normed(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def block(norm: Callable[[Tensor], Tensor] = normed, last: int = 0) -> Callable[..., Tensor]:
    """An encoder block in pre-norm, right unless told otherwise."""

    def answer(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
        Y = norm(X)
        X = X + attention(Y, Y, Y, (valid_lens + last).clamp(min=1))
        return X + ffn(norm(X))

    return answer


def by_hand(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    for layer in (lambda Y: attention(Y, Y, Y, valid_lens), ffn):
        centred = X - X.mean(-1, keepdim=True)
        X = layer(centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()) + X
    return X


def by_examples(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    parts = zip(X.split(1), valid_lens.split(1), strict=True)
    return torch.cat([block()(x, lens, attention, ffn) for x, lens in parts])


def cut_stream(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    """The norm learns nothing of what it reads."""
    with torch.no_grad():
        Y = normed(X)
    X = X + attention(Y, Y, Y, valid_lens)
    return X + ffn(normed(X))


def without_epsilon(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / X.std(-1, keepdim=True, correction=0)


def by_size(block: Any, d: int) -> bool:
    X = torch.randn(2, 5, d)
    return bool(block(1000 * X).abs().max() > 100 * block(X).abs().max())


def by_growth(block: Any, d: int) -> Any:
    X = torch.randn(1, 3, d)
    far = block(1e6 * X) - block(1e5 * X)
    return far.norm() > 1e4


RIGHT: dict[str, list[Any]] = {
    "predict-block": [(18432, 27648, 128), torch.tensor([18432, 27648, 128])],
    "which-norm": [by_size, by_growth],
    "add-norm": [stacked(), by_recursion],
    "debug-block": [block(), by_hand, by_examples],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-block", (1, 27648, 128), "of d on one side"),
    ("predict-block", (18432, 1, 128), "how many are there in all?"),
    ("predict-block", (18432, 27648, 100), "three matrices of h x d"),
    ("which-norm", lambda block, d: "pre", "say whether"),
    ("add-norm", stacked(lambda X, f: 2 * X + f(norm(X))), "print the stream"),
    ("add-norm", token_by_token, "a layer may look at all tokens of a sequence"),
    ("add-norm", emptied, "change the list itself"),
    ("debug-block", block(last=-1), "print the stream"),
    ("debug-block", block(without_epsilon), "an epsilon, under the root"),
    ("debug-block", cut_stream, "is a part of the way cut off?"),
]
