"""Waves of many lengths: their tables, their steps, and what they are good for."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.masks import causal_mask
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_shape,
    expect_unchanged,
    name_shape,
    read_number,
)
from d2lmini.exercises.prediction import Number, prediction
from d2lmini.positions.added import PositionalEncoding, make_angles

# Longest wavelength over 2π for d = 4, squared length of p_7 for d = 64, squared length of two steps for d = 2.
prediction(
    "predict-positions",
    Number(
        "(a)",
        100,
        hint="the wavelength of pair j is 2π · 10000^(2j/d): what is the largest 2j?",
        mistakes={
            "divide by 2π": (628, 628.3, 628.31, 628.32, 628.4),
            "what is the largest 2j? There are two pairs, j = 0 and j = 1": 10000,
            "2j is even: j = 0 and j = 1": 1000,
            "the exponent is 2j/d, not j/d": 10,
            "that is the shortest wave: pair 0": 1,
            "that is the frequency, and the wavelength is 2π over it": 0.01,
        },
        tolerance=0.005,
    ),
    Number(
        "(b)",
        32,
        hint="put δ = 0 into (5.3)",
        mistakes={
            "sin² + cos² = 1 for each pair: how many pairs are there?": 64,
            "sin² + cos² = 1 for each pair, and there is more than one pair": 1,
            "the squared length was asked for": 5.66,
            "d/2, not √d": 8,
        },
    ),
    Number(
        "(c)",
        2 - 2 * math.cos(2),
        hint="|a - b|² = |a|² + |b|² - 2 aᵀb, and (5.3) knows all three: for d = 2 there is one pair",
        mistakes={
            "the squared distance was asked for": math.sqrt(2 - 2 * math.cos(2)),
            "|a - b|² = |a|² + |b|² - 2 aᵀb: each of the three parts counts": 1 - math.cos(2),
            "|a - b|² = |a|² + |b|² - 2 aᵀb: where is the 2?": 2 - math.cos(2),
            "from 100 to 102 there are two steps": 2 - 2 * math.cos(1),
            "that is the dot product": math.cos(2),
            "distances are not counted in steps: p_100 and p_102 are points on a circle of radius 1": 4,
            "the dot product of the two is not 0": 2,
        },
    ),
    right="100, 32 and 2.83: all three are right",
)


def _make_table(start: int, num_steps: int, d: int, *, width: int | None = None) -> Tensor:
    """Rows of the sinusoidal encoding, from position `start` on; `width` takes the place of d in the frequencies."""
    angles = make_angles(num_steps, width or d, offset=start)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d]


@checker("odd-width")
def check_odd_width(rows: Any) -> str:
    """`rows(start, num_steps, d)`: rows of the sinusoidal encoding for any d."""
    expect_function(rows)
    for start, num_steps, d in ((0, 3, 4), (0, 3, 5), (7, 2, 6), (2, 3, 3), (4, 2, 1), (300_001, 2, 6)):
        given = f"start = {start}, num_steps = {num_steps}, d = {d}"
        try:
            got = rows(start, num_steps, d)
        except (RuntimeError, IndexError, ValueError) as error:
            if d % 2 == 0 and start == 0:
                raise
            claim, hint = "it works for every start", "a table of fixed length ends: compute the rows from start on"
            if "bound" in str(error) or "size" in str(error):
                hint = "torch.arange ends before its second number: where does it end?"
            if d % 2:
                claim, hint = "it works for an odd d", f"for d = {d} there are {(d + 1) // 2} sines: how many cosines?"
            raise WrongAnswer(claim, hint, given=given, got=f"{type(error).__name__}") from error
        near = "compare your first row with 0, 1, 0, 1, ...; then one column after the other"
        far = "so far from the beginning the angles need double precision"
        expect_close(
            got,
            _make_table(start, num_steps, d),
            claim="row by row it is (5.2)",
            given=given,
            hint=near if start < 1000 else far,
            mistakes=_list_wrong_tables(start, num_steps, d),
        )
    return "right for even and odd widths, from position 0 on and from others"


def _list_wrong_tables(start: int, num_steps: int, d: int) -> dict[str, Tensor]:
    right = _make_table(start, num_steps, d)
    angles = make_angles(num_steps, d, offset=start)
    swapped = torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(1)[:, :d]
    apart = torch.cat([angles.sin(), angles.cos()], dim=1)[:, :d]
    no_last = right.clone()
    no_last[:, -1] = 0
    last_cosine = right.clone()
    last_cosine[:, -1] = angles[:, -1].cos()
    return {
        "sine and cosine are exchanged: what is column 0 at position 0?": swapped,
        "pairs stand side by side: columns 0 and 1 have one frequency": apart,
        "the exponent is 2j/d: what is 2j for the second pair?": _make_table(start, num_steps, d, width=2 * d),
        "row 0 of the result is position start": _make_table(0, num_steps, d),
        "positions count from 0": _make_table(start + 1, num_steps, d),
        "ω_j contains d itself, not d + 1": _make_table(start, num_steps, d, width=d + 1),
        "the last column of an odd d is a sine, too": no_last if d % 2 else right + 1,
        "the last column of an odd d is a sine: 0 at position 0": last_cosine if d % 2 else right + 1,
    }


@checker("step-matrix")
def check_step_matrix(make: Any) -> str:
    """`make(delta, d)`: the matrix M with M p_i = p_(i + delta)."""
    expect_function(make)
    for delta, d in ((1, 4), (1, 6), (-2, 4), (7, 10), (3, 32)):
        M = make(delta, d)
        if not isinstance(M, Tensor) or M.shape != (d, d):
            blocks = "one block of two rows and two columns for each of d/2 pairs"
            hint = blocks if isinstance(M, Tensor) else "return a torch tensor"
            given = f"delta = {delta}, d = {d}"
            raise WrongAnswer("M is a tensor of shape (d, d)", hint, given=given, got=name_shape(M))
        for i in (0, 3, 150, 450):
            near = "write (5.4) for one pair and compare its four numbers with yours"
            far = "right near the beginning only: is it a fit? (5.4) is exact for every i"
            expect_close(
                M.double() @ _make_table(i, 1, d)[0],
                _make_table(i + delta, 1, d)[0],
                claim="M p_i is p_(i + delta)",
                given=f"delta = {delta}, d = {d}, i = {i}",
                hint=near if i < 100 else far,
                mistakes=_list_wrong_steps(i, delta, d),
                tolerance=1e-3,
            )
    return "right for steps forward and back, at several widths"


def _list_wrong_steps(i: int, delta: int, d: int) -> dict[str, Tensor]:
    p = _make_table(i, 1, d)[0]

    def turn(angles: Tensor) -> Tensor:
        cos, sin = angles.double().cos(), angles.double().sin()
        return torch.stack([cos * p[0::2] + sin * p[1::2], cos * p[1::2] - sin * p[0::2]], -1).flatten()

    angles = delta * make_angles(2, d)[1]
    halves = delta * make_angles(2, 2 * d)[1, : d // 2]
    cos, sin = angles.cos(), angles.sin()
    block = torch.cat([torch.cat([cos.diag(), sin.diag()], 1), torch.cat([-sin.diag(), cos.diag()], 1)])
    symmetric = torch.stack([cos * p[0::2] + sin * p[1::2], sin * p[0::2] + cos * p[1::2]], -1).flatten()
    back = "this goes back instead of forward: try i = 0, delta = 1. Where does the minus stand?"
    if delta < 0:
        back = "a negative delta goes back: has its sign been lost?"
    return {
        back: _make_table(i - delta, 1, d)[0],
        "does your matrix change with delta?": _make_table(i + 1, 1, d)[0],
        "the two numbers of a pair stand side by side: columns 0 and 1": block @ p,
        "a rotation has one minus": symmetric,
        "ω_j has 2j in its exponent": turn(halves),
        "every pair turns by an angle of its own": turn(torch.tensor(delta)),
        "M does not move anything": p,
    }


@checker("debug-decoding")
def check_debug_decoding(decode: Any) -> str:
    """`decode(layer, encoding, X)`: a causal layer, one token at a time."""
    expect_function(decode)
    rng = torch.Generator().manual_seed(3)  # the chapter prints what this sequence gives
    pooling, encoding = DotProductAttention(0.0).double(), PositionalEncoding(4, 0.0, 12).double()
    X = 2 * torch.randn(2, 3, 4, generator=rng, dtype=torch.float64)

    def layer(queries: Tensor, keys: Tensor, values: Tensor) -> Any:
        return pooling(queries, keys, values)

    found = decode(layer, encoding, given := X.clone())
    got = expect_shape(found, X.shape, claim="it returns (b, n, d)", hint="one output for each token")
    placed = encoding(X)
    right = pooling(placed, placed, placed, mask=causal_mask(3))
    expect_close(
        got[0],
        right[0],
        claim="one by one gives the same as all at once",
        given="a random sequence of 3 tokens",
        hint="compare the first output, then the second: with which queries, keys and values was it made?",
        mistakes=_list_wrong_outputs(pooling, encoding, X),
    )
    claim, hint = "so it does for each example of the batch", "the first one is right: what is different in the second?"
    expect_close(got, right, claim=claim, given="a batch of two random sequences", hint=hint)
    expect_unchanged("X", given, X, "X += ... changes the caller's tensor")
    return "the same as all at once, for each token"


def _list_wrong_outputs(pooling: DotProductAttention, encoding: PositionalEncoding, X: Tensor) -> dict[str, Tensor]:
    def outputs(queries: Tensor, keys: Tensor) -> Any:
        return pooling(queries, keys, keys, mask=causal_mask(3))[0]

    placed = encoding(X)
    at_zero = torch.cat([encoding(X[:, i : i + 1]) for i in range(3)], 1)
    later = encoding(X, 1)
    twice = torch.cat([pooling(placed[:, i : i + 1], *[encoding(placed[:, : i + 1])] * 2) for i in range(3)], 1)
    moved = torch.cat([pooling(placed[:, i : i + 1], *[encoding(X[:, : i + 1], i)] * 2) for i in range(3)], 1)
    return {
        "two things: where does the newest token stand, and where do those stand that are kept?": outputs(at_zero, X),
        "the tokens that are kept have no position: what do the keys of the whole sequence look like?": outputs(
            placed, X
        ),
        "every query stands at position 0: what is the position of token 2?": outputs(at_zero, placed),
        "every token stands at position 0: what is the position of token 2?": outputs(at_zero, at_zero),
        "the newest token has no position": outputs(X, placed),
        "without any position it is a bag of words again": outputs(X, X),
        "positions count from 0": outputs(later, later),
        "the kept tokens have got their positions twice": twice[0],
        "the first of the kept tokens stands at position 0, not at the newest token's": moved[0],
    }


@checker("measure-rise")
def check_measure_rise(measure: Any) -> str:
    """`measure(P)`: the first distance at which the product with row 0 rises, or None."""
    expect_function(measure)
    falling = torch.tensor([[2.0, 0], [1, 1], [0.5, 7], [0.5, 0], [-3, 1]])
    rising = torch.tensor([[1.0, 0], [2, 1], [0, 1], [3, 3]])
    late = torch.tensor([[1.0, 1], [0.5, 0], [-2, 0], [-1, 0], [2, 2]])
    probes = (
        ("the sinusoids of width 32", _make_table(0, 60, 32), 5),
        ("the sinusoids of width 128", _make_table(0, 60, 128), 12),
        (f"P = {late.tolist()}", late, 3),
        (f"P = {falling.tolist()}", falling, None),
        (f"P = {rising.tolist()}", rising, 1),
    )
    found = []
    for given, P, expected in probes:
        try:
            got = measure(P.clone())
        except (IndexError, StopIteration, ValueError) as error:
            if expected is not None:
                raise
            hint = "it never rises: return None then"
            raise WrongAnswer("it finds no rise", hint, given=given, got=type(error).__name__) from error
        found.append(got if got is None else read_number(got))
    shifts = {got - expected for got, (_, _, expected) in zip(found, probes, strict=True) if got and expected}
    for got, (given, _, expected) in zip(found, probes, strict=True):
        if got == expected:
            continue
        hint = "print the products of row 0 with itself, row 1, row 2, ...: where do they grow for the first time?"
        if got is None:
            hint = "it does rise: compare each product with the one before"
        elif expected is None:
            hint = "equal is not larger" if got == 3 else "it never rises: return None then"
        elif shifts == {-1}:
            hint = "the distance at which it is larger, not the one before"
        elif shifts == {1}:
            hint = "row 1 of P is at distance 1"
        elif given.startswith("P = "):
            hint = "each product with row 0 as it is, signs and lengths included, from distance 1 on"
        raise WrongAnswer("it finds the first rise", hint, given=given, expected=str(expected), got=str(got))
    return "right for sinusoids and for three other tables"
