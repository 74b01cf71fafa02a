"""What the package costs in time and memory beside PyTorch: `python -m tools.package_speed`. It is not a test.

One thread. The calls that are compared run in turns; of each the shortest time counts.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l

Call = Callable[[], Any]


def compare(calls: Sequence[Call], repeats: int) -> list[float]:
    """The shortest time of each call in milliseconds."""
    best = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            begin = time.process_time()
            call()
            best[i] = min(best[i], 1e3 * (time.process_time() - begin))
    return best


def make_layer(positions: str, num_hiddens: int, num_heads: int) -> d2l.MultiHeadAttention:
    """A layer of attention with a position scheme."""
    scheme = d2l.make_positions(positions, num_hiddens, num_heads)[1]
    return d2l.MultiHeadAttention(*(num_hiddens,) * 4, num_heads, 0.0, True, positions=scheme).eval()


def compare_causal() -> list[float]:
    """Causal attention against `nn.MultiheadAttention`: n 4096, b 2, d 256, h 8."""
    X = torch.randn(2, 4096, 256)
    ours, theirs = make_layer("none", 256, 8), nn.MultiheadAttention(256, 8, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(4096)
    hinted = {"attn_mask": mask, "is_causal": True, "need_weights": False}
    return compare([lambda: ours(X, X, X, causal=True), lambda: theirs.train()(X, X, X, **hinted)], 5)


def compare_alibi() -> list[float]:
    """ALiBi against no positions: n 1024, b 8, d 256, h 8."""
    X = torch.randn(8, 1024, 256)
    layers = [make_layer("alibi", 256, 8), make_layer("none", 256, 8)]
    return compare([lambda layer=layer: layer(X, X, X) for layer in layers], 7)  # type: ignore[misc]


def compare_bias() -> list[float]:
    """A bias of one's own against the bare kernel with the same bias: 64 times 1024 x 1024, size 32."""
    Q, K, V = (torch.randn(64, 1024, 32) for _ in range(3))
    bias = torch.randn(64, 1024, 1024)
    pooling = d2l.DotProductAttention(0.0)
    kernel = F.scaled_dot_product_attention
    bare: Call = lambda: kernel(Q[:, None], K[:, None], V[:, None], attn_mask=bias[:, None])  # noqa: E731
    return compare([lambda: pooling(Q, K, V, bias=bias), bare], 7)


class PlainAttention(nn.Module):
    """Cached causal self-attention in PyTorch alone, its formula written out, as textbooks on GPT have it."""

    def __init__(self, num_hiddens: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(num_hiddens, num_hiddens, bias=False) for _ in range(4))

    def forward(self, X: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend to the tokens so far."""
        parts = (W(X).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v))
        Q, K, V = parts
        if past is not None:
            K, V = torch.cat([past[0], K], dim=2), torch.cat([past[1], V], dim=2)
        return self.W_o(self.pool(Q, K, V).transpose(1, 2).flatten(2)), (K, V)

    def pool(self, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        """Scores, softmax, mixture."""
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + K.shape[2] - Q.shape[2])
        return scores.masked_fill_(later, -torch.inf).softmax(dim=-1) @ V


class BareAttention(PlainAttention):
    """The same with a call of the kernel, and nothing else."""

    def pool(self, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        """All in one."""
        return F.scaled_dot_product_attention(Q, K, V, is_causal=Q.shape[2] == K.shape[2])


class OurAttention(nn.Module):
    """The same with the attention of this package."""

    def __init__(self, num_hiddens: int, num_heads: int) -> None:
        super().__init__()
        self.attention = d2l.MultiHeadAttention(*(num_hiddens,) * 4, num_heads, 0.0)

    def forward(self, X: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend to the tokens so far."""
        K, V = self.attention.keys_and_values(X, X)
        if past is not None:
            K, V = torch.cat([past[0], K], dim=2), torch.cat([past[1], V], dim=2)
        return self.attention(X, K, V, causal=True), (K, V)


class PlainGPT(nn.Module):
    """`DecoderOnlyTransformer` with learned positions and pre-norm, in PyTorch alone but for its attention."""

    def __init__(
        self, attention: type[nn.Module], vocab_size: int, num_hiddens: int, num_heads: int, num_blks: int, max_len: int
    ) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab_size, num_hiddens), nn.Embedding(max_len, num_hiddens)
        self.attentions = nn.ModuleList(attention(num_hiddens, num_heads) for _ in range(num_blks))
        self.ffns = nn.ModuleList(
            nn.Sequential(nn.Linear(num_hiddens, 4 * num_hiddens), nn.ReLU(), nn.Linear(4 * num_hiddens, num_hiddens))
            for _ in range(num_blks)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(num_hiddens) for _ in range(2 * num_blks + 1))
        self.dropout = nn.Dropout(0.0)
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def forward(self, tokens: Tensor, past: list[Any], first: int) -> tuple[Tensor, list[Any]]:
        """Logits of the next token, and what to keep."""
        X = self.embedding(tokens) + self.positions(torch.arange(first, first + tokens.shape[1]))
        X, kept = self.dropout(X), []
        for i, (attention, ffn) in enumerate(zip(self.attentions, self.ffns, strict=True)):
            found, present = attention(self.norms[2 * i](X), past[i] if past else None)
            kept.append(present)
            X = X + self.dropout(found)
            X = X + self.dropout(ffn(self.norms[2 * i + 1](X)))
        return self.dense(self.norms[-1](X)), kept


