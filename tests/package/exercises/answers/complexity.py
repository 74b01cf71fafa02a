"""Right and wrong answers to the exercises of the chapter on costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

import d2lmini as d2l

COUNTED: dict[tuple[Any, int, int], int] = {}


def design(n: int, num_layers: int) -> tuple[int, list[int]]:
    kernel = next(k for k in itertools.count(1) if k**num_layers >= n)
    return kernel, [kernel**i for i in range(num_layers)]


def designed(kernel: int | None = None, dilations: Callable[[int, int], list[int]] | None = None) -> Callable[..., Any]:
    """A design with another kernel or other dilations than the right ones."""

    def answer(n: int, num_layers: int) -> tuple[int, list[int]]:
        k = kernel or design(n, num_layers)[0]
        return k, dilations(k, num_layers) if dilations else [k**i for i in range(num_layers)]

    return answer


def counter(
    *, projections: int = 4, unit: int = 2, mixing_unit: int = 2, mixtures: int = 2, per_head: bool = False
) -> Callable[[int, int, int], int]:
    """The counter of the debugging exercise, mended unless told otherwise."""

    def count(n: int, d: int, num_heads: int) -> int:
        return unit * projections * n * d * d + mixing_unit * mixtures * n * n * d * (num_heads if per_head else 1)

    return count


def additive(a: float, b: float, c: float = 0) -> Callable[[int, int], float]:
    return lambda n, d: a * n * d * d + b * n * n * d + c * n * n * d * d


def count_once(layer: Any, n: int, d: int) -> int:
    """The FLOPs of a layer, counted once for all answers: layers of one kind and size are written alike."""
    kind = repr(layer) if isinstance(layer, nn.Module) else layer
    if (kind, n, d) not in COUNTED:
        COUNTED[kind, n, d] = d2l.count_flops(layer, torch.randn(1, n, d))
    return COUNTED[kind, n, d]


def crossover(
    *, equal: bool = False, strict: bool = False, swapped: bool = False, first: int = 1, last: int = 40
) -> Callable[[Any, Any, int], int | None]:
    """The search for a crossover, right unless told otherwise."""

    def find(f: Any, g: Any, d: int) -> int | None:
        for n in range(first, last + 1):
            costs = [count_once(layer, n, d) for layer in ((g, f) if swapped else (f, g))]
            if costs[0] == costs[1] or (not equal and costs[0] > costs[1]):
                if strict and costs[0] == costs[1]:
                    continue
                return n
        return None

    return find


def instead_of_none(f: Any, g: Any, d: int) -> int:
    return crossover()(f, g, d) or 40


RIGHT: dict[str, list[Any]] = {
    "predict-stack": [(1600, 1920, 2880), [1600.0, 1920.0, 2880.0], np.array([1600, 1920, 2880])],
    "design-dilations": [design, lambda n, L: (design(n, L)[0], torch.tensor(design(n, L)[1][::-1]))],
    "debug-counter": [counter(), lambda n, d, num_heads: 8 * n * d**2 + 4 * n**2 * d],
    "measure-additive": [additive(4, 4), additive(4 + 1e-12, 4), lambda n, d: torch.tensor(4 * n * d * (n + d))],
    "find-crossover": [crossover()],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-stack", (800, 1920, 2880), "a multiply-add is 2 FLOPs"),
    ("predict-stack", (400, 1920, 2880), "from all 4 input features"),
    ("predict-stack", (320, 1920, 2880), "the kernel covers 5 tokens"),
    ("predict-stack", (40, 1920, 2880), "how many products"),
    ("predict-stack", (8000, 1920, 2880), "n stands in the formula once"),
    ("predict-stack", (960, 1920, 2880), "10 outputs, not 6"),
    ("predict-stack", (5, 1920, 2880), "all features of k tokens"),
    ("predict-stack", (1600, 960, 2880), "forget the matrices of the state?"),
    ("predict-stack", (1600, 640, 2880), "three pairs of matrices"),
    ("predict-stack", (1600, 2560, 2880), "that is an LSTM"),
    ("predict-stack", (1600, 192, 2880), "that is one step"),
    ("predict-stack", (1600, 5, 2880), "token and state"),
    ("predict-stack", (1600, 1920, 1440), "a multiply-add is 2 FLOPs"),
    ("predict-stack", (1600, 1920, 1600), "where are the projections?"),
    ("predict-stack", (1600, 1920, 1280), "where is the mixing?"),
    ("predict-stack", (1600, 1920, 2560), "after the concatenation?"),
    ("predict-stack", (1600, 1920, 4480), "width per head?"),
    ("predict-stack", (1600, 1920, 5760), "half as wide"),
    ("predict-stack", (1600, 1920, 2080), "also meet the values"),
    ("predict-stack", (1600, 1920, 5), "four projections, the scores and the mixture"),
    ("predict-stack", 1600, "look at the starter's form"),
    ("design-dilations", designed(dilations=lambda k, L: [1] * L), "does not reach the first token"),
    ("design-dilations", designed(dilations=lambda k, L: [(k + 1) ** i for i in range(L)]), "there are gaps"),
    ("design-dilations", designed(dilations=lambda k, L: [k ** (L - 1)] * L), "meet in the same places"),
    ("design-dilations", designed(kernel=100, dilations=lambda k, L: [1] * L), "how many different ways"),
    ("design-dilations", lambda n, L: design(n, L)[1], "a whole dilation for each layer"),
    ("design-dilations", lambda n, L: design(n, L)[0], "two things"),
    ("design-dilations", lambda n, L: (design(n, L)[0] + 0.9, design(n, L)[1]), "a whole number"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [math.inf] * L), "a whole dilation"),
    ("design-dilations", lambda n, L: (design(n, L)[0], itertools.count(1)), "one dilation of at least 1"),
    ("design-dilations", lambda n, L: design(max(n, 2), L), "a kernel of 1 is enough"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [1]), "one dilation of at least 1 for each layer"),
    ("design-dilations", lambda n, L: (design(n, L)[0], [0] * L), "one dilation of at least 1 for each layer"),
    ("debug-counter", counter(projections=3), "W_o is a projection, too"),
    ("debug-counter", counter(mixing_unit=1), "also to scores and mixture"),
    ("debug-counter", counter(projections=3, mixing_unit=1), "two things"),
    ("debug-counter", counter(unit=1, mixing_unit=1), "a multiplication and an addition"),
    ("debug-counter", counter(per_head=True), "The number of heads cancels"),
    ("debug-counter", counter(projections=3, per_head=True), "W_o is a projection, too"),
    ("debug-counter", counter(mixtures=1), "also to scores and mixture"),
    ("debug-counter", lambda n, d, h: counter()(n, d, h) + 2 * n * n * d * (h - 1), "still has width d"),
    ("debug-counter", lambda n, d, num_heads: 7, "the product of an a×b and a b×c matrix"),
    ("debug-counter", lambda n, d, num_heads: None, "a tensor of one entry"),
    ("measure-additive", additive(8, 4), "no projection of the values, and no W_o"),
    ("measure-additive", additive(6, 4), "does not project the values"),
    ("measure-additive", additive(4, 2), "where does w_v come in?"),
    ("measure-additive", additive(2, 4), "the keys have a projection each"),
    ("measure-additive", additive(0, 4, 4), "on n tokens, not on n² pairs"),
    ("measure-additive", additive(0, 4), "what is left when you take it away?"),
    ("measure-additive", additive(4, 0), "the projections only"),
    ("measure-additive", additive(2, 2), "a multiply-add is 2 FLOPs"),
    ("measure-additive", additive(4, 8), "halve it"),
    ("measure-additive", lambda n, d: additive(4, 2)(n, d) + 2 * n * n, "for each pair of tokens, not one"),
    ("measure-additive", additive(1, 1), "take the second difference"),
    ("find-crossover", crossover(equal=True), "do you wait for an equality?"),
    ("find-crossover", crossover(strict=True), "an equality counts"),
    ("find-crossover", crossover(swapped=True), "is it the other way round?"),
    ("find-crossover", instead_of_none, "return None then"),
    ("find-crossover", lambda f, g, d: 1.5 * d + 0.25, "n is a whole number"),
    ("find-crossover", lambda f, g, d: math.nan, "n is a whole number"),
    ("find-crossover", crossover(first=2), "begin at n = 1"),
    ("find-crossover", crossover(last=20), "go on up to n = 40"),
    ("find-crossover", crossover(last=39), "go on up to n = 40"),
    ("find-crossover", crossover(last=60), "return None then"),
    ("find-crossover", lambda f, g, d: crossover()(f, g, d) == 1 or crossover()(f, g, d), "return n itself"),
    ("find-crossover", crossover(first=20), "count both"),
]
