"""Answers to the exercises: stacks of layers: what they cost, and how far they reach."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def design(n: int, num_layers: int) -> tuple[int, list[int]]:
    kernel = next(k for k in itertools.count(1) if k**num_layers >= n)
    return kernel, [kernel**i for i in range(num_layers)]


def designed(kernel: int | None = None, dilations: Callable[[int, int], list[int]] | None = None) -> Callable[..., Any]:
    """A design with another kernel or other dilations than the right ones."""

    def answer(n: int, num_layers: int) -> tuple[int, list[int]]:
        k = kernel or design(n, num_layers)[0]
        return k, dilations(k, num_layers) if dilations else [k**i for i in range(num_layers)]

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


def with_ceil(n: int, L: int) -> tuple[Any, list[Any]]:
    kernel = np.ceil(n ** (1 / L))
    return kernel, [kernel**i for i in range(L)]


RIGHT: dict[str, list[Any]] = {
    "predict-stack": [(1600, 1920, 2880), [1600.0, 1920.0, 2880.0], np.array([1600, 1920, 2880])],
    "design-dilations": [
        design,
        lambda n, L: (design(n, L)[0], (design(n, L)[0] ** i for i in range(L))),
        lambda n, L: (float(design(n, L)[0]).__ceil__(), np.array(design(n, L)[1])),
        with_a_corrected_root,
        lambda n, L: [torch.tensor(design(n, L)[0]), tuple(reversed(design(n, L)[1]))],
        lambda n, L: (design(n, L)[0], torch.tensor(design(n, L)[1][::-1])),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-stack", (5, 1920, 2880), "all features of k tokens"),
    ("predict-stack", (1600, 5, 2880), "token and state"),
    ("predict-stack", (1600, 1920, 5), "four projections, the scores and the mixture"),
    ("predict-stack", 1600, "look at the starter's form"),
    ("design-dilations", designed(dilations=lambda k, L: [1] * L), "does not reach the first token"),
    ("design-dilations", designed(dilations=lambda k, L: [(k + 1) ** i for i in range(L)]), "there are gaps"),
    ("design-dilations", designed(dilations=lambda k, L: [k ** (L - 1)] * L), "the token just before it"),
    ("design-dilations", designed(dilations=lambda k, L: [k**i for i in range(1, L + 1)]), "the token just before it"),
    ("design-dilations", designed(dilations=lambda k, L: [1, *[k ** (L - 1)] * (L - 1)]), "meet in the same places"),
    ("design-dilations", designed(dilations=lambda k, L: [k * i + 1 for i in range(L)]), "there are gaps"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(n ** (1 / L))), "is a root rounded up here? 5"),
    ("design-dilations", with_kernel(lambda n, L: int(n ** (1 / L)) + 1), "is a root rounded up here? 3"),
    ("design-dilations", with_kernel(lambda n, L: max(2, design(n, L)[0])), "a kernel of 1 is enough"),
    ("design-dilations", with_kernel(lambda n, L: round(n ** (1 / L))), "does not reach the first token"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil((n - 1) / L) + 1), "how many different ways"),
    ("design-dilations", with_kernel(lambda n, L: 10**9), "how many different ways"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(round(n ** (1 / L), 3))), "does not reach the first token"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(round(n ** (1 / L), 2))), "does not reach the first token"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(n ** (1 / L) - 5e-3)), "does not reach the first token"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(round(n ** (1 / L), 6))), "does not reach the first token"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(round(n ** (1 / L), 8))), "does not reach the first token"),
    ("design-dilations", with_kernel(lambda n, L: math.ceil(n ** (1 / L) - 1e-9)), "does not reach the first token"),
    ("design-dilations", search_to(12), "how large may a kernel have to be?"),
    ("design-dilations", search_to(100), "how large may a kernel have to be?"),
    ("design-dilations", search_to(1000), "how large may a kernel have to be?"),
    ("design-dilations", with_ceil, "a float, even 3.0, is not one"),
    ("design-dilations", lambda n, L: (n if n == 9 else 1, [1] * L), "how many different ways"),
    ("design-dilations", lambda n, L: (design(n, L)[0] + 1, [2**i for i in range(L)]), "how many different ways"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [10**30] * L), "the token just before it"),
    ("design-dilations", lambda n, L: (10**30, [1] * L), "how many different ways"),
    ("design-dilations", designed(kernel=100, dilations=lambda k, L: [1] * L), "how many different ways"),
    ("design-dilations", lambda n, L: design(n, L)[1], "a whole dilation for each layer"),
    ("design-dilations", lambda n, L: design(n, L)[0], "two things"),
    ("design-dilations", lambda n, L: (design(n, L)[0] + 0.9, design(n, L)[1]), "a whole number"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [math.inf] * L), "a whole dilation"),
    ("design-dilations", lambda n, L: (design(n, L)[0], itertools.count(1)), "one dilation of at least 1"),
    ("design-dilations", lambda n, L: design(max(n, 2), L), "a kernel of 1 is enough"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [1]), "one dilation of at least 1 for each layer"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [0] * L), "one dilation of at least 1 for each layer"),
]
