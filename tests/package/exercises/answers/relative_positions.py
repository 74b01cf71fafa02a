"""Right and wrong answers to the exercises of the chapter on relative positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l


def slopes(
    *, beyond: str = "odd", sign: float = 1.0, first: int = 1, above: bool = False, in_order: bool = False
) -> Callable[[int], Tensor]:
    """The slopes of ALiBi, right unless told otherwise."""

    def answer(num_heads: int) -> Tensor:
        power = 2 ** math.floor(math.log2(num_heads))
        power = 2 ** math.ceil(math.log2(num_heads)) if above else power
        known = [2 ** (-8 * h / power) for h in range(first, power + first)]
        twice = [2 ** (-4 * h / power) for h in range(1, 2 * power + 1)]
        more = {"odd": twice[::2], "first": twice, "even": twice[1::2]}[beyond]
        found = torch.tensor((known + more)[:num_heads])
        return sign * (found.sort(descending=True).values if in_order else found)

    return answer


def formula(num_heads: int) -> Tensor:
    return torch.tensor([2 ** (-8 * h / num_heads) for h in range(1, num_heads + 1)])


def rotary(*faults: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attention with rotary embedding, with none, some or all of the faults of the exercise."""

    def answer(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        n, p = Q.shape
        omega = 10000 ** (-torch.arange(0, p, 2) / (2 * p if "slow" in faults else p))
        angles = torch.arange(n)[:, None] * omega

        def turn(X: Tensor, sign: int = 1) -> Tensor:
            pairs = torch.view_as_complex(X.unflatten(-1, (-1, 2)).contiguous())
            return torch.view_as_real(pairs * torch.exp(1j * sign * angles)).flatten(1)

        sign = -1 if "backwards" in faults else 1
        scores = turn(Q, sign) @ turn(K, -1 if "keys" in faults else sign).T / math.sqrt(p)
        return scores.softmax(1) @ (turn(V) if "values" in faults else V)

    return answer


def rotary_in_place(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    result = rotary()(Q, K, V)
    Q += 1
    return result


def keys_needed(
    *, more: int = 0, base: float = math.e, rest: bool = False, rounded: bool = True
) -> Callable[[float, float], float]:
    def answer(slope: float, share: float) -> float:
        exact = math.log(share if rest else 1 - share, base) / -slope
        return (math.ceil(exact) if rounded else exact) + more

    return answer


def until_a_key_falls(slope: float, share: float) -> int:
    return int((torch.exp(-slope * torch.arange(1, 4096)) >= share).sum())


def base(
    *, turn: float = math.pi, steps: int = -1, exponent: Callable[[int], float] = lambda p: p / (p - 2)
) -> Callable[[int, int], float]:
    return lambda length, p: ((length + steps) / turn) ** exponent(p)


def picture(first: str = "row", second: str = "column", *, share: bool = True) -> Callable[[Tensor], Tensor]:
    """Rotary embedding of a picture, right unless told otherwise."""

    def turned(part: Tensor, along: str) -> Tensor:
        if along == "row":
            return d2l.apply_rotary(part.transpose(0, 1)).transpose(0, 1)
        return d2l.apply_rotary(part) if along == "column" else part

    def answer(X: Tensor) -> Tensor:
        if share:
            halves = X.chunk(2, dim=-1)
            return torch.cat([turned(halves[0], first), turned(halves[1], second)], dim=-1)
        half = X.shape[-1] // 2
        return torch.cat([turned(X, first)[..., :half], turned(X, second)[..., half:]], dim=-1)

    return answer


def in_halves(X: Tensor) -> Tensor:
    first, second = X.chunk(2, dim=-1)
    first = d2l.apply_rotary(first.transpose(0, 1), pairing="halves").transpose(0, 1)
    return torch.cat([first, d2l.apply_rotary(second, pairing="halves")], dim=-1)


def picture_in_place(X: Tensor) -> Tensor:
    result = picture()(X)
    X.zero_()
    return result


RIGHT: dict[str, list[Any]] = {
    "predict-relative": [(264, math.exp(-1), 0.1334), [264, 0.37, 0.133]],
    "alibi-slopes": [
        lambda heads: slopes()(heads)[:, None],
        lambda heads: slopes()(heads).numpy(),
        slopes(),
        lambda heads: slopes()(heads).tolist(),
    ],
    "debug-rotary": [rotary()],
    "measure-window": [keys_needed()],
    "rotary-base": [base(), lambda length, p: torch.tensor(base()(length, p))],
    "rotary-picture": [picture()],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-relative", (33, 0.368, 0.133), "each head has its own"),
    ("predict-relative", (256, 0.368, 0.133), "an offset of 0"),
    ("predict-relative", (136, 0.368, 0.133), "offsets are negative, too"),
    ("predict-relative", (128, 0.368, 0.133), "and there is an offset of 0"),
    ("predict-relative", (7, 0.368, 0.133), "from -16 to 16"),
    ("predict-relative", (264, 0.125, 0.133), "that is the slope"),
    ("predict-relative", (264, 1, 0.133), "what does the softmax make of it?"),
    ("predict-relative", (264, -1, 0.133), "what does the softmax make of it?"),
    ("predict-relative", (264, 0.5, 0.133), "not of 2"),
    ("predict-relative", (264, math.exp(-1 / 8), 0.133), "And 8 places further?"),
    ("predict-relative", (264, math.exp(-2), 0.133), "the third head has 1/8"),
    ("predict-relative", (264, math.exp(-0.5), 0.133), "for h = 1"),
    ("predict-relative", (264, math.e, 0.133), "turn it over"),
    ("predict-relative", (264, 0.9, 0.133), "a factor e^(-m)"),
    ("predict-relative", (264, 0.368, 0.1), "It is p - 2, not p"),
    ("predict-relative", (264, 0.368, 11.55), "the exponent is 2j/p"),
    ("predict-relative", (264, 0.368, 1000), "the fastest pair"),
    ("predict-relative", (264, 0.368, 7.64), "not in degrees"),
    ("predict-relative", (264, 0.368, 3), "multiply its frequency by 1000"),
    ("predict-relative", 264, "look at the starter's form"),
    ("alibi-slopes", formula, "the formula of the paper"),
    ("alibi-slopes", slopes(beyond="first"), "not the first ones"),
    ("alibi-slopes", slopes(beyond="even"), "not the second and fourth"),
    ("alibi-slopes", slopes(sign=-1), "a slope is positive"),
    ("alibi-slopes", slopes(first=0), "h counts from 1"),
    ("alibi-slopes", slopes(above=True), "below, not above"),
    ("alibi-slopes", slopes(in_order=True), "does not sort them"),
    ("alibi-slopes", lambda heads: f"{heads} slopes", "a tensor or a list"),
    ("alibi-slopes", lambda heads: slopes()(heads)[:, None, None], "the shape of each step"),
    ("alibi-slopes", torch.ones, "how many heads are left?"),
    ("alibi-slopes", lambda heads: slopes()(heads)[: 2 ** (heads.bit_length() - 1)], "beyond the power of two"),
    ("debug-rotary", rotary("keys"), "what is left of i and j"),
    ("debug-rotary", rotary("values"), "does not stand anywhere\n"),
    ("debug-rotary", rotary("slow"), "the exponent of the second pair"),
    ("debug-rotary", rotary("keys", "values"), "what is left of i and j in the score? (one of 2"),
    ("debug-rotary", rotary("keys", "slow"), "with 2j = 2 (one of 2"),
    ("debug-rotary", rotary("values", "slow"), "does not stand anywhere (one of 2"),
    ("debug-rotary", rotary("keys", "values", "slow"), "what is left of i and j in the score? (one of 3"),
    ("debug-rotary", rotary("backwards"), "both turn in the other direction now"),
    ("debug-rotary", lambda Q, K, V: (Q @ K.T / 2).softmax(1) @ V, "a bag of words"),
    ("debug-rotary", lambda Q, K, V: V, "compare turn(Q)"),
    ("debug-rotary", rotary_in_place, "into new tensors"),
    ("measure-window", keys_needed(more=-1), "how many, not how far"),
    ("measure-window", keys_needed(more=1), "one key more"),
    ("measure-window", keys_needed(base=2), "not of 2"),
    ("measure-window", keys_needed(rest=True), "where is the share?"),
    ("measure-window", keys_needed(rounded=False), "a whole number"),
    ("measure-window", until_a_key_falls, "add them up"),
    ("measure-window", lambda slope, share: 4096, "add them up with cumsum"),
    ("rotary-base", base(exponent=lambda p: 1), "the exponent (p - 2)/p, not 1"),
    ("rotary-base", base(turn=2 * math.pi), "not 2π"),
    ("rotary-base", base(steps=0), "length - 1 steps"),
    ("rotary-base", base(exponent=lambda p: (p - 2) / p), "to the other side"),
    ("rotary-base", base(exponent=lambda p: -p / (p - 2)), "the inverse"),
    ("rotary-base", base(turn=1 / math.pi), "do not multiply"),
    ("rotary-base", base(steps=0, exponent=lambda p: 1), "and there are length - 1 steps"),
    ("rotary-base", lambda length, p: round(base()(length, p)), "do not round"),
    ("rotary-base", base(turn=180), "π radians"),
    ("rotary-base", base(exponent=lambda p: p / (p - 1)), "not p - 1"),
    ("rotary-base", lambda length, p: 10000, "solve for the base"),
    ("rotary-picture", lambda X: d2l.apply_rotary(X.flatten(0, 1)).reshape(X.shape), "one long sequence"),
    ("rotary-picture", picture("column", "row"), "the first half turns by the row"),
    ("rotary-picture", picture("row", "row", share=False), "none by the column"),
    ("rotary-picture", d2l.apply_rotary, "none by the row"),
    ("rotary-picture", picture("row", "none"), "the second half must turn"),
    ("rotary-picture", picture("none", "column"), "the first half must turn"),
    ("rotary-picture", picture("row", "row"), "both halves turn by the row"),
    ("rotary-picture", picture("column", "column"), "both halves turn by the column"),
    ("rotary-picture", picture(share=False), "those of width p/2"),
    ("rotary-picture", in_halves, "pairs are neighbours"),
    ("rotary-picture", lambda X: X, "turns along the dimension before the last"),
    ("rotary-picture", picture_in_place, "into a new tensor"),
]
