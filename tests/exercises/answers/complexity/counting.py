"""Answers to the exercises: what is in the formulas of layers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import d2lmini as d2l


def counter(
    *, queries: int = 2, keys: int = 2, unit: int = 2, units: tuple[float, float] = (2, 2), widths: str = "ww"
) -> Callable[[int, int, int, int], float]:
    """The counter of the debugging exercise, right unless told otherwise: projections, units, and widths of heads."""

    def count(n: int, m: int, d: int, num_heads: int) -> float:
        width = {"w": d // num_heads * num_heads, "d": d * num_heads, "1": d // num_heads}
        mixing = sum(each * n * m * width[kind] for each, kind in zip(units, widths, strict=True))
        return unit * d * d * (queries * n + keys * m) + mixing

    return count


def starter(*fixed: str) -> Callable[[int, int, int, int], float]:
    """The starter, with some of its four faults fixed."""
    unit = 2 if "unit" in fixed else 1
    widths = "".join("w" if fault in fixed else "d" for fault in ("scores", "mixture"))
    return counter(queries=2 if "W_o" in fixed else 1, units=(unit, unit), widths=widths)


def forgetful(scores: str, mixture: str, queries: int = 2) -> Callable[[int, int, int, int], float]:
    """Scores or mixture without the width of a head: each score costs 1, 2, or what it should ("w")."""

    def count(n: int, m: int, d: int, num_heads: int) -> float:
        each = {"w": 2 * d // num_heads, "1": 1, "2": 2, "h": d // num_heads}
        return 2 * d * d * (queries * n + 2 * m) + num_heads * n * m * (each[scores] + each[mixture])

    return count


FORGETFUL = [("2", "2"), ("1", "1"), ("2", "w"), ("1", "w"), ("1", "h"), ("2", "h")]


def per_head(projections: Callable[[int], tuple[float, float]]) -> Callable[[int, int, int, int], float]:
    """So many projections of queries and of keys, as if a head had its own."""

    def count(n: int, m: int, d: int, num_heads: int) -> float:
        queries, keys = projections(num_heads)
        return 2 * d * d * (queries * n + keys * m) + 4 * n * m * d

    return count


STARTER_HINTS = {"W_o": "W_o is a projection, too", "scores": "how wide is a head?", "unit": "or the unit 2?"}


def hint_of_starter(fixed: tuple[str, ...]) -> str:
    left = [fault for fault in ("W_o", "scores", "mixture", "unit") if fault not in fixed]
    return STARTER_HINTS["scores" if left[0] == "mixture" else left[0]]


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
        starter("W_o", "scores", "mixture", "unit"),
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
    *(
        ("debug-counter", starter(*fixed), hint_of_starter(fixed))
        for count in range(4)
        for fixed in itertools.combinations(("W_o", "scores", "mixture", "unit"), count)
    ),
    ("debug-counter", counter(queries=1), "after the concatenation?"),
    ("debug-counter", counter(queries=1, units=(2, 1)), "W_o is a projection, too (this is not the only fault)"),
    ("debug-counter", counter(keys=1), "one of the four is missing, and it is not W_o"),
    ("debug-counter", counter(queries=4, keys=0), "from the other m tokens"),
    ("debug-counter", counter(queries=0, keys=4), "the queries are made from n tokens"),
    ("debug-counter", counter(queries=1, keys=3), "how many outputs are there?"),
    ("debug-counter", counter(queries=3, keys=1), "which are which?"),
    ("debug-counter", counter(queries=3, keys=0), "which tokens meet W_k and W_v?"),
    ("debug-counter", counter(queries=0, keys=3), "which tokens meet W_q?"),
    ("debug-counter", counter(units=(1, 1)), "is one of them missing, or the unit 2?"),
    ("debug-counter", counter(units=(2, 0)), "is one of them missing, or the unit 2?"),
    ("debug-counter", counter(units=(2, 1)), "one of scores and mixture has not got the unit 2"),
    ("debug-counter", counter(units=(1, 0)), "the unit 2 belongs to both"),
    ("debug-counter", counter(units=(0, 0)), "where are the scores, and where is the mixture?"),
    ("debug-counter", counter(unit=1, units=(1, 1)), "a multiplication and an addition"),
    ("debug-counter", counter(unit=1), "a multiplication and an addition"),
    ("debug-counter", counter(widths="dd"), "All heads together compare d features"),
    ("debug-counter", counter(widths="dd", units=(1, 1)), "All heads together compare d features"),
    ("debug-counter", counter(widths="wd"), "One of scores and mixture has heads of width d"),
    ("debug-counter", counter(widths="dw", units=(2, 1)), "One of scores and mixture has heads of width d"),
    ("debug-counter", counter(widths="11"), "there are num_heads of them"),
    ("debug-counter", counter(widths="1w"), "one of scores and mixture counts a single head"),
    ("debug-counter", lambda n, m, d, h: 4 * (n + m) * d * d + 4 * m * m * d, "how many scores are these?"),
    ("debug-counter", lambda n, m, d, h: 4 * (n + m) * d * d + 4 * n * n * d, "how many scores are these?"),
    ("debug-counter", lambda n, m, d, h: 4 * (n + m) * d * d + 2 * n * n * d + 2 * n * m * d, "is of another size"),
    ("debug-counter", lambda n, m, d, h: counter()(n, n, d, h), "from the other m tokens (this is not the only"),
    ("debug-counter", lambda n, m, d, h: counter()(n, m, d, h) if h > 4 else 0, "the product of an a×b"),
    *(("debug-counter", forgetful(*kinds), "each score is a sum over the width of a head") for kinds in FORGETFUL),
    ("debug-counter", forgetful("2", "w", queries=1), "W_o is a projection, too (this is not the only fault)"),
    ("debug-counter", counter(units=(4, 4)), "the unit 2 is in more than once"),
    ("debug-counter", counter(units=(4, 2)), "the unit 2 is in more than once"),
    ("debug-counter", counter(unit=4), "the unit 2 is in the projections more than once"),
    ("debug-counter", lambda *sizes: 2 * counter()(*sizes), "is it in the parts and in the sum?"),
    ("debug-counter", per_head(lambda h: (1 + 1 / h, 2)), "W_o works on all heads together"),
    ("debug-counter", per_head(lambda h: (2, 1 / h)), "counts a single head"),
    ("debug-counter", per_head(lambda h: (2, 2 / h)), "counts a single head"),
    ("debug-counter", per_head(lambda h: (2, 1 + 1 / h)), "counts a single head"),
    ("debug-counter", per_head(lambda h: (1 + 1 / h, 2 / h)), "counts a single head"),
    ("debug-counter", per_head(lambda h: (2 / h, 2 / h)), "counts a single head"),
    ("debug-counter", per_head(lambda h: (2 * h, 2 * h)), "not d features each"),
    ("debug-counter", per_head(lambda h: (1 + h, 2 * h)), "not d features each"),
    ("debug-counter", per_head(lambda h: (1 + h, 2)), "not once for each head"),
    *(
        ("debug-counter", lambda n, m, d, h, k=k: counter()(n, m, d, h) + k * n * m, "a term too many")
        for k in (1, 2, 3, 4, 5)
    ),
    *(
        ("debug-counter", lambda n, m, d, h, k=k: counter()(n, m, d, h) + k * h * n * m, "and the softmax is none")
        for k in (1, 2, 3, 4, 5)
    ),
    ("debug-counter", lambda n, m, d, num_heads: 7, "the product of an a×b and a b×c matrix"),
    ("debug-counter", lambda n, m, d, num_heads: None, "a tensor of one entry"),
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
