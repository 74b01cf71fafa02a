"""Checkers of the chapter "Relative positions, and longer than you trained"."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.convert import convert_tensor
from d2lmini.exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_measured,
    expect_unchanged,
)
from d2lmini.exercises.prediction import Number, prediction
from d2lmini.positions.added import make_angles
from d2lmini.positions.biases import alibi_slopes
from d2lmini.positions.rotary import apply_rotary

# Numbers of a clipped bias, the weight of a far key in ALiBi, the angle of the slowest rotary pair.
prediction(
    "predict-relative",
    Number(
        "(a)",
        264,
        hint="how many offsets are there from -16 to 16?",
        mistakes={
            "each head has its own": 33,
            "an offset of 0 has a number, too": 256,
            "offsets are negative, too": 136,
            "offsets are negative, too, and there is an offset of 0": 128,
        },
    ),
    Number(
        "(b)",
        math.exp(-1),
        hint="the third slope of 8 heads is 2^(-3); each place further costs a factor e^(-m)",
        mistakes={
            "that is the slope: 8 places further the score is lower by 8 times that. And the weight?": 0.125,
            "that is by how much the score is lower: what does the softmax make of it?": (1.0, -1.0),
            "the softmax takes powers of e, not of 2": 0.5,
            "that is the near key's weight divided by the far one's: turn it over": math.e,
            "one place further: e^(-m). And 8 places further?": math.exp(-1 / 8),
            "slopes begin at 1/2: the third head has 1/8": math.exp(-2),
            "slopes begin at 1/2, for h = 1: the third head has 1/8": math.exp(-0.5),
        },
        tolerance=0.004,
    ),
    Number(
        "(c)",
        1000 * 10000 ** (-62 / 64),
        hint="the slowest pair has the largest 2j, which is p - 2: multiply its frequency by 1000",
        mistakes={
            "what is the largest 2j? It is p - 2, not p": 0.1,
            "that is the fastest pair": 1000,
            "in radians, not in degrees": (7.6, 7.64),
            "the exponent is 2j/p, and the largest 2j is p - 2": (11.5, 11.55),
        },
        tolerance=0.004,
    ),
    right="264, 0.368 and 0.133: all three are right",
)


@checker("alibi-slopes")
def check_alibi_slopes(slopes: Any) -> str:
    """`slopes(num_heads)`: the slopes that the authors' program takes."""
    expect_function(slopes)
    for heads in (8, 4, 6, 12, 3, 1):
        expected = alibi_slopes(heads).double()
        got = slopes(heads)
        found = convert_tensor(got, expected)
        if found is None:
            raise WrongAnswer("it returns slopes", "return a tensor or a list", got=type(got).__name__)
        if found.dim() == 1 and len(found) != heads:
            hint = "the heads beyond the power of two need slopes, too, and no others"
            raise WrongAnswer("there is one slope for each head", hint, given=f"num_heads = {heads}", got=found)
        expect_close(
            found,
            expected,
            claim="they are the program's slopes",
            given=f"num_heads = {heads}",
            hint="take the slopes for the largest power of two first; how many heads are left?",
            mistakes=_list_wrong_slopes(heads, expected),
            tolerance=1e-5,
        )
    return "right for 1, 3, 4, 6, 8 and 12 heads"


def _list_wrong_slopes(heads: int, expected: Tensor) -> dict[str, Tensor]:
    def power_of_two(*exponents: float) -> Tensor:
        return 2 ** torch.tensor(exponents, dtype=torch.float64)

    mistakes = {
        "a slope is positive; the penalty is minus the slope times the distance": -expected,
        "h counts from 1: the first of 8 slopes is 1/2": power_of_two(*(-8 * h / heads for h in range(heads))),
    }
    power = 1 << (heads.bit_length() - 1)
    if heads == power:
        return mistakes
    twice = power_of_two(*(-4 * h / power for h in range(1, 2 * power + 1)))
    begin, left = expected[:power], heads - power
    return mistakes | {
        "that is the formula of the paper: what does the program do if it is no power of two?": (
            power_of_two(*(-8 * h / heads for h in range(1, heads + 1)))
        ),
        "the first, third, fifth, ... slope for twice the power, not the first ones": torch.cat([begin, twice[:left]]),
        "the first, third, fifth, ... slope, not the second and fourth": torch.cat([begin, twice[1::2][:left]]),
        "the program does not sort them": expected.sort(descending=True).values,
        "take the largest power of two below, not above": twice[:heads],
    }