def decode(gpt: PlainGPT) -> Iterator[None]:
    """Decode one token after the other."""
    tokens, past = torch.zeros(1, 1, dtype=torch.long), list[Any]()
    for i in range(200):
        logits, past = gpt(tokens, past, i)
        tokens = logits[:, -1:].argmax(-1)
        yield


def decode_stack(stack: d2l.DecoderOnlyTransformer) -> Iterator[None]:
    """Decode one token after the other."""
    tokens, state = torch.zeros(1, 1, dtype=torch.long), stack.start()
    for _ in range(200):
        logits, state, _ = stack.step(tokens, state)
        tokens = logits[:, -1:].argmax(-1)
        yield


def compare_decoding() -> list[float]:
    """200 tokens with a cache, batch 1, d 256, 4 blocks: three layers in the same GPT, and our stack."""
    gpts = [PlainGPT(kind, 100, 256, 8, 4, 1000).eval() for kind in (OurAttention, PlainAttention, BareAttention)]
    stack = d2l.DecoderOnlyTransformer(100, 256, 1024, 8, 4, 0.0, norm_first=True, positions="learned").eval()
    best = torch.full((200, 4), torch.inf)  # each token on its own: a pause hits one of them, and not a whole text
    for _ in range(15):
        turns = [*map(decode, gpts), decode_stack(stack)]
        for i in range(200):
            times = compare([lambda turn=turn: next(turn) for turn in turns], 1)  # type: ignore[misc]
            best[i] = best[i].minimum(torch.tensor(times))
    return best.sum(0).tolist()


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


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, call in (
            ("causal forward, n 4096, against nn.MultiheadAttention", compare_causal),
            ("ALiBi, n 1024, b 8, against no positions", compare_alibi),
            ("a bias, against the bare kernel with the same bias", compare_bias),
        ):
            ours, theirs = call()
            print(f"{name}: {ours:.0f} ms, {theirs:.0f} ms, ratio {ours / theirs:.2f}", flush=True)
        ours, plain, bare, stack = compare_decoding()
        print(f"decoding, tokens per second: our layer in a GPT {2e5 / ours:.0f}, our stack {2e5 / stack:.0f};")
        print(
            f"    the GPT with the formula written out {2e5 / plain:.0f}: {plain / ours:.2f} and {plain / stack:.2f};"
        )
        print(f"    with the bare kernel {2e5 / bare:.0f}: {bare / ours:.2f} and {bare / stack:.2f}", flush=True)
    for positions, causal in (
        ("none", True),
        ("alibi", False),
        ("t5", False),
        ("alibi", True),
        ("relative-keys", False),
    ):
        matrices = measure_matrices(positions, causal)
        print(f"peak, one head, n 16384, {positions}{', causal' * causal}: {matrices:.2f} matrices", flush=True)


if __name__ == "__main__":
    main()
