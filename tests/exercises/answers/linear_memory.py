"""Answers to the exercises of "Attention in linear memory"."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def pool(scores: Any, values: Any) -> Any:
    """Pair by pair."""
    top, total, mixed = -math.inf, 0.0, torch.zeros_like(values[0])
    for s, v in zip(scores.tolist(), values, strict=True):
        if s > -math.inf:
            new = max(top, s)
            total = math.exp(top - new) * total + math.exp(s - new)
            mixed = math.exp(top - new) * mixed + math.exp(s - new) * v
            top = new
    return mixed / total


def pool_running_mean(scores: Any, values: Any) -> Any:
    """The mixture kept as a mean all the time, and the sum as a logarithm."""
    L, mean = scores[0], values[0]
    for s, v in zip(scores[1:], values[1:], strict=True):
        new = torch.logaddexp(L, s)
        if new > -math.inf:
            mean = (L - new).exp() * mean + (s - new).exp() * v
        L = new
    return mean


def pool_hidden_pairs_too(scores: Any, values: Any) -> Any:
    top, total, mixed = -math.inf, 0.0, torch.zeros_like(values[0])
    for s, v in zip(scores.tolist(), values, strict=True):
        new = max(top, s)
        total = math.exp(top - new) * total + math.exp(s - new)
        mixed = math.exp(top - new) * mixed + math.exp(s - new) * v
        top = new
    return mixed / total


def merge(O1: Any, L1: Any, O2: Any, L2: Any) -> Any:
    L = torch.logaddexp(L1, L2)
    return (L1 - L).exp()[:, None] * O1 + (L2 - L).exp()[:, None] * O2, L


def merge_in_numpy(O1: Any, L1: Any, O2: Any, L2: Any) -> Any:
    L1, L2, O1, O2 = (X.numpy() for X in (L1, L2, O1, O2))
    top = np.maximum(L1, L2)
    a, b = np.exp(L1 - top), np.exp(L2 - top)
    return (a[:, None] * O1 + b[:, None] * O2) / (a + b)[:, None], top + np.log(a + b)


def merge_below(top: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Merged by exponentials of what is above `top`."""

    def merge(O1: Any, L1: Any, O2: Any, L2: Any) -> Any:
        above = top(L1, L2)
        a, b = (L1 - above).exp(), (L2 - above).exp()
        return (a[:, None] * O1 + b[:, None] * O2) / (a + b)[:, None], above + (a + b).log()

    return merge


def merge_by_sums(O1: Any, L1: Any, O2: Any, L2: Any) -> Any:
    """Right, until the exponentials overflow."""
    a, b = L1.exp(), L2.exp()
    return (a[:, None] * O1 + b[:, None] * O2) / (a + b)[:, None], (a + b).log()


def attend(Q: Any, K: Any, V: Any, rows: int, columns: int) -> Any:
    outputs = []
    for i in range(0, len(Q), rows):
        m, total, o = torch.tensor(-math.inf), 0, 0
        for j in range(0, i + rows, columns):
            S = Q[i : i + rows] @ K[j : j + columns].T
            S = S.masked_fill(torch.ones_like(S).triu(i - j + 1) > 0, -math.inf)
            top = torch.maximum(m, S.amax(dim=1, keepdim=True))
            P, old = (S - top).exp(), (m - top).exp()
            total, o, m = old * total + P.sum(dim=1, keepdim=True), old * o + P @ V[j : j + columns], top
        outputs.append(o / total)
    return torch.cat(outputs)


def attend_to_all(Q: Any, K: Any, V: Any, rows: int, columns: int) -> Any:
    S = Q @ K.T
    return S.masked_fill(torch.ones_like(S).triu(1) > 0, -math.inf).softmax(1) @ V


def attend_without_running(top: Callable[[Any], Any]) -> Callable[..., Any]:
    """Tiles that take something else away than each row's own maximum so far."""

    def attend(Q: Any, K: Any, V: Any, rows: int, columns: int) -> Any:
        outputs = []
        for i in range(0, len(Q), rows):
            total, mixed = torch.zeros(rows, 1), torch.zeros(rows, V.shape[1])
            for j in range(0, i + rows, columns):
                S = Q[i : i + rows] @ K[j : j + columns].T
                hidden = torch.arange(j, j + S.shape[1]) > torch.arange(i, i + rows)[:, None]
                terms = (S - top(Q[i : i + rows] @ K.T)).exp().masked_fill(hidden, 0)
                total, mixed = total + terms.sum(1, keepdim=True), mixed + terms @ V[j : j + columns]
            outputs.append(mixed / total)
        return torch.cat(outputs)

    return attend


RIGHT: dict[str, list[Any]] = {
    "one-pass": [pool, pool_running_mean],
    "two-halves": [merge, merge_in_numpy],
    "debug-tiles": [attend, attend_to_all],
    "predict-bytes": [(4.03125, 16, 8.03125), (4.03, 16, 8.03)],
}
WRONG: list[tuple[str, Any, str]] = [
    ("one-pass", pool_hidden_pairs_too, "what weight has such a pair"),
    ("one-pass", lambda s, v: (s.exp() @ v) / s.exp().sum(), "infinite"),
    ("two-halves", merge_by_sums, "subtract before"),
    ("two-halves", merge_below(lambda L1, L2: L1), "differs from query to query"),
    ("two-halves", merge_below(lambda L1, L2: torch.maximum(L1, L2).max()), "differs from query to query"),
    ("two-halves", lambda O1, L1, O2, L2: merge(O1, L1, O2, L2)[0], "in a tuple"),
    ("debug-tiles", attend_without_running(lambda S: 0), "that row's own maximum"),
    ("debug-tiles", attend_without_running(lambda S: S.max()), "that row's own maximum"),
    ("predict-bytes", (7, 16, 8.03125), "how many tiles of queries"),
]
