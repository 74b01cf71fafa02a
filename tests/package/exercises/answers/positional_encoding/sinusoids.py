"""Answers to the exercises: waves of many lengths: their tables, their steps, and what they are good for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


def rows(
    *,
    first: int = 0,
    exponent: float = 1.0,
    swapped: bool = False,
    side_by_side: bool = False,
    dtype: torch.dtype = torch.float64,
    width: int = 0,
    use_start: bool = True,
    last: str = "sine",
) -> Callable[[int, int, int], Tensor]:
    """The table of sinusoids, right unless told otherwise."""

    def answer(start: int, num_steps: int, d: int) -> Tensor:
        begin = first + (start if use_start else 0)
        i = torch.arange(begin, begin + num_steps, dtype=dtype)[:, None]
        angles = i * 10000 ** (-torch.arange(0, d, 2, dtype=dtype) * exponent / (d + width * (d % 2)))
        pair = [angles.sin(), angles.cos()]
        if side_by_side:
            return torch.cat(pair, 1)[:, :d]
        P = torch.stack(pair[::-1] if swapped else pair, -1).flatten(1)[:, :d]
        if d % 2 and last == "cosine":
            P[:, -1] = angles[:, -1].cos()
        if d % 2 and last == "zero":
            P[:, -1] = 0
        return P

    return answer


def for_even_only(start: int, num_steps: int, d: int) -> Tensor:
    P = torch.zeros(num_steps, d)
    angles = torch.arange(start, start + num_steps)[:, None] * 10000 ** (-torch.arange(0, d, 2) / d)
    P[:, 0::2], P[:, 1::2] = angles.sin(), angles.cos()
    return P


def fails_on_even(start: int, num_steps: int, d: int) -> Tensor:
    return torch.zeros(2, 3) @ torch.zeros(2, 3)


def ends_too_early(start: int, num_steps: int, d: int) -> Tensor:
    torch.arange(start, num_steps)
    return rows()(start, num_steps, d)


def from_a_table(start: int, num_steps: int, d: int) -> Tensor:
    return d2l.PositionalEncoding(d, 0)(torch.zeros(1, num_steps, d), offset=start)[0]


def matrix(*, sign: float = 1.0, exponent: float = 1.0, both: bool = False) -> Callable[[int, int], Tensor]:
    """The matrix of a step, right unless told otherwise."""

    def answer(delta: int, d: int) -> Tensor:
        M = torch.zeros(d, d, dtype=torch.float64)
        for j in range(0, d, 2):
            angle = delta * 10000 ** (-j * exponent / d)
            M[j, j] = M[j + 1, j + 1] = math.cos(angle)
            M[j, j + 1], M[j + 1, j] = sign * math.sin(angle), (1 if both else -sign) * math.sin(angle)
        return M

    return answer


def in_blocks(delta: int, d: int) -> Tensor:
    angles = delta * 10000 ** (-torch.arange(0, d, 2).double() / d)
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])


def one_speed(delta: int, d: int) -> Tensor:
    c, s = math.cos(delta), math.sin(delta)
    return torch.block_diag(*[torch.tensor([[c, s], [-s, c]]).double()] * (d // 2))


def least_squares(delta: int, d: int) -> Tensor:
    table = rows()
    P, moved = table(0, d, d), table(delta, d, d)
    return torch.linalg.lstsq(P, moved).solution.T


def decode(
    *,
    offset: Callable[[int], int] = lambda i: i,
    keys: str = "placed",
    query: str = "placed",
    width: int | None = None,
) -> Callable[[Any, Any, Tensor], Tensor]:
    """One token after the other; right unless told otherwise."""

    def answer(layer: Any, encoding: Any, X: Tensor) -> Tensor:
        seen, outputs = [], []
        for i in range(X.shape[1]):
            token = X[:, i : i + 1]
            placed = encoding(token, offset=offset(i))
            seen.append({"placed": encoding(token, offset=i), "as query": placed}.get(keys, token))
            past = torch.cat(seen, dim=1)
            if keys == "twice":
                past = encoding(encoding(past))
            if keys == "at the newest":
                past = encoding(past, offset=i)
            outputs.append(layer(placed if query == "placed" else token, past, past)[..., :width])
        return torch.cat(outputs, dim=1)

    return answer


def decode_in_place(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    outputs = []
    for i in range(X.shape[1]):
        X[:, i : i + 1] = encoding(X[:, i : i + 1], offset=i)
        outputs.append(layer(X[:, i : i + 1], X[:, : i + 1], X[:, : i + 1]))
    return torch.cat(outputs, dim=1)


def keys_from_the_whole(layer: Any, encoding: Any, X: Tensor) -> Tensor:
    """Right: the kept tokens get their positions anew at each step."""
    pasts = [encoding(X[:, : i + 1]) for i in range(X.shape[1])]
    return torch.cat([layer(past[:, -1:], past, past) for past in pasts], dim=1)


def rise(*, skip: int = 1, shift: int = 0, otherwise: Any = None, equal: bool = False) -> Callable[[Tensor], Any]:
    def answer(P: Tensor) -> Any:
        products = (P @ P[0]).tolist()
        for k in range(skip, len(products)):
            if products[k] > products[k - 1] or (equal and products[k] == products[k - 1]):
                return k + shift
        return otherwise

    return answer


RIGHT: dict[str, list[Any]] = {
    "predict-positions": [(100, 32, 2.832), torch.tensor([100.0, 32.0, 2.83])],
    "odd-width": [rows(), lambda *sizes: rows()(*sizes).float()],
    "step-matrix": [lambda delta, d: matrix()(delta, d).numpy(), matrix(), lambda delta, d: matrix()(delta, d).float()],
    "debug-decoding": [decode(), keys_from_the_whole],
    "measure-rise": [rise(), lambda P: None if rise()(P) is None else torch.tensor(rise()(P))],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-positions", (10000, 32, 2.83), "what is the largest 2j?"),
    ("predict-positions", (628.3185, 32, 2.83), "divide by 2π"),
    ("predict-positions", (10, 32, 2.83), "2j/d, not j/d"),
    ("predict-positions", (1, 32, 2.83), "the shortest wave"),
    ("predict-positions", (0.01, 32, 2.83), "that is the frequency"),
    ("predict-positions", (7, 32, 2.83), "what is the largest 2j?"),
    ("predict-positions", (100, 64, 2.83), "how many pairs"),
    ("predict-positions", (100, 1, 2.83), "more than one pair"),
    ("predict-positions", (100, math.sqrt(32), 2.83), "the squared length"),
    ("predict-positions", (100, 8, 2.83), "d/2, not √d"),
    ("predict-positions", (100, 5, 2.83), "put δ = 0"),
    ("predict-positions", (628, 32, 2.83), "divide by 2π"),
    ("predict-positions", (1000, 32, 2.83), "2j is even"),
    ("predict-positions", (0, 32, 2.83), "what is the largest 2j?"),
    ("predict-positions", (100, 32, 1.683), "the squared distance"),
    ("predict-positions", (100, 32, 1 - math.cos(2)), "each of the three parts"),
    ("predict-positions", (100, 32, 2 - math.cos(2)), "where is the 2?"),
    ("predict-positions", (100, 32, 2 - 2 * math.cos(1)), "two steps"),
    ("predict-positions", (100, 32, math.cos(2)), "the dot product"),
    ("predict-positions", (100, 32, 4), "a circle of radius 1"),
    ("predict-positions", (100, 32, 2), "is not 0"),
    ("predict-positions", (100, 32, 0.05), "there is one pair"),
    ("predict-positions", (100, 32), "look at the starter's form"),
    ("odd-width", rows(swapped=True), "sine and cosine are exchanged"),
    ("odd-width", rows(side_by_side=True), "pairs stand side by side"),
    ("odd-width", rows(exponent=0.5), "what is 2j for the second pair?"),
    ("odd-width", rows(use_start=False), "row 0 of the result is position start"),
    ("odd-width", rows(first=1), "positions count from 0"),
    ("odd-width", rows(width=1), "d itself, not d + 1"),
    ("odd-width", rows(last="cosine"), "is a sine: 0 at position 0"),
    ("odd-width", rows(last="zero"), "is a sine, too"),
    ("odd-width", rows(dtype=torch.float32), "double precision"),
    ("odd-width", for_even_only, "how many cosines?"),
    ("odd-width", fails_on_even, "run it yourself"),
    ("odd-width", ends_too_early, "where does it end?"),
    ("odd-width", from_a_table, "a table of fixed length ends"),
    ("odd-width", rows(exponent=2), "compare your first row"),
    ("odd-width", lambda start, num_steps, d: rows()(start, num_steps, d)[0], "the shape of each step"),
    ("step-matrix", matrix(sign=-1), "Where does the minus stand?"),
    ("step-matrix", in_blocks, "side by side"),
    ("step-matrix", matrix(both=True), "one minus"),
    ("step-matrix", matrix(exponent=0.5), "2j in its exponent"),
    ("step-matrix", one_speed, "an angle of its own"),
    ("step-matrix", lambda delta, d: torch.eye(d), "does not move anything"),
    ("step-matrix", lambda delta, d: torch.ones(d, d), "write (5.4) for one pair"),
    ("step-matrix", lambda delta, d: f"{d} columns", "return a torch tensor"),
    ("step-matrix", lambda delta, d: torch.eye(2), "for each of d/2 pairs"),
    ("step-matrix", lambda delta, d: matrix()(abs(delta), d), "has its sign been lost?"),
    ("step-matrix", lambda delta, d: matrix()(1, d), "does your matrix change with delta?"),
    ("step-matrix", least_squares, "is it a fit?"),
    ("debug-decoding", decode(offset=lambda i: 0, keys="plain"), "two things: where does the newest"),
    ("debug-decoding", decode(keys="plain"), "the tokens that are kept have no position"),
    ("debug-decoding", decode(offset=lambda i: 0), "every query stands at position 0"),
    ("debug-decoding", decode(offset=lambda i: 0, keys="as query"), "every token stands at position 0"),
    ("debug-decoding", decode(query="plain"), "the newest token has no position"),
    ("debug-decoding", decode(query="plain", keys="plain"), "a bag of words again"),
    ("debug-decoding", decode(offset=lambda i: i + 1, keys="as query"), "count from 0"),
    ("debug-decoding", decode(keys="twice"), "their positions twice"),
    ("debug-decoding", decode(keys="at the newest"), "stands at position 0, not at the newest"),
    ("debug-decoding", decode(width=2), "one output for each token"),
    ("debug-decoding", lambda layer, encoding, X: 2 * decode()(layer, encoding, X), "compare the first output"),
    ("debug-decoding", decode_in_place, "changes the caller's tensor"),
    ("measure-rise", rise(shift=-1), "not the one before"),
    ("measure-rise", rise(shift=1), "row 1 of P is at distance 1"),
    ("measure-rise", rise(otherwise=0), "return None then"),
    ("measure-rise", rise(equal=True), "equal is not larger"),
    ("measure-rise", rise(skip=2), "from distance 1 on"),
    ("measure-rise", lambda P: None, "it does rise"),
    ("measure-rise", lambda P: 40, "print the products"),
    ("measure-rise", lambda P: rise()(P) or next(iter(())), "return None then"),
    ("measure-rise", lambda P: rise()(P @ P.T @ P), "print the products"),
    ("measure-rise", lambda P: rise()(F.normalize(P)), "signs and lengths included"),
    ("measure-rise", lambda P: next(iter(())), "run it yourself"),
    ("measure-rise", lambda P: "5th", "return a float"),
]
