"""Answers to the exercises of the chapter "CNN, RNN, self-attention: the costs measured"."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import d2lmini as d2l


def counter(n: int, m: int, d: int, num_heads: int) -> float:
    return 4 * d * d * (n + m) + 4 * m * n * d


def additive(n: float, d: float, h: float) -> float:
    return 4 * n * d * h + 2 * n * n * h + 2 * n * n * d


def measured(n: int, d: int, h: int) -> int:
    layer = d2l.AdditiveAttention(d, d, h, dropout=0)
    return d2l.count_flops(lambda X: layer(X, X, X), torch.randn(1, n, d))


def design(n: int, num_layers: int) -> tuple[int, list[int]]:
    kernel = next(k for k in itertools.count(1) if k**num_layers >= n)
    return kernel, [kernel**i for i in range(num_layers)]


def designed(dilations: Callable[[int, int], list[int]]) -> Callable[..., Any]:
    """A design with other dilations than the right ones."""

    def answer(n: int, num_layers: int) -> tuple[int, list[int]]:
        k = design(n, num_layers)[0]
        return k, dilations(k, num_layers)

    return answer


def with_kernel(kernel: Callable[[int, int], int]) -> Callable[..., Any]:
    """A design with the powers of this kernel."""
    return lambda n, L: (kernel(n, L), [kernel(n, L) ** i for i in range(L)])


def with_a_corrected_root(n: int, L: int) -> tuple[int, list[int]]:
    """Right: a rounded root, and one more where it is too small."""
    near = round(n ** (1 / L))
    kernel = near + (near**L < n)
    return kernel, [kernel**i for i in range(L)]


RIGHT: dict[str, list[Any]] = {
    "debug-counter": [counter, lambda n, m, d, num_heads: np.float64(counter(n, m, d, num_heads))],
    "measure-additive": [additive, lambda n, d, h: sum((2 * n * d * h, 2 * n * d * h, 2 * n**2 * h, 2 * n**2 * d))],
    "predict-depth": [(0.87, 2.5), torch.tensor([0.8696, 2.5])],
    "predict-stack": [(1600, 1920, 2880), np.array([1600, 1920, 2880])],
    "design-dilations": [
        design,
        lambda n, L: (float(design(n, L)[0]).__ceil__(), np.array(design(n, L)[1])),
        with_a_corrected_root,
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-counter", lambda n, m, d, h: counter(n, m, d, h) if h > 4 else 0, "the product of an a×b"),
    ("debug-counter", lambda n, m, d, num_heads: None, "return a number"),
    ("measure-additive", lambda n, d, h: additive(9, 14, 20), "take the second difference"),
    ("measure-additive", measured, "where does your function need whole ones?"),
    ("predict-stack", (5, 1920, 2880), "all features of k tokens"),
    ("predict-depth", (0.5, 2.5), "count the layers"),
    ("predict-depth", (0.87, 3), "write n as 2d"),
    ("predict-stack", (1600, 5, 2880), "token and state"),
    ("predict-stack", (1600, 1920, 5), "four projections, the scores and the mixture"),
    ("design-dilations", designed(lambda k, L: [(k + 1) ** i for i in range(L)]), "there are gaps"),
    ("design-dilations", designed(lambda k, L: [k ** (L - 1)] * L), "the token just before it"),
    ("design-dilations", designed(lambda k, L: [1, *[k ** (L - 1)] * (L - 1)]), "meet in the same places"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(n ** (1 / L))), "is a root rounded up here? 5"),
    ("design-dilations", with_kernel(lambda n, L: max(2, design(n, L)[0])), "a kernel of 1 is enough"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil((n - 1) / L) + 1), "how many different ways"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(n ** (1 / L) - 1e-9)), "does not reach the first token"),
    ("design-dilations", with_kernel(lambda n, L: min(10_000, design(n, L)[0])), "does not reach the first token"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [1]), "one dilation of at least 1 for each layer"),
]
