"""Numbers that are added to the scores: biases, and the penalties of ALiBi."""

from __future__ import annotations

import math
from typing import Any

import torch

from d2lmini_exercises.core import checker, expect_function, expect_measured
from d2lmini_exercises.prediction import Number, prediction

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


_KEYS = 4096


def _count_keys(slope: float, share: float, *, sign: int = -1) -> int:
    weights = (sign * slope * torch.arange(_KEYS, dtype=torch.float64)).softmax(0)
    return int((weights.cumsum(0) < share).sum()) + 1


@checker("measure-window")
def check_measure_window(window: Any) -> str:
    """`window(slope, share)`: how many of the nearest keys hold that share of the weight."""
    expect_function(window)
    for slope, share in _WINDOWS:
        expected = _count_keys(slope, share)
        mistakes = _list_wrong_windows(slope, share)
        hint = f"make the weights of {_KEYS} keys with a softmax, nearest first, and add them up with cumsum"
        if slope == _FLAT:
            mistakes = _list_far_windows(slope, share)
            hint = f"for steeper slopes it is right: how many keys does your softmax have? There are {_KEYS}"
        expect_measured(
            window(slope, share),
            expected,
            claim="it finds the smallest number of keys",
            given=f"slope, share = {slope}, {share}",
            hint=hint,
            mistakes=mistakes if expected > 2 else {},
        )
    return (
        f"right for {len(_WINDOWS)} pairs of a slope and a share, also where the sequence ends while weights are large"
    )


# With the last one, the keys beyond the first would have much of the weight of a longer sequence.
_FLAT = 1 / 4096
_WINDOWS = (
    *((1 / 16, 0.7), (0.25, 0.99), (1 / 16, 0.99), (1 / 256, 0.5), (0.5, 0.2), (1 / 256, 0.99)),
    (_FLAT, 0.9),
)


def _list_far_windows(slope: float, share: float) -> dict[str, float | tuple[float, ...]]:
    """What is wrong where the sequence ends early, and everything before was right."""
    endless = math.ceil(math.log(1 - share) / -slope)
    return {
        f"more keys than there are: that is for a sequence without an end. Here the weights of {_KEYS} keys sum to 1": (
            *(endless + more for more in (-1, 0, 1)),
        ),
        f"all keys? Do the weights of these {_KEYS} sum to 1, and do you add them up, or look at single ones?": (
            *(_KEYS + more for more in (-1, 0, 1)),
        ),
    }


def _list_wrong_windows(slope: float, share: float) -> dict[str, float | tuple[float, ...]]:
    exact, falls = (math.log(part) / -slope for part in (1 - share, share))
    expected = _count_keys(slope, share)
    others = tuple(_count_keys(slope, other) for other in (0.5, 0.9, 0.95, 0.99))
    ignored: dict[str, float | tuple[float, ...]] = {
        "does your function use share? That is the number for another one": others
    }
    mistakes: dict[str, float | tuple[float, ...]] = {
        "these keys hold a little less than the share. Is this how far the last key is, or rounded down?": (
            expected - 1
        ),
        "one key fewer already holds the share": expected + 1,
        "return a whole number of keys": exact,
        "the softmax takes powers of e, not of 2": math.ceil(exact / math.log(2)),
        "one key holds less than that: do the weights sum to 1, and is each e^(-slope) of the one before?": 1,
        "does the slope come in twice? At each place the score falls by it once": math.ceil(exact / 2),
        "these keys hold the rest: where is the share?": math.ceil(falls),
        "there a single key falls to that share of the nearest one's weight: add them up": math.floor(falls),
        "the nearest key has the largest weight: which sign has the penalty?": _count_keys(slope, share, sign=1),
        "a share is between 0 and 1, and so are weights: how large is the share that you compare with?": (
            _KEYS,
            _KEYS + 1,
        ),
    }
    return mistakes | (ignored if share == 0.7 else {})


prediction(
    "use-window",
    Number(
        "the steepest head's",
        _count_keys(1 / 2, 0.99),
        hint="call your function with the first slope of 8 heads, and 0.99",
        mistakes={
            "that is with the slope 1/4: the first slope of 8 heads is 1/2": _count_keys(1 / 4, 0.99),
            "is it 99 %, and is the first slope of 8 heads 1/2, not 1? Heads are numbered from 1": (
                _count_keys(1 / 2, 0.9)  # as many as with the slope 1
            ),
            "these keys hold a little less than 99 %": _count_keys(1 / 2, 0.99) - 1,
        },
    ),
    Number(
        "the flattest head's",
        _count_keys(1 / 256, 0.99),
        hint="call your function with the last slope of 8 heads, and 0.99",
        mistakes={
            "is it 99 %, and the last slope of 8 heads, 1/256? Heads are numbered from 1": _count_keys(1 / 128, 0.99),
            "with the slope 1/512 it is so many: the last slope of 8 heads is 1/256": _count_keys(1 / 512, 0.99),
            "these keys hold a little less than 99 %": _count_keys(1 / 256, 0.99) - 1,
        },
    ),
    right="10 keys and 1179: the heads look at very different scales",
)