def _turn(X: Tensor, angles: Tensor) -> Tensor:
    x, y = X[:, 0::2], X[:, 1::2]
    pairs = [x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()]
    return torch.stack(pairs, dim=-1).flatten(1)


@checker("debug-rotary")
def check_debug_rotary(attend: Any) -> str:
    """`attend(Q, K, V)`: attention with rotary embedding, for one sequence and one head."""
    expect_function(attend)
    rng = torch.Generator().manual_seed(5)  # the chapter prints what this sequence gives
    Q, K, V = 2 * torch.randn(3, 3, 4, generator=rng, dtype=torch.float64)
    given = [part.clone() for part in (Q, K, V)]
    got = attend(*given)
    faults = {
        "keys": "queries and keys turn the same way: what is left of i and j in the score?",
        "values": "move everything by 100 places: does the output turn, too? A value does not stand anywhere",
        "slow": "what is the exponent of the second pair? 2j/p, with 2j = 2",
    }
    outputs = {}
    for wrong in itertools.chain.from_iterable(itertools.combinations(faults, k) for k in range(4)):
        angles = make_angles(3, 8)[:, :2] if "slow" in wrong else make_angles(3, 4)
        scores = _turn(Q, angles) @ _turn(K, -angles if "keys" in wrong else angles).T / 2
        outputs[wrong] = scores.softmax(1) @ (_turn(V, angles) if "values" in wrong else V)
    mistakes = {}
    for wrong, output in outputs.items():
        if wrong:
            more = f" (one of {len(wrong)} faults)" if len(wrong) > 1 else ""
            mistakes[faults["slow" if wrong == ("keys", "slow") else wrong[0]] + more] = output
    back = _turn(Q, -make_angles(3, 4)) @ _turn(K, -make_angles(3, 4)).T / 2
    mistakes["turn by +iω, as in the starter: both turn in the other direction now"] = back.softmax(1) @ V
    mistakes["without any turning it is a bag of words"] = (Q @ K.T / 2).softmax(1) @ V
    expect_close(
        got,
        outputs[()],
        claim="it is attention with turned queries and keys",
        given="random Q, K and V for 3 tokens of width 4",
        hint="compare turn(Q) with d2l.apply_rotary(Q), then the scores, then the output",
        mistakes=mistakes,
    )
    for name, now, before in zip(("Q", "K", "V"), given, (Q, K, V), strict=True):
        expect_unchanged(name, now, before, "write the turned ones into new tensors")
    return "queries and keys are turned alike, values are not"


@checker("measure-window")
def check_measure_window(window: Any) -> str:
    """`window(slope, share)`: how many of the nearest keys hold that share of the weight."""
    expect_function(window)
    for slope, share in ((0.5, 0.9), (0.25, 0.99), (1 / 16, 0.99), (1 / 256, 0.5)):
        exact = math.log(1 - share) / -slope
        expected = math.ceil(exact)
        mistakes = {
            "the nearest key, at distance 0, is one of them: return how many, not how far": expected - 1,
            "with one key more than that": expected + 1,
            "the softmax takes powers of e, not of 2": math.ceil(exact / math.log(2)),
            "these keys hold the rest: where is the share?": math.ceil(math.log(share) / -slope),
            "return a whole number of keys": exact,
            "that is where a single key falls to that share of the nearest one's weight: add them up": math.floor(
                math.log(share) / -slope
            ),
        }
        expect_measured(
            window(slope, share),
            expected,
            claim="it finds the smallest number of keys",
            given=f"slope = {slope}, share = {share}",
            hint="make the weights of 4096 keys with a softmax, nearest first, and add them up with cumsum",
            mistakes=mistakes,
        )
    return "right for four heads"


