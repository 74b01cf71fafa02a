"""What is measured: times of attention beside PyTorch's, with positions, while decoding; and its memory.

Calls that are compared run in turns, one thread, and of each the shortest counts.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from tools.notebooks import TEXTS, from_text

WIDTH, HEADS = 256, 8
SIZES = ((128, 64), (1024, 8), (4096, 2))  # tokens and examples
SCHEMES = (("none", True), ("alibi", False), ("t5", False), ("alibi", True), ("relative-keys", False))


@dataclass(frozen=True)
class Row:
    """A line of a table: what was done, how much it took here, and how much what it is compared with."""

    what: str
    ours: float
    theirs: float
    unit: str


def compare(calls: list[Callable[[], Any]], device: str, repeats: int = 5) -> list[float]:
    """The shortest time of each call in milliseconds."""
    best = [math.inf] * len(calls)
    clock = time.process_time if device == "cpu" else time.perf_counter
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None  # calls return before a GPU is done
    for _ in range(repeats):
        for i, call in enumerate(calls):
            wait()
            begin = clock()
            call()
            wait()
            best[i] = min(best[i], 1e3 * (clock() - begin))
    return best


def make_layer(positions: str, num_hiddens: int, num_heads: int) -> d2l.MultiHeadAttention:
    """A layer of attention with a position scheme."""
    scheme = d2l.make_positions(positions, num_hiddens, num_heads)[1]
    return d2l.MultiHeadAttention(*(num_hiddens,) * 4, num_heads, 0.0, True, positions=scheme).eval()


def compare_layers(device: str) -> Iterator[Row]:
    """Each kind of call for each size, ours and PyTorch's; all but the longest with the gradients as well."""
    with torch.device(device):
        for n, b in SIZES:
            X, lens = torch.randn(b, n, WIDTH), torch.randint(n // 2, n + 1, (b,))
            ours, theirs = make_layer("none", WIDTH, HEADS), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
            triangle = nn.Transformer.generate_square_subsequent_mask(n)
            cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
                "forward": ({}, {}),
                "with weights": ({"need_weights": True}, {"need_weights": True, "average_attn_weights": False}),
                "causal": ({"causal": True}, {"attn_mask": triangle, "is_causal": True}),
                "padded": ({"valid_lens": lens}, {"key_padding_mask": torch.arange(n) >= lens[:, None]}),
                "forward and backward": ({}, {}),
            }
            for what, (mine, others) in cases.items():
                trains = what == "forward and backward"
                if trains and n == SIZES[-1][0]:
                    continue
                # In training mode also because its fast path in eval ignores that a mask is causal.
                theirs.train(trains or what == "causal")

                def call(layer: nn.Module, given: dict[str, Any], trains: bool = trains, X: Tensor = X) -> None:
                    with torch.set_grad_enabled(trains):
                        output = layer(X, X, X, **given)
                    if trains:
                        (output[0] if isinstance(output, tuple) else output).sum().backward()
                        layer.zero_grad()

                pair = [(ours, mine), (theirs, {"need_weights": False, **others})]
                times = compare([lambda each=each: call(*each) for each in pair], device)  # type: ignore[misc]
                yield Row(f"{what}, n {n}, b {b}", times[0], times[1], "ms")


def compare_positions(device: str) -> Iterator[Row]:
    """Each position scheme against none, and a bias of one's own against the bare kernel with the same bias."""
    with torch.device(device), torch.no_grad():
        X, plain = torch.randn(8, 1024, WIDTH), make_layer("none", WIDTH, HEADS)
        for name in ("rotary", "alibi", "t5", "relative", "relative-keys"):
            layers = (make_layer(name, WIDTH, HEADS), plain)
            times = compare([lambda layer=layer: layer(X, X, X) for layer in layers], device)  # type: ignore[misc]
            yield Row(f"{name}, n 1024, b 8, against none", times[0], times[1], "ms")
        Q, K, V, bias = (torch.randn(64, 1024, size) for size in (32, 32, 32, 1024))
        pooling, kernel = d2l.DotProductAttention(0.0), F.scaled_dot_product_attention
        calls = [
            lambda: pooling(Q, K, V, bias=bias),
            lambda: kernel(Q[:, None], K[:, None], V[:, None], attn_mask=bias[:, None]),
        ]
        times = compare(calls, device)
        yield Row("a bias of one's own, against the bare kernel with it", times[0], times[1], "ms")


