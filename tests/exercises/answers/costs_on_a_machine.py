"""Answers to the exercises of the chapter "What a machine makes of it"."""

import math
from typing import Any


def search(flops: float, weights: float, cache: float, peak: float, bandwidth: float) -> float:
    """Number by number, up to one that is beyond all that is asked."""
    for b in range(1, 1_000_000):
        if b * flops / peak >= (weights + b * cache) / bandwidth:
            return b
    return math.inf


def compare_intensities(flops: float, weights: float, cache: float, peak: float, bandwidth: float) -> Any:
    """The intensity rises with b towards flops / cache: it must reach the edge."""
    edge = peak / bandwidth
    return -(-edge * weights // (flops - edge * cache)) if flops > edge * cache else float("inf")


def at_least_two(*given: float) -> float:
    return max(2, search(*given))


RIGHT: dict[str, list[Any]] = {
    "predict-memory": [(7184, 2.5, 20), (7190.0, 2.5, 20.0)],
    "predict-decoding": [(143, 200, 50), (142.857, 200.0, 50.0)],
    "find-batch": [search, compare_intensities],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-memory", (5000, 2.5, 20), "one pair of tokens"),
    ("predict-memory", (7184, 2.5, 17), "multiply them"),
    ("predict-decoding", (143, 200, 60), "how many FLOPs"),
    ("find-batch", at_least_two, "one text may be enough"),
    ("find-batch", lambda *given: math.inf if search(*given) > 100_000 else search(*given), "end too soon"),
]
