"""Checkers of the chapter "Positional encoding: where am I?"."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.masks import causal_mask
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged, read_number
from d2lmini.exercises.prediction import Number, prediction
from d2lmini.positions.added import PositionalEncoding
from d2lmini.positions.rotary import position_angles

# Longest wavelength over 2π for d = 4, squared length of p_7 for d = 64, squared length of two steps for d = 2.
prediction(
    "predict-positions",
    Number(
        "(a)",
        100,
        hint="the wavelength of pair j is 2π · 10000^(2j/d): what is the largest 2j?",
        mistakes={
            "divide by 2π": (628, 628.3, 628.32),
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


def _table(start: int, num_steps: int, d: int) -> Tensor:
    angles = position_angles(num_steps, d, offset=start)
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
        claim = "row by row it is (5.2)"
        expect_close(
            got,
            _table(start, num_steps, d),
            claim=claim,
            given=given,
            hint="compare your first row with 0, 1, 0, 1, ...; then one column after the other"
            if start < 1000
            else "so far from the beginning the angles need double precision",
            mistakes=_wrong_tables(start, num_steps, d),
        )
    return "right for even and odd widths, from position 0 on and from others"


def _wrong_tables(start: int, num_steps: int, d: int) -> dict[str, Tensor]:
    right = _table(start, num_steps, d)
    angles = position_angles(num_steps, d, offset=start)
    double = position_angles(num_steps, 2 * d, offset=start)[:, : (d + 1) // 2]
    wider = _table_of_angles(position_angles(num_steps, d + 1, offset=start), d)
    no_last = right.clone()
    no_last[:, -1] = 0
    last_cosine = right.clone()
    last_cosine[:, -1] = angles[:, -1].cos()
    return {
        "sine and cosine are exchanged: what is column 0 at position 0?": torch.stack(
            [angles.cos(), angles.sin()], dim=-1
        ).flatten(1)[:, :d],
        "pairs stand side by side: columns 0 and 1 have one frequency": torch.cat([angles.sin(), angles.cos()], 1)[
            :, :d
        ],
        "the exponent is 2j/d: what is 2j for the second pair?": _table_of_angles(double, d),
        "row 0 of the result is position start": _table(0, num_steps, d),
        "positions count from 0": _table(start + 1, num_steps, d),
        "ω_j contains d itself, not d + 1": wider,
        "the last column of an odd d is a sine, too": no_last if d % 2 else right + 1,
        "the last column of an odd d is a sine: 0 at position 0": last_cosine if d % 2 else right + 1,
    }


def _table_of_angles(angles: Tensor, d: int) -> Tensor:
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d]


@checker("step-matrix")
def check_step_matrix(make: Any) -> str:
    """`make(delta, d)`: the matrix M with M p_i = p_(i + delta)."""
    expect_function(make)
    for delta, d in ((1, 4), (1, 6), (-2, 4), (7, 10)):
        M = make(delta, d)
        if not isinstance(M, Tensor) or M.shape != (d, d):
            found = f"shape {tuple(M.shape)}" if isinstance(M, Tensor) else type(M).__name__
            hint = "one block of two rows and two columns for each of d/2 pairs"
            hint = hint if isinstance(M, Tensor) else "return a torch tensor"
            raise WrongAnswer("M is a tensor of shape (d, d)", hint, given=f"delta = {delta}, d = {d}", got=found)
        for i in (0, 3, 150, 450):
            wrong = _wrong_steps(i, delta, d)
            expect_close(
                M.double() @ _table(i, 1, d)[0],
                _table(i + delta, 1, d)[0],
                claim="M p_i is p_(i + delta)",
                given=f"delta = {delta}, d = {d}, i = {i}",
                hint="write (5.4) for one pair and compare its four numbers with yours"
                if i < 100
                else "right near the beginning only: is it a fit? (5.4) is exact for every i",
                mistakes=wrong,
                tolerance=1e-3,
            )
    return "right for steps forward and back, at several widths"


def _wrong_steps(i: int, delta: int, d: int) -> dict[str, Tensor]:
    p = _table(i, 1, d)[0]
    angles = delta * position_angles(2, d)[1]
    halves = delta * position_angles(2, 2 * d)[1, : d // 2]
    cos, sin = angles.cos(), angles.sin()
    block = torch.cat([torch.cat([cos.diag(), sin.diag()], 1), torch.cat([-sin.diag(), cos.diag()], 1)])
    symmetric = torch.stack([cos * p[0::2] + sin * p[1::2], sin * p[0::2] + cos * p[1::2]], -1).flatten()
    slow = torch.stack([halves.cos() * p[0::2] + halves.sin() * p[1::2],
                        halves.cos() * p[1::2] - halves.sin() * p[0::2]], -1).flatten()  # fmt: skip
    back = "this goes back instead of forward: try i = 0, delta = 1. Where does the minus stand?"
    if delta < 0:
        back = "a negative delta goes back: has its sign been lost?"
    return {
        back: _table(i - delta, 1, d)[0],
        "does your matrix change with delta?": _table(i + 1, 1, d)[0],
        "the two numbers of a pair stand side by side: columns 0 and 1": block @ p,
        "a rotation has one minus": symmetric,
        "ω_j has 2j in its exponent": slow,
        "every pair turns by an angle of its own": _turned(p, delta),
        "M does not move anything": p,
    }


def _turned(p: Tensor, angle: float) -> Tensor:
    cos, sin = torch.tensor(float(angle)).double().cos(), torch.tensor(float(angle)).double().sin()
    return torch.stack([cos * p[0::2] + sin * p[1::2], cos * p[1::2] - sin * p[0::2]], -1).flatten()


@checker("debug-decoding")
def check_debug_decoding(decode: Any) -> str:
    """`decode(layer, encoding, X)`: a causal layer, one token at a time."""
    expect_function(decode)
    rng = torch.Generator().manual_seed(3)
    pooling, encoding = DotProductAttention(0.0).double(), PositionalEncoding(4, 0.0, 12).double()
    X = 2 * torch.randn(2, 3, 4, generator=rng, dtype=torch.float64)

    def layer(queries: Tensor, keys: Tensor, values: Tensor) -> Any:
        return pooling(queries, keys, values)

    got = decode(layer, encoding, given := X.clone())

    def outputs(queries: Tensor, keys: Tensor) -> Any:
        return pooling(queries, keys, keys, mask=causal_mask(3))[0]

    placed = encoding(X)
    at_zero = torch.cat([encoding(X[:, i : i + 1]) for i in range(3)], 1)
    later = encoding(X, 1)
    twice = torch.cat([pooling(placed[:, i : i + 1], *[encoding(placed[:, : i + 1])] * 2) for i in range(3)], 1)
    moved = torch.cat([pooling(placed[:, i : i + 1], *[encoding(X[:, : i + 1], i)] * 2) for i in range(3)], 1)
    mistakes = {
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
    if not isinstance(got, Tensor) or got.shape != X.shape:
        found = f"shape {tuple(got.shape)}" if isinstance(got, Tensor) else type(got).__name__
        raise WrongAnswer("it returns (b, n, d)", "one output for each token", expected=tuple(X.shape), got=found)
    expect_close(
        got[0],
        outputs(placed, placed),
        claim="one by one gives the same as all at once",
        given="a random sequence of 3 tokens",
        hint="compare the first output, then the second: with which queries, keys and values was it made?",
        mistakes=mistakes,
    )
    expect_unchanged("X", given, X, "X += ... changes the caller's tensor")
    return "the same as all at once, for each token"


@checker("measure-rise")
def check_measure_rise(measure: Any) -> str:
    """`measure(P)`: the first distance at which the product with row 0 rises, or None."""
    expect_function(measure)
    falling = torch.tensor([[2.0, 0], [1, 1], [0.5, 7], [0.5, 0], [-3, 1]])
    rising = torch.tensor([[1.0, 0], [2, 1], [0, 1], [3, 3]])
    late = torch.tensor([[1.0, 1], [0.5, 0], [-2, 0], [-1, 0], [2, 2]])
    probes = (
        ("the sinusoids of width 32", _table(0, 60, 32), 5),
        ("the sinusoids of width 128", _table(0, 60, 128), 12),
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


@checker("learnable-positions")
def check_learnable_positions(answer: Any) -> str:
    """`answer(num_hiddens, max_len)`: a module with `forward(X, offset=0)` that adds learned positions."""
    if isinstance(answer, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses")
    expect_function(answer)
    torch.manual_seed(0)
    layer, X = answer(6, 10), torch.randn(2, 4, 6)
    if not isinstance(layer, nn.Module):
        raise WrongAnswer("the answer is a class made from nn.Module", "class LearnedPositions(nn.Module): ...")
    layer.eval()  # without dropout
    with torch.no_grad():
        for parameter in layer.parameters():  # vectors that are 0 at first are allowed
            parameter.add_(0.1 * torch.randn(parameter.shape))
    before, first = X.clone(), layer(X)
    if not isinstance(first, Tensor) or first.shape != X.shape:
        found = f"shape {tuple(first.shape)}" if isinstance(first, Tensor) else type(first).__name__
        hint = "return X plus the encodings, for all sequences of the batch"
        raise WrongAnswer("forward returns (b, n, d)", hint, expected=f"shape {tuple(X.shape)}", got=found)
    expect_unchanged("X", X, before, "X += ... changes the caller's tensor")
    _expect_trainable(layer, first)
    with torch.no_grad():
        _expect_added(layer, X)
        _expect_offset(layer, X)
    return "trained by gradients, added by position, with an offset, and nothing beyond max_len"


def _expect_trainable(layer: nn.Module, output: Tensor) -> None:
    parameters = list(layer.parameters())
    if not parameters:
        hint = "the optimiser asks for layer.parameters(): a plain tensor is not among them, an nn.Parameter is"
        raise WrongAnswer("it has parameters", hint)
    if output.requires_grad:
        weights = torch.randn(output.shape)
        gradients = torch.autograd.grad((output * weights).sum(), parameters, allow_unused=True, retain_graph=True)
    if not output.requires_grad or not any(grad is not None and grad.any() for grad in gradients):
        hint = "something cuts the gradient: detach, .data, no_grad, or a tensor made anew from numbers"
        raise WrongAnswer("the output has a gradient with respect to the parameters", hint)
    between = ((output - output.mean(dim=1, keepdim=True)) * weights).sum()
    gradients = torch.autograd.grad(between, parameters, allow_unused=True)
    if not any(grad is not None and grad.abs().max() > 1e-5 for grad in gradients):
        hint = "the parameters add the same to every position: what differs between positions must be learned"
        raise WrongAnswer("what differs between positions is learned", hint)


def _expect_added(layer: nn.Module, X: Tensor) -> None:
    added = layer(X) - X
    if not torch.allclose(layer(X) - X, added, atol=1e-5):
        raise WrongAnswer("two calls give the same", "what is made in forward is new in each call: make it in __init__")
    other = torch.randn_like(X)
    if not torch.allclose(layer(other) - other, added, atol=1e-5):
        raise WrongAnswer("what is added does not depend on the tokens", "is it added to X, or does it multiply X?")
    if not torch.allclose(added[0], added[1], atol=1e-5):
        hint = "position 0 is position 0 in each sequence: does a dimension of your table stand for the batch?"
        raise WrongAnswer("all sequences of a batch get the same encodings", hint)
    if torch.cdist(added[0], added[0]).fill_diagonal_(1.0).min() < 1e-4:
        raise WrongAnswer("different positions get different vectors", "one vector for each position, not one for all")


def _expect_offset(layer: nn.Module, X: Tensor) -> None:
    shifted = layer(X[:, 1:], offset=1)
    if not torch.allclose(shifted, layer(X)[:, 1:], atol=1e-5):
        unmoved = torch.allclose(shifted, layer(X[:, 1:]), atol=1e-5)
        hint = (
            "the first token of X stands at position offset. Does position 1 get the same vector in a shorter sequence?"
        )
        raise WrongAnswer("token i stands at offset + i", "offset is not used" if unmoved else hint, given="offset = 1")
    full = torch.zeros(1, 10, 6)
    if not torch.allclose(layer(full)[:, 6:], layer(full[:, 6:], offset=6), atol=1e-5):
        raise WrongAnswer("token i stands at offset + i", "look at the last positions", given="offset = 6")
    for length, offset in ((11, 0), (4, 7), (1, 10)):
        given = f"max_len = 10, a sequence of length {length}, offset = {offset}"
        try:
            layer(torch.zeros(1, length, 6), offset=offset)
        except ValueError:
            continue
        except Exception as error:
            hint = "compare the last position with max_len and raise ValueError yourself, with a clear message"
            got = type(error).__name__
            raise WrongAnswer("a position beyond max_len is a ValueError", hint, given=given, got=got) from error
        hint = "the last position is offset + n - 1: compare it with max_len, and raise ValueError"
        raise WrongAnswer("a position beyond max_len is a ValueError", hint, given=given)
