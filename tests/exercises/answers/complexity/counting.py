"""Answers to the exercises: what is in the formulas of layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import d2lmini as d2l


def counter(
    *, queries: int = 2, units: tuple[int, int] = (2, 2), widths: str = "ww"
) -> Callable[[int, int, int, int], float]:
    """The counter of the debugging exercise, right unless told otherwise: projections, units, and widths of heads."""

    def count(n: int, m: int, d: int, num_heads: int) -> float:
        width = {"w": d // num_heads * num_heads, "d": d * num_heads}
        mixing = sum(each * n * m * width[kind] for each, kind in zip(units, widths, strict=True))
        return 2 * d * d * (queries * n + 2 * m) + mixing

    return count


def additive(
    a: float = 4, b: float = 2, c: float = 2, more: Callable[[int, int, int], float] = lambda n, d, h: 0
) -> Callable[[int, int, int], float]:
    """a ndh + b n²h + c n²d, and something more."""
    return lambda n, d, h: a * n * d * h + b * n * n * h + c * n * n * d + more(n, d, h)


def measured(n: int, d: int, h: int) -> int:
    layer = d2l.AdditiveAttention(d, d, h, dropout=0)
    return d2l.count_flops(lambda X: layer(X, X, X), torch.randn(1, n, d))


RIGHT: dict[str, list[Any]] = {
    "debug-counter": [
        counter(),
        lambda n, m, d, num_heads: 4 * d * (n + m) * d + 4 * m * n * d,
        lambda n, m, d, num_heads: np.float64(counter()(n, m, d, num_heads)),
        lambda n, m, d, num_heads: torch.tensor([2.0 * d * (d * (2 * n + 2 * m) + 2 * n * m)]),
    ],
    "measure-additive": [
        additive(),
        lambda n, d, h: sum((2 * n * d * h, 2 * n * d * h, 2 * n**2 * h, 2 * n**2 * d)),
        lambda n, d, num_hiddens: torch.tensor(additive()(n, d, num_hiddens)),
        lambda n, d, h: 2 * n * (2 * d * h + n * (d + h)) + 1e-9,
        lambda *sizes: np.float64(additive()(*sizes)),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-counter", counter(queries=1, units=(1, 1), widths="dd"), "W_o is a projection, too"),  # the starter
    ("debug-counter", counter(queries=1, units=(2, 1), widths="dw"), "W_o is a projection, too"),
    ("debug-counter", lambda n, m, d, h: counter()(n, m, d, h) if h > 4 else 0, "the product of an a×b"),
    ("debug-counter", lambda n, m, d, num_heads: None, "return a number"),
    ("measure-additive", lambda n, d, h: 8 * n * d * d + 4 * n * n * d, "no projection of the values, and no W_o"),
    ("measure-additive", lambda n, d, h: 6 * n * d * d + 4 * n * n * d, "does not project the values"),
    ("measure-additive", additive(6), "does not project the values"),
    ("measure-additive", additive(more=lambda n, d, h: 2 * n * d * d), "does not project the values"),
    ("measure-additive", additive(4, 0, 2), "where does w_v come in?"),
    ("measure-additive", additive(4, 2, 0), "where is the mixture?"),
    ("measure-additive", additive(2), "queries and keys have one each, and a multiply-add is 2"),
    ("measure-additive", lambda n, d, h: additive(4 * n)(n, d, h), "on n tokens, not on n² pairs"),
    ("measure-additive", additive(0), "what is left when you take it away?"),
    ("measure-additive", additive(4, 0, 0), "the projections only"),
    ("measure-additive", additive(2, 1, 1), "a multiply-add is 2 FLOPs"),
    ("measure-additive", additive(4, 4, 4), "halve it"),
    ("measure-additive", additive(4, 0, 2, lambda n, d, h: 2 * n * n), "for each pair of tokens, not one"),
    ("measure-additive", lambda n, d, h: 4 * n * d * (n + d), "num_hiddens need not be d"),
    ("measure-additive", lambda n, d, h: 4 * n * h * (n + h), "num_hiddens need not be d"),
    ("measure-additive", additive(4, 4, 0), "the values are d wide"),
    ("measure-additive", additive(4, 0, 4), "w_v meets num_hiddens numbers, not d"),
    ("measure-additive", additive(0, 2, 2, lambda n, d, h: 4 * n * d * d), "lead from d to num_hiddens"),
    ("measure-additive", additive(4, 0, 0, lambda n, d, h: 2 * n * (d + h)), "the scores are n², not n"),
    ("measure-additive", additive(8), "the part that grows with n² is right"),
    ("measure-additive", additive(more=lambda n, d, h: 2 * n * h), "the part that grows with n² is right"),
    ("measure-additive", additive(4, 3, 1), "the part that grows with n is right"),
    ("measure-additive", additive(1, 1, 0), "take the second difference"),
    ("measure-additive", lambda n, d, h: additive()(9, 14, 20), "take the second difference"),
    ("measure-additive", measured, "where does your function need whole ones?"),
    ("measure-additive", lambda n, d, h: measured(max(1, int(n)), max(1, int(d)), int(h)), "need whole ones?"),
    ("measure-additive", lambda n, d, h: int(additive()(n, d, h)), "where do you round?"),
    ("measure-additive", lambda *sizes: np.int64(additive()(*sizes)), "where do you round?"),
    ("measure-additive", lambda n, d, h: additive()(n, d, h) // 1, "where do you round?"),
    ("measure-additive", lambda n, d, h: round(additive()(n, d, h)), "where do you round?"),
    ("measure-additive", lambda n, d, h: math.ceil(additive()(n, d, h)), "where do you round?"),
    ("measure-additive", lambda n, d, h: (additive()(n, d, h), "FLOPs"), "return a float, or a tensor of one entry\n"),
    ("measure-additive", lambda n, d, h: torch.ones(2, 2).max(dim=1), "give a pair of tensors"),
    ("measure-additive", lambda n, d, h: f"{additive()(n, d, h)}", "return a float, or a tensor of one entry\n"),
]
