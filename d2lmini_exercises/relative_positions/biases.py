"""Positions as distances: what is added to a score."""

import math

import torch

from d2lmini_exercises.engine import Case, Number, exercise, prediction

# Numbers of a clipped bias, the weight of a far key in ALiBi, the angle of the slowest rotary pair.
prediction(
    "predict-relative",
    {
        Number("(a)", 264, "how many offsets are there from -16 to 16?"): {
            "each head has its own": 33,
            "an offset of 0 has a number, too": 256,
            "offsets are negative, too, and there is an offset of 0": (136, 128),
        },
        Number(
            "(b)",
            math.exp(-1),
            "the third slope of 8 heads is 2^(-3); each place further costs a factor e^(-m)",
            tolerance=0.004,
        ): {
            "that is the slope: 8 places further the score is lower by 8 times that. And the weight?": 0.125,
            "that is by how much the score is lower: what does the softmax make of it?": (1.0, -1.0),
            "the softmax takes powers of e, not of 2": 0.5,
            "that is the near key's weight divided by the far one's: turn it over": math.e,
            "one place further: e^(-m). And 8 places further?": math.exp(-1 / 8),
            "slopes begin at 1/2, for h = 1: the third head has 1/8": (math.exp(-2), math.exp(-0.5)),
        },
        Number(
            "(c)",
            1000 * 10000 ** (-62 / 64),
            "the slowest pair has the largest 2j, which is p - 2: multiply its frequency by 1000",
            tolerance=0.004,
        ): {
            "what is the largest 2j? It is p - 2, not p": 0.1,
            "that is the fastest pair": 1000,
            "in radians, not in degrees": (7.6, 7.64),
            "the exponent is 2j/p, and the largest 2j is p - 2": (11.5, 11.55),
        },
    },
    right="264, 0.368 and 0.133: all three are right",
)


def count_keys(slope: float, share: float, *, sign: int = -1, more: int = 0) -> int:
    """How many of the nearest of 4096 keys hold that share of the weight, right unless told otherwise."""
    weights = (sign * slope * torch.arange(4096, dtype=torch.float64)).softmax(0)
    return int((weights.cumsum(0) < share).sum()) + 1 + more


def count_endless(slope: float, share: float) -> float:
    return math.log(1 - share) / -slope


ONE_KEY = "one key holds less than that: do the weights sum to 1, and is each e^(-slope) of the one before?"
ENDLESS = "more keys than there are: that is for a sequence without an end. Here the weights of 4096 keys sum to 1"
ALL_KEYS = "all keys? Do the weights of these 4096 sum to 1, and do you add them up, or look at single ones?"
exercise(
    "measure-window",
    count_keys,
    (
        *(
            f"slope, share = {1 / slope}, {share}"
            for slope, share in zip((16, 4, 16, 256, 2, 256), (0.7, 0.99, 0.99, 0.5, 0.2, 0.99), strict=True)
        ),
        "slope, share = 0.25, 0.9999",
        # the keys beyond the first 4096 would have much of the weight of a longer sequence
        Case(
            f"slope, share = {1 / 4096}, 0.9",
            "for steeper slopes it is right: how many keys does your softmax have? There are 4096",
        ),
    ),
    {
        "does your function use share? That is the number for another one": tuple(
            lambda slope, share, own=own: count_keys(slope, own) for own in (0.5, 0.9, 0.95, 0.99)
        ),
        "these keys hold a little less than the share. Is this how far the last key is, or rounded down?": {"more": -1},
        "one key fewer already holds the share": {"more": 1},
        "return a whole number of keys": count_endless,
        "the softmax takes powers of e, not of 2": lambda slope, share: count_keys(slope * math.log(2), share),
        ONE_KEY: lambda slope, share: 1,
        "does the slope come in twice? At each place the score falls by it once": lambda slope, share: count_keys(
            2 * slope, share
        ),
        "these keys hold the rest: where is the share?": lambda slope, share: count_keys(slope, 1 - share),
        "there a single key falls to that share of the nearest one's weight: add them up": lambda slope, share: int(
            count_endless(slope, 1 - share)
        ),
        "the nearest key has the largest weight: which sign has the penalty?": {"sign": 1},
        "a share is between 0 and 1, and so are weights: how large is the share that you compare with?": (
            lambda slope, share: 4096,
            lambda slope, share: 4097,
        ),
        ENDLESS: lambda slope, share: math.ceil(count_endless(slope, share)),
        ALL_KEYS: lambda slope, share: min(math.ceil(count_endless(slope, share)), 4096),
    },
    claim="it finds the smallest number of keys",
    verified="right for 7 pairs of a slope and a share, also where the sequence ends while weights are large",
    hint="make the weights of 4096 keys with a softmax, nearest first, and add them up with cumsum",
)


prediction(
    "use-window",
    {
        Number(
            "the steepest head's",
            count_keys(1 / 2, 0.99),
            "call your function with the first slope of 8 heads, and 0.99",
        ): {
            "that is with the slope 1/4: the first slope of 8 heads is 1/2": count_keys(1 / 4, 0.99),
            "is it 99 %, and is the first slope of 8 heads 1/2, not 1? Heads are numbered from 1": (
                count_keys(1 / 2, 0.9)  # as many as with the slope 1
            ),
            "these keys hold a little less than 99 %": count_keys(1 / 2, 0.99) - 1,
        },
        Number(
            "the flattest head's",
            count_keys(1 / 256, 0.99),
            "call your function with the last slope of 8 heads, and 0.99",
        ): {
            "is it 99 %, and the last slope of 8 heads, 1/256? Heads are numbered from 1": count_keys(1 / 128, 0.99),
            "with the slope 1/512 it is so many: the last slope of 8 heads is 1/256": count_keys(1 / 512, 0.99),
            "these keys hold a little less than 99 %": count_keys(1 / 256, 0.99) - 1,
        },
    },
    right="10 keys and 1179: the heads look at very different scales",
)