@checker("rotary-base")
def check_rotary_base(base: Any) -> str:
    """`base(length, p)`: with which the slowest pair turns by π between the first and the last position."""
    expect_function(base)
    for length, p in ((33, 4), (100, 8), (4096, 64)):
        turn = (length - 1) / math.pi
        expected = turn ** (p / (p - 2))
        mistakes = {
            "the slowest pair has the exponent (p - 2)/p, not 1": turn,
            "half a turn is π, not 2π": (turn / 2) ** (p / (p - 2)),
            "from the first to the last position there are length - 1 steps": (length / math.pi) ** (p / (p - 2)),
            "solve for the base: the exponent goes to the other side as p/(p - 2)": turn ** ((p - 2) / p),
            "that is the inverse": turn ** (-p / (p - 2)),
            "a half turn in length - 1 steps: divide by π, do not multiply": ((length - 1) * math.pi) ** (p / (p - 2)),
            "the slowest pair has the exponent (p - 2)/p, and there are length - 1 steps": length / math.pi,
            "do not round": float(round(expected)),
            "half a turn is π radians, not 180": ((length - 1) / 180) ** (p / (p - 2)),
            "the largest 2j is p - 2, not p - 1": turn ** (p / (p - 1)),
        }
        expect_measured(
            base(length, p),
            expected,
            claim="the slowest pair turns by half a turn, no more",
            given=f"length = {length}, p = {p}",
            hint="write the angle of the slowest pair after length - 1 steps, set it to π, and solve for the base",
            mistakes=mistakes,
            tolerance=2e-5 * expected,
        )
    return "right for three lengths and widths"


@checker("rotary-picture")
def check_rotary_picture(rotate: Any) -> str:
    """`rotate(X)`: rotary embedding of a picture (rows, columns, p): one half by row, the other by column."""
    expect_function(rotate)
    X = torch.randn(2, 3, 8, dtype=torch.float64)
    got = rotate(given := X.clone())
    first, second = X.chunk(2, -1)

    def by_row(part: Tensor) -> Tensor:
        return apply_rotary(part.transpose(0, 1)).transpose(0, 1)

    one_by_one = apply_rotary(X.flatten(0, 1)).reshape(X.shape)
    halves = [apply_rotary(part, pairing="halves") for part in (first.transpose(0, 1), second)]
    mistakes = {
        "pairs are neighbours: features 0 and 1, 2 and 3": torch.cat([halves[0].transpose(0, 1), halves[1]], 2),
        "that is one long sequence: places below each other are as far apart as a row is long": one_by_one,
        "the first half turns by the row, the second by the column": torch.cat(
            [apply_rotary(first), by_row(second)], 2
        ),
        "all features turn by the row, none by the column": by_row(X),
        "all features turn by the column, none by the row": apply_rotary(X),
        "the second half must turn by the column": torch.cat([by_row(first), second], 2),
        "the first half must turn by the row": torch.cat([first, apply_rotary(second)], 2),
        "both halves turn by the row": torch.cat([by_row(first), by_row(second)], 2),
        "both halves turn by the column": torch.cat([apply_rotary(first), apply_rotary(second)], 2),
        "split first, then turn: the frequencies of each half are those of width p/2, not of p": torch.cat(
            [by_row(X)[..., :4], apply_rotary(X)[..., 4:]], 2
        ),
    }
    expect_close(
        got,
        torch.cat([by_row(first), apply_rotary(second)], 2),
        claim="one half turns by the row, the other by the column",
        given="a random picture of 2 rows, 3 columns and width 8",
        hint="d2l.apply_rotary turns along the dimension before the last: bring the rows there for the first half",
        mistakes=mistakes,
    )
    expect_unchanged("X", given, X, "write the result into a new tensor")
    return "one half turns by the row, the other by the column"
