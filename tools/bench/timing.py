"""How a time is taken: calls that are compared run in turns, one thread, and of each the shortest counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Call = Callable[[], Any]
REPEATS = 5


@dataclass(frozen=True)
class Row:
    """A line of a table: what was done, how much it took here, and how much what it is compared with."""

    what: str
    ours: float
    theirs: float
    unit: str

    @property
    def ratio(self) -> float:
        """How many times as much ours is."""
        return self.ours / self.theirs


def compare(calls: Sequence[Call], repeats: int, device: str = "cpu") -> list[float]:
    """The shortest time of each call in milliseconds."""
    best = [float("inf")] * len(calls)
    clock = time.process_time if device == "cpu" else time.perf_counter
    for _ in range(repeats):
        for i, call in enumerate(calls):
            _wait(device)
            begin = clock()
            call()
            _wait(device)
            best[i] = min(best[i], 1e3 * (clock() - begin))
    return best


def compare_two(what: str, ours: Call, theirs: Call, device: str) -> Row:
    """A line of the table, in milliseconds."""
    mine, other = compare([ours, theirs], REPEATS, device)
    return Row(what, mine, other, "ms")


def _wait(device: str) -> None:
    if device == "cuda":  # calls return before the GPU is done
        torch.cuda.synchronize()
