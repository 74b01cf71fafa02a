"""Answers to the exercises: what is in the formulas of layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import d2lmini as d2l


def counter(n: int, m: int, d: int, num_heads: int) -> float:
    return 4 * d * d * (n + m) + 4 * m * n * d


def additive(a: float = 4, b: float = 2, c: float = 2) -> Callable[[int, int, int], float]:
    """a ndh + b n²h + c n²d."""
    return lambda n, d, h: a * n * d * h + b * n * n * h + c * n * n * d


def measured(n: int, d: int, h: int) -> int:
    layer = d2l.AdditiveAttention(d, d, h, dropout=0)
    return d2l.count_flops(lambda X: layer(X, X, X), torch.randn(1, n, d))


RIGHT: dict[str, list[Any]] = {
    "debug-counter": [counter, lambda n, m, d, num_heads: np.float64(counter(n, m, d, num_heads))],
    "measure-additive": [additive(), lambda n, d, h: sum((2 * n * d * h, 2 * n * d * h, 2 * n**2 * h, 2 * n**2 * d))],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-counter", lambda n, m, d, h: counter(n, m, d, h) if h > 4 else 0, "the product of an a×b"),
    ("debug-counter", lambda n, m, d, num_heads: None, "return a number"),
    ("measure-additive", lambda n, d, h: 8 * n * d * d + 4 * n * n * d, "no projection of the values, and no W_o"),
    ("measure-additive", additive(4, 0, 2), "where does w_v come in?"),
    ("measure-additive", additive(4, 2, 0), "where is the mixture?"),
    ("measure-additive", additive(4, 0, 0), "the projections only"),
    ("measure-additive", lambda n, d, h: 4 * n * d * (n + d), "num_hiddens need not be d"),
    ("measure-additive", additive(4, 0, 4), "w_v meets num_hiddens numbers, not d"),
    ("measure-additive", lambda n, d, h: additive()(9, 14, 20), "take the second difference"),
    ("measure-additive", measured, "where does your function need whole ones?"),
    ("measure-additive", lambda n, d, h: int(additive()(n, d, h)), "where do you round?"),
    ("measure-additive", lambda n, d, h: torch.ones(2, 2).max(dim=1), "give a pair of tensors"),
]
