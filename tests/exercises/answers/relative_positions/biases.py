"""Answers to the exercises: numbers that are added to the scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


def keys_needed(
    *,
    more: int = 0,
    base: float = math.e,
    rest: bool = False,
    rounding: Callable[[float], float] = math.ceil,
    num_keys: float = 4096,
) -> Callable[[float, float], float]:
    """By the sums of two geometric series, right unless told otherwise."""

    def answer(slope: float, share: float) -> float:
        held = (1 - share if rest else share) * -math.expm1(-slope * num_keys)
        return rounding(math.log(1 - held, base) / -slope) + more

    return answer


def weights(slope: float, num_keys: int = 4096) -> Tensor:
    return torch.softmax(-slope * torch.arange(num_keys).double(), dim=0)


def one_more_until_it_is_enough(slope: float, share: float) -> int:
    held = 0.0
    for count, weight in enumerate(weights(slope).tolist(), start=1):
        held += weight
        if held >= share:
            return count
    return 4096


def until_a_key_falls(slope: float, share: float) -> int:
    return int((torch.exp(-slope * torch.arange(1, 4096)) >= share).sum())


def of_keys(num_keys: int) -> Callable[[float, float], int]:
    """The same for another sequence."""
    return lambda slope, share: int((weights(slope, num_keys).cumsum(0) < share).sum()) + 1


def single_keys(slope: float, share: float) -> int:
    """No sum: keys with more than 1 - share of the nearest one's weight."""
    return int((torch.exp(-slope * torch.arange(4096)) > 1 - share).sum())


def always(share: float) -> Callable[[float, float], int]:
    return lambda slope, _: one_more_until_it_is_enough(slope, share)


def not_normalised(slope: float, share: float) -> int:
    return int((torch.exp(-slope * torch.arange(4096)).cumsum(0) < share).sum()) + 1


def steep_upwards(slope: float, share: float) -> int:
    return int((weights(-slope).cumsum(0) < share).sum()) + 1


def in_per_cent(slope: float, share: float) -> int:
    return int((weights(slope).cumsum(0) < 100 * share).sum())


RIGHT: dict[str, list[Any]] = {
    "predict-relative": [(264, math.exp(-1), 0.1334), [264, 0.37, 0.133]],
    "measure-window": [
        keys_needed(),
        one_more_until_it_is_enough,
        lambda slope, share: (weights(slope).cumsum(0) < share).sum() + 1,
        lambda slope, share: torch.searchsorted(weights(slope).cumsum(0), share) + 1,
        lambda slope, share: (torch.softmax(-slope * torch.arange(4096), 0).cumsum(0) < share).sum() + 1,
        lambda slope, share: float(np.argmax(weights(slope).cumsum(0).numpy() >= share) + 1),
    ],
    "use-window": [(10, 1179), [10.0, 1179.0]],
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
    ("measure-window", keys_needed(more=-1), "how far the last key is, or rounded down?"),
    ("measure-window", keys_needed(rounding=round), "how far the last key is, or rounded down?"),
    ("measure-window", keys_needed(rounding=math.floor), "how far the last key is, or rounded down?"),
    ("measure-window", keys_needed(more=1), "one key fewer already holds the share"),
    ("measure-window", keys_needed(base=2), "not of 2"),
    ("measure-window", keys_needed(rest=True), "where is the share?"),
    ("measure-window", keys_needed(rounding=float), "a whole number"),
    ("measure-window", lambda slope, share: keys_needed()(2 * slope, share), "does the slope come in twice?"),
    ("measure-window", keys_needed(num_keys=math.inf), "a sequence without an end"),
    ("measure-window", lambda slope, share: int(-math.log(1 - share) / slope) + 1, "a sequence without an end"),
    ("measure-window", lambda *a: min(4096, keys_needed(num_keys=math.inf)(*a)), "all keys?"),
    ("measure-window", single_keys, "or look at single ones?"),
    *(("measure-window", of_keys(n), "how many keys does your softmax have?") for n in (4000, 4095, 4097, 10_000)),
    *(("measure-window", always(share), "does your function use share?") for share in (0.5, 0.9, 0.95, 0.99)),
    ("measure-window", until_a_key_falls, "add them up"),
    ("measure-window", not_normalised, "do the weights sum to 1"),
    ("measure-window", steep_upwards, "which sign has the penalty?"),
    ("measure-window", in_per_cent, "how large is the share"),
    ("measure-window", lambda slope, share: 4096, "how large is the share"),
    ("measure-window", lambda slope, share: round(4096 * share), "add them up with cumsum"),
    ("measure-window", lambda slope, share: (weights(slope) >= 1 - share).sum() + 1, "do the weights sum to 1"),
    ("measure-window", lambda slope, share: weights(slope).cumsum(0)[10], "add them up with cumsum"),
    ("measure-window", lambda slope, share: max(2, keys_needed()(slope, share)), "add them up with cumsum"),
    ("use-window", (19, 1179), "the first slope of 8 heads is 1/2"),
    ("use-window", (5, 1179), "is it 99 %, and is the first slope of 8 heads 1/2, not 1?"),
    ("use-window", (one_more_until_it_is_enough(1, 0.99), 590), "Heads are numbered from 1"),
    ("use-window", (9, 1179), "a little less than 99 %"),
    ("use-window", (1179, 10), "with the first slope of 8 heads"),
    ("use-window", (10, 590), "the last slope of 8 heads, 1/256?"),
    ("use-window", (10, one_more_until_it_is_enough(1 / 512, 0.99)), "with the slope 1/512"),
    ("use-window", (10, 1178), "a little less than 99 %"),
    ("use-window", (10, 4096), "with the last slope of 8 heads"),
]
