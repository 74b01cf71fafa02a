"""Answers to the exercises of the chapter "How to tell a distance"."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import d2lmini as d2l


def keys_needed(slope: float, share: float) -> int:
    """By the sums of two geometric series."""
    return math.ceil(math.log1p(share * math.expm1(-slope * 4096)) / -slope)


def weights(slope: float, num_keys: int = 4096) -> Tensor:
    return torch.softmax(-slope * torch.arange(num_keys).double(), dim=0)


def one_more_until_it_is_enough(slope: float, share: float) -> int:
    held = 0.0
    for count, weight in enumerate(weights(slope).tolist(), start=1):
        held += weight
        if held >= share:
            return count
    return 4096


def of_keys(num_keys: int) -> Callable[[float, float], int]:
    """The same for another sequence."""
    return lambda slope, share: int((weights(slope, num_keys).cumsum(0) < share).sum()) + 1


def picture(X: Tensor, base: float = 10000) -> Tensor:
    """Rotary embedding of a picture."""
    first, second = X.chunk(2, dim=-1)
    first = d2l.apply_rotary(first.transpose(0, 1), base=base).transpose(0, 1)
    return torch.cat([first, d2l.apply_rotary(second, base=base)], dim=-1)


def clamped(X: Tensor) -> Tensor:
    """No row stands further down than at 5."""
    first, second = X.chunk(2, dim=-1)
    rows = [d2l.apply_rotary(row[:, None], start=min(r, 5))[:, 0] for r, row in enumerate(first)]
    return torch.cat([torch.stack(rows), d2l.apply_rotary(second)], dim=-1)


def row_by_row(X: Tensor) -> Tensor:
    """Right: a loop over the rows, each at its own position."""
    half = X.shape[-1] // 2
    rows = [d2l.apply_rotary(row[:, None, :half], start=r)[:, 0] for r, row in enumerate(X)]
    return torch.cat([torch.stack(rows), d2l.apply_rotary(X[..., half:])], dim=-1)


def rotary(scale: Callable[[int], float] = math.sqrt) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attention with rotary embedding, right unless told otherwise."""

    def answer(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        m, n, p = len(Q), *K.shape

        def turn(X: Tensor, first: int) -> Tensor:
            angles = torch.arange(first, first + len(X))[:, None] * 10000 ** (-torch.arange(0, p, 2).double() / p)
            pairs = torch.view_as_complex(X.double().unflatten(-1, (-1, 2)).contiguous())
            return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(1)

        return (turn(Q, n - m) @ turn(K, 0).T / scale(p)).softmax(1) @ V.double()

    return answer


def with_package(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    turned = d2l.apply_rotary(Q, start=len(K) - len(Q)), d2l.apply_rotary(K)
    return (turned[0] @ turned[1].T / math.sqrt(K.shape[1])).softmax(1) @ V


def by_offsets(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Right: only keys are turned, by how far they stand from the query."""
    outputs = []
    for i, q in enumerate(Q, start=len(K) - len(Q)):
        turned = [d2l.apply_rotary(k[None], start=abs(j - i))[0] for j, k in enumerate(K)]
        back = [d2l.apply_rotary(q[None], start=abs(j - i))[0] for j in range(len(K))]
        scores = torch.stack([q @ t if j >= i else b @ K[j] for j, (t, b) in enumerate(zip(turned, back, strict=True))])
        outputs.append((scores / math.sqrt(len(q))).softmax(0) @ V)
    return torch.stack(outputs)


RIGHT: dict[str, list[Any]] = {
    "predict-relative": [(264, math.exp(-1), 0.1334), [264, 0.37, 0.133]],
    "measure-window": [
        keys_needed,
        one_more_until_it_is_enough,
        lambda slope, share: float(np.argmax(weights(slope).cumsum(0).numpy() >= share) + 1),
    ],
    "use-window": [(10, 1179), [10.0, 1179.0]],
    "rotary-picture": [picture, row_by_row],
    "debug-rotary": [rotary(), with_package, by_offsets],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-relative", (7, 0.368, 0.133), "from -16 to 16"),
    ("predict-relative", (264, 0.9, 0.133), "a factor e^(-m)"),
    ("predict-relative", (264, 0.368, 3), "multiply its frequency by 1000"),
    *(("measure-window", of_keys(n), "how many keys does your softmax have?") for n in (4000, 4095, 4097, 10_000)),
    ("measure-window", lambda slope, share: max(2, keys_needed(slope, share)), "add them up with cumsum"),
    ("use-window", (1179, 10), "with the first slope of 8 heads"),
    ("use-window", (10, 4096), "with the last slope of 8 heads"),
    ("rotary-picture", lambda X: picture(X, base=50), "look at a single feature"),
    ("rotary-picture", clamped, "look at a single feature"),
    ("rotary-picture", lambda X: X + (picture(X) - X).detach(), "is a part of the way cut off?"),
    ("debug-rotary", rotary(scale=lambda p: math.sqrt(12)), "compare turned queries"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, K[-10:], V[-10:]), "compare turned queries"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, 2 * K - K.detach(), V), "is a part of the way cut off?"),
]
