"""Stacks of layers: what they cost, and how far they reach."""

from __future__ import annotations

from itertools import islice
from operator import index
from typing import Any

import numpy as np

from d2lmini_exercises.core import WrongAnswer, checker, expect_function, expect_pair
from d2lmini_exercises.prediction import Number, prediction

# FLOPs for n = 10, d = 4 of a convolution with kernel 5, a GRU, and multi-head self-attention with 2 heads.
prediction(
    "predict-stack",
    Number(
        "the convolution's count",
        1600,
        hint="each of n outputs has d features, and each of them is made from all features of k tokens",
        mistakes={
            "a multiply-add is 2 FLOPs in this book": 800,
            "each output feature is made from all 4 input features": 400,
            "that is a linear layer: the kernel covers 5 tokens": 320,
            "that is the number of outputs: how many products does each of them need?": 40,
            "n stands in the formula once": 8000,
            "there are zeros around the sequence: 10 outputs, not 6": 960,
        },
    ),
    Number(
        "the GRU's count",
        1920,
        hint="each step multiplies token and state by three matrices each",
        mistakes={
            "a multiply-add is 2 FLOPs in this book. Or did you forget the matrices of the state?": 960,
            "a GRU has three pairs of matrices: two gates and a candidate": 640,
            "that is an LSTM: a GRU has one pair of matrices less": 2560,
            "that is one step: there are 10": 192,
        },
    ),
    Number(
        "multi-head self-attention's count",
        2880,
        hint="four projections, the scores and the mixture",
        mistakes={
            "a multiply-add is 2 FLOPs in this book": 1440,
            "that is the mixing alone: where are the projections?": 1600,
            "those are the projections alone: where is the mixing?": 1280,
            "and after the concatenation? There are four projections": 2560,
            "the number of heads does not multiply the mixing: width per head?": 4480,
            "width per head? Two heads are half as wide each": 5760,
            "scores only, or one head only? The weights also meet the values": 2080,
        },
    ),
    right="1600, 1920 and 2880: all three are right",
)


@checker("design-dilations")
def check_design_dilations(design: Any) -> str:
    """`design(n, num_layers)`: the smallest kernel and dilations with which the last output sees all n tokens."""
    expect_function(design)
    for n, num_layers in _DESIGNS:
        given = f"n, num_layers = {n}, {num_layers}"
        try:
            designed = design(n, num_layers)
        except StopIteration as error:
            hint = "next has found nothing more: how large may a kernel have to be? With one layer, as large as n"
            raise WrongAnswer("it finds a kernel", hint, given=given, got="StopIteration") from error
        kernel, dilations = _read_design(designed, num_layers, given)
        if not _reaches_all(n, kernel, dilations):
            hint = _find_gap(n, kernel, dilations)
            raise WrongAnswer("the last output depends on each token", hint, given=given, got=(kernel, dilations))
        smallest = next(k for k in range(1, n + 1) if k**num_layers >= n)
        if kernel > smallest:
            hint = "a path chooses one of k taps in each layer: how many different ways are there in L layers?"
            if n == 1:
                hint = "for one token a kernel of 1 is enough"
            elif smallest**num_layers == n and sorted(dilations) == [(smallest + 1) ** i for i in range(num_layers)]:
                hint = f"is a root rounded up here? {smallest} to the power of {num_layers} is exactly {n}"
            raise WrongAnswer("no smaller kernel would do", hint, given=given, got=(kernel, dilations))
    return f"{len(_DESIGNS)} designs reach every token with the smallest kernel"


# At a power, just above one (also where a root is within 1e-9 of a whole number), and with a large kernel.
_DESIGNS = (
    *((9, 2), (100, 4), (64, 6), (65, 6), (12, 1), (1, 2), (243, 5), (126, 3), (3125, 5)),
    *((1025, 10), (1001, 3), (2**27 + 1, 27), (20_000, 1)),
)


def _reaches_all(n: int, kernel: int, dilations: list[int]) -> bool:
    """Whether the last output depends on each of n tokens; bit i of `seen` is the token i places back."""
    seen, everything = 1, (1 << n) - 1
    for dilation in dilations:
        taps, needed = 1, min(kernel, (n - 1) // dilation + 1)  # what lies before the first token does not count
        while taps < needed and seen != everything:
            more = min(taps, needed - taps)
            seen |= seen << more * dilation & everything
            taps += more
    return seen == everything


def _find_gap(n: int, kernel: int, dilations: list[int]) -> str:
    if sum(dilations) * (kernel - 1) < n - 1:
        return "it does not reach the first token: how far back does each layer go?"
    if min(dilations) > 1:
        return "which layer lets an output see the token just before it?"
    if len({*dilations}) < len(dilations):
        return "two dilations are the same: their taps meet in the same places"
    return "there are gaps: the next dilation may be no larger than what the layers below reach together"


def _read_design(answer: Any, num_layers: int, given: str) -> tuple[int, list[int]]:
    claim = "it returns (kernel_size, dilations)"
    first, second = expect_pair(answer, claim=claim, hint="two things", given=given)
    try:
        kernel, dilations = index(first), [index(dilation) for dilation in islice(second, num_layers + 1)]
    except TypeError as error:
        hint = "a whole number, and a list with a whole dilation for each layer; a float, even 3.0, is not one"
        raise WrongAnswer(claim, hint, given=given, got=(_name_number(first), _name_number(second))) from error
    if len(dilations) != num_layers or min(dilations) < 1 or kernel < 1:
        hint = "one dilation of at least 1 for each layer"
        raise WrongAnswer("there is a dilation for each layer", hint, given=given, got=(kernel, dilations))
    return kernel, dilations


def _name_number(value: Any) -> Any:
    """A report writes 3.0 as 3: here the difference matters."""
    if isinstance(value, (list, tuple)):
        return [_name_number(entry) for entry in value[:20]]
    return f"{float(value)!r} (a float)" if isinstance(value, (float, np.floating)) else value
