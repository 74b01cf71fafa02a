"""Answers to the exercises: what encodings of positions are used for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def decode(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """One token after the other."""
    tokens = [encoding(X[:, i : i + 1], offset=i) for i in range(X.shape[1])]
    pasts = [torch.cat(tokens[: i + 1], dim=1) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def decode_in_place(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    outputs = []
    for i in range(X.shape[1]):
        X[:, i : i + 1] = encoding(X[:, i : i + 1], offset=i)
        outputs.append(layer(X[:, i : i + 1], X[:, : i + 1], X[:, : i + 1]))
    return torch.cat(outputs, dim=1)


def keys_from_the_whole(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: the kept tokens get their positions again at each step."""
    pasts = [encoding(X[:, : i + 1]) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def all_at_once(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: whole sequences that end early, and their last outputs."""
    placed = encoding(X)
    return torch.stack([layer(*[placed[:, : i + 1]] * 3)[:, -1] for i in range(X.shape[1])], dim=1)


def example_by_example(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    return torch.cat([decode(layer, encoding, x[None]) for x in X])


def filled_in(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: room for all tokens is made first."""
    kept, Y = torch.zeros_like(X), torch.zeros_like(X)
    for i in range(X.shape[1]):
        kept[:, i] = encoding(X[:, i : i + 1], i)[:, 0]
        Y[:, i] = layer(kept[:, i : i + 1], kept[:, : i + 1], kept[:, : i + 1])[:, 0]
    return Y


def from_the_table(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    kept = [X[:, i : i + 1] + encoding.P[:, i : i + 1] for i in range(X.shape[1])]
    pasts = [torch.cat(kept[: i + 1], dim=1) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def of_the_weights(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    layer.dropout.p = 0.0
    return decode(layer, encoding.forward, X)


def for_five(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    return decode(layer, encoding, X[:, :5])


def beaten(
    *, begin: int = 1, step: int | None = None, equal: bool = False, shift: int = 0, otherwise: Any = None
) -> Callable[[Tensor], Any]:
    """The first distance with a larger product further away, at most so many steps; right unless told otherwise."""

    def answer(P: Tensor) -> Any:
        products = (P @ P[0]).tolist()
        for k in range(begin, len(products)):
            later = products[k + 1 : k + 1 + (step or len(products))]
            if any(other > products[k] or (equal and other == products[k]) for other in later):
                return k + shift
        return otherwise

    return answer


def by_a_running_maximum(P: Tensor) -> Any:
    products = P @ P[0]
    later = products.flip(0).cummax(0).values.flip(0)
    found = (later > products)[1:].nonzero()
    return found[0] + 1 if len(found) else None


def by_a_table(P: Tensor) -> Any:
    products = (P @ P[0]).numpy()
    wins = np.triu(products[None] > products[:, None])[1:].any(1)
    return 1.0 + int(wins.argmax()) if wins.any() else None


def rise(P: Tensor, begin: int = 1) -> int | None:
    products = (P @ P[0]).tolist()
    return next((k for k in range(begin, len(products)) if products[k] > products[k - 1]), None)


def the_winner(P: Tensor) -> int | None:
    k = beaten()(P)
    return k and k + 1 + int((P[k + 1 :] @ P[0]).argmax())


def with_absolute_products(P: Tensor) -> int | None:
    products = (P @ P[0]).abs().tolist()
    return next((k for k in range(1, len(products)) if max(products[k:]) > products[k]), None)


def by_lengths(P: Tensor) -> int | None:
    """Compares distances of vectors, not products."""
    near = (P - P[0]).norm(dim=1).neg().tolist()
    return next((k for k in range(1, len(near)) if max(near[k:]) > near[k]), None)


def before_a_rise(P: Tensor) -> int | None:
    """The last distance before the product rises again after it has fallen."""
    products = (P @ P[0]).tolist()
    return next((k for k in range(1, len(products) - 1) if products[k] < products[k + 1]), None)


def rounded(P: Tensor) -> Any:
    products = [round(product, 2) for product in (P @ P[0]).tolist()]
    return next((k for k in range(1, len(products)) if max(products[k:]) > products[k]), None)


RIGHT: dict[str, list[Any]] = {
    "debug-decoding": [
        decode,
        torch.no_grad()(decode),
        lambda *a: decode(*a).detach(),
        keys_from_the_whole,
        all_at_once,
        example_by_example,
        filled_in,
    ],
    "measure-trust": [beaten(), by_a_running_maximum, by_a_table, lambda P: beaten()(P / P[0].norm())],
    "use-trust": [(18, 4), torch.tensor([18, 4])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-decoding", lambda *a: decode(*a)[..., :2], "one output for each token"),
    ("debug-decoding", from_the_table, "call it, no more"),
    ("debug-decoding", for_five, "one output for each token"),
    ("debug-decoding", lambda layer, encoding, X: decode(layer, encoding, X.flip(1)), "compare the first output"),
    ("debug-decoding", of_the_weights, "call it, no more"),
    ("debug-decoding", lambda layer, encoding, X: 2 * decode(layer, encoding, X), "compare the first output"),
    ("debug-decoding", lambda layer, encoding, X: layer(X, X, X), "compare the first output"),
    ("debug-decoding", decode_in_place, "works in place"),
    ("measure-trust", rise, "that is where the product rises"),
    ("measure-trust", lambda P: rise(P, 2), "the first distance after 1 is 2"),
    ("measure-trust", beaten(step=1), "may be further away than the next"),
    ("measure-trust", beaten(begin=0), "row 0 itself is not asked"),
    ("measure-trust", beaten(equal=True), "is not larger"),
    ("measure-trust", beaten(shift=-1), "row 1 of P is at distance 1"),
    ("measure-trust", beaten(shift=1), "row 0 of P is at distance 0"),
    ("measure-trust", beaten(otherwise=0), "return None"),
    ("measure-trust", lambda P: beaten()(P) or next(iter(())), "return None"),
    ("measure-trust", lambda P: beaten()(F.normalize(P)), "with the lengths of the rows"),
    ("measure-trust", lambda P: beaten()(torch.cat([P[0].abs()[None], P])[1:].abs()), "print the products"),
    ("measure-trust", with_absolute_products, "with their signs"),
    ("measure-trust", by_lengths, "print the products"),
    *(("measure-trust", beaten(step=step), "print the products") for step in (2, 5, 20, 30, 40, 58)),
    ("measure-trust", lambda P: beaten()(P[:20]), "print the products"),
    ("measure-trust", lambda P: beaten()(P[:60]), "print the products"),
    ("measure-trust", before_a_rise, "may be further away than the next"),
    ("measure-trust", rounded, "print the products"),
    ("measure-trust", lambda P: beaten()(P @ P.T), "print the products"),
    ("measure-trust", the_winner, "print the products"),
    ("measure-trust", lambda P: None, "print the products"),
    ("measure-trust", lambda P: 4, "print the products"),
    ("measure-trust", lambda P: "5th", "return a float"),
    ("use-trust", (11, 4), "as before"),
    ("use-trust", (5, 4), "the width is 128"),
    ("use-trust", (19, 4), "at which the product rises"),
    ("use-trust", (4, 4), "with -j/d"),
    ("use-trust", (7, 4), "10000 in (5.2) becomes 100"),
    ("use-trust", (18, 11), "as before"),
    ("use-trust", (18, 18), "that is 100"),
    ("use-trust", (18, 6), "is your function right?"),
    ("use-trust", (18, 7), "where the product rises"),
    ("use-trust", (18, 3), "10000 in (5.2) becomes 10:"),
]
