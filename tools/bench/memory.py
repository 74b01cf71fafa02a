"""The most memory that a forward pass of one head holds, in matrices with a number for each pair of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from tools.bench.layers import make_layer
from tools.bench.timing import Row

SCHEMES = (("none", True), ("alibi", False), ("t5", False), ("alibi", True), ("relative-keys", False))


def attend_once(positions: str, num_steps: int, causal: bool) -> None:
    """One forward pass of one head of size 64."""
    X, layer = torch.randn(1, num_steps, 64), make_layer(positions, 64, 1)
    with torch.no_grad():
        layer(X, X, X, causal=causal)


def read_peak() -> int:
    """The most bytes that this process has held (on Linux)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return 1024 * int(found[1])


def measure_peak(queue: Any, positions: str, num_steps: int, causal: bool) -> None:
    """How many bytes a forward pass adds at its peak to what this process holds."""
    torch.set_num_threads(1)
    attend_once(positions, 64, causal)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the imports
    before = read_peak()
    attend_once(positions, num_steps, causal)
    queue.put(read_peak() - before)


def measure_matrices(positions: str, causal: bool = False, num_steps: int = 16384) -> float:
    """The peak of a forward pass in a process of its own, in units of one float32 matrix of `num_steps` squared."""
    context = get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure_peak, args=(queue, positions, num_steps, causal))
    process.start()
    peak = queue.get()
    process.join()
    return float(peak / (4 * num_steps**2))


def compare_peaks() -> Iterator[Row]:
    """What each position scheme holds at its peak, against one matrix of float32."""
    for positions, causal in SCHEMES:
        yield Row(f"{positions}{', causal' * causal}, n 16384", measure_matrices(positions, causal), 1.0, "matrices")