def compare_decoding(device: str) -> Iterator[Row]:
    """One layer that attends to 200 tokens, one after the other, with a cache: ours, the formula, the kernel."""
    with torch.device(device), torch.no_grad():
        layer, X = make_layer("none", WIDTH, HEADS), torch.randn(1, 200, WIDTH)

        def split(W: nn.Module, x: Tensor) -> Tensor:
            return W(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)

        def decode(project: Callable[[Tensor], tuple[Tensor, Tensor]], attend: Callable[..., Tensor]) -> None:
            K = V = X.new_zeros(1, HEADS, 0, WIDTH // HEADS)
            for x in X.split(1, dim=1):
                k, v = project(x)
                K, V = torch.cat([K, k], dim=2), torch.cat([V, v], dim=2)
                attend(x, K, V)

        def plain(pool: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
            decode(
                lambda x: (split(layer.W_k, x), split(layer.W_v, x)),
                lambda x, K, V: layer.W_o(pool(split(layer.W_q, x), K, V).transpose(1, 2).flatten(2)),
            )

        calls = [
            lambda: decode(lambda x: layer.keys_and_values(x, x), lambda x, K, V: layer(x, K, V, causal=True)),
            lambda: plain(lambda Q, K, V: (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V),
            lambda: plain(F.scaled_dot_product_attention),
        ]
        ours, written_out, kernel = (2e5 / each for each in compare(calls, device, 30))
    yield Row("our attention, against the formula written out", ours, written_out, "tokens/s")
    yield Row("our attention, against the bare kernel", ours, kernel, "tokens/s")


def read_chapter() -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Causal attention in tiles of 512, by the lines that the chapter on linear memory shows."""
    cells = from_text((TEXTS / "linear-memory.md").read_text("utf-8")).cells
    shown = [cell.source for cell in cells if re.match(r"def hide_future|class TiledAttention", cell.source)]
    names: dict[str, Any] = {"torch": torch, "math": math, "d2l": d2l}
    exec("\n".join(shown), names)  # noqa: S102 (our own lines)
    return lambda Q, K, V: names["TiledAttention"].apply(Q, K, V, 512, True)


def call_kernel(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Causal attention of one head by PyTorch's kernel."""
    return F.scaled_dot_product_attention(Q[None, None], K[None, None], V[None, None], is_causal=True)[0, 0]


def measure_long(num_steps: int, tiled: bool) -> tuple[float, float]:
    """Seconds, and MB that this process adds at its peak: one causal head of size 64, there and back, in float32."""
    torch.set_num_threads(1)
    attend, peaks = read_chapter() if tiled else call_kernel, []
    for n in (512, num_steps):
        Q, K, V = (torch.randn(n, 64, requires_grad=True) for _ in range(3))
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far, that of the imports
        begin = time.perf_counter()
        attend(Q, K, V).sum().backward()
        seconds = time.perf_counter() - begin
        peaks += re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return seconds, 1.024e-3 * (int(peaks[1]) - int(peaks[0]))


def compare_long(what: int) -> Callable[[str], Iterator[Row]]:
    """The tiles of the chapter against PyTorch's kernel, each in a process of its own: seconds (0) or MB (1)."""

    def rows(_: str) -> Iterator[Row]:
        for n in (8192, 65536):
            with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
                ours, theirs = (pool.apply(measure_long, (n, tiled))[what] for tiled in (True, False))
            yield Row(f"n {n}, forward and backward", ours, theirs, ("s", "MB")[what])

    return rows


def measure_peak(positions: str, num_steps: int, causal: bool) -> int:
    """How many bytes a forward pass of one head of size 64 adds at its peak to what this process holds (on Linux)."""
    torch.set_num_threads(1)
    layer, peaks = make_layer(positions, 64, 1), []
    for n in (64, num_steps):
        X = torch.randn(1, n, 64)
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far, that of the imports
        with torch.no_grad():
            layer(X, X, X, causal=causal)
        peaks += re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * (int(peaks[1]) - int(peaks[0]))


def compare_peaks(_: str, num_steps: int = 16384) -> Iterator[Row]:
    """What each position scheme holds at its peak, against one matrix of float32, in a process of its own."""
    for positions, causal in SCHEMES:
        with get_context("spawn").Pool(1) as pool:
            peak = pool.apply(measure_peak, (positions, num_steps, causal))
        yield Row(f"{positions}{', causal' * causal}, n {num_steps}", peak / (4 * num_steps**2), 1.0, "matrices")
