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
    rounding: Callable[[float], float] = math.ceil,
    num_keys: float = 4096,
) -> Callable[[float, float], float]:
    """By the sums of two geometric series, right unless told otherwise."""

    def answer(slope: float, share: float) -> float:
        held = share * -math.expm1(-slope * num_keys)
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


def always(share: float) -> Callable[[float, float], int]:
    return lambda slope, _: one_more_until_it_is_enough(slope, share)


RIGHT: dict[str, list[Any]] = {
    "predict-relative": [(264, math.exp(-1), 0.1334), [264, 0.37, 0.133]],
    "measure-window": [
        keys_needed(),
        one_more_until_it_is_enough,
        lambda slope, share: float(np.argmax(weights(slope).cumsum(0).numpy() >= share) + 1),
    ],
    "use-window": [(10, 1179), [10.0, 1179.0]],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-relative", (7, 0.368, 0.133), "from -16 to 16"),
    ("predict-relative", (264, 0.9, 0.133), "a factor e^(-m)"),
    ("predict-relative", (264, 0.368, 3), "multiply its frequency by 1000"),
    ("measure-window", keys_needed(rounding=math.floor), "how far the last key is, or rounded down?"),
    ("measure-window", keys_needed(more=1), "one key fewer already holds the share"),
    ("measure-window", keys_needed(base=2), "not of 2"),
    ("measure-window", keys_needed(num_keys=math.inf), "a sequence without an end"),
    ("measure-window", lambda *a: min(4096, keys_needed(num_keys=math.inf)(*a)), "all keys?"),
    *(("measure-window", of_keys(n), "how many keys does your softmax have?") for n in (4000, 4095, 4097, 10_000)),
    *(("measure-window", always(share), "does your function use share?") for share in (0.5, 0.9, 0.95, 0.99)),
    ("measure-window", until_a_key_falls, "add them up"),
    ("measure-window", lambda slope, share: 4096, "how large is the share"),
    ("measure-window", lambda slope, share: max(2, keys_needed()(slope, share)), "add them up with cumsum"),
    ("use-window", (1179, 10), "with the first slope of 8 heads"),
    ("use-window", (10, 4096), "with the last slope of 8 heads"),
]
