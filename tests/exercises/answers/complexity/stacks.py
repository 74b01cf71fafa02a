"""Answers to the exercises: stacks of layers: what they cost, and how far they reach."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np


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


def search_to(most: int) -> Callable[..., Any]:
    """A search that ends too early."""

    def answer(n: int, L: int) -> tuple[int, list[int]]:
        kernel = next(k for k in range(1, most + 1) if k**L >= n)
        return kernel, [kernel**i for i in range(L)]

    return answer


def with_a_corrected_root(n: int, L: int) -> tuple[int, list[int]]:
    """Right: a rounded root, and one more where it is too small."""
    near = round(n ** (1 / L))
    kernel = near + (near**L < n)
    return kernel, [kernel**i for i in range(L)]


RIGHT: dict[str, list[Any]] = {
    "predict-stack": [(1600, 1920, 2880), np.array([1600, 1920, 2880])],
    "design-dilations": [
        design,
        lambda n, L: (float(design(n, L)[0]).__ceil__(), np.array(design(n, L)[1])),
        with_a_corrected_root,
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-stack", (5, 1920, 2880), "all features of k tokens"),
    ("predict-stack", (1600, 5, 2880), "token and state"),
    ("predict-stack", (1600, 1920, 5), "four projections, the scores and the mixture"),
    ("design-dilations", designed(lambda k, L: [(k + 1) ** i for i in range(L)]), "there are gaps"),
    ("design-dilations", designed(lambda k, L: [k ** (L - 1)] * L), "the token just before it"),
    ("design-dilations", designed(lambda k, L: [1, *[k ** (L - 1)] * (L - 1)]), "meet in the same places"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(n ** (1 / L))), "is a root rounded up here? 5"),
    ("design-dilations", with_kernel(lambda n, L: max(2, design(n, L)[0])), "a kernel of 1 is enough"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil((n - 1) / L) + 1), "how many different ways"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(n ** (1 / L) - 1e-9)), "does not reach the first token"),
    ("design-dilations", search_to(100), "how large may a kernel have to be?"),
    ("design-dilations", lambda n, L: (design(n, L)[0] + 0.9, design(n, L)[1]), "a whole number"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [1]), "one dilation of at least 1 for each layer"),
]
