"""Attention against PyTorch's own: forward, with weights, causal, padded, with positions, in training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from tools.bench.timing import Call, Row, compare_two

WIDTH, HEADS = 256, 8
SIZES = ((128, 64), (1024, 8), (4096, 2))  # tokens and examples


def make_layer(positions: str, num_hiddens: int, num_heads: int) -> d2l.MultiHeadAttention:
    """A layer of attention with a position scheme."""
    scheme = d2l.make_positions(positions, num_hiddens, num_heads)[1]
    return d2l.MultiHeadAttention(*(num_hiddens,) * 4, num_heads, 0.0, True, positions=scheme).eval()


def list_pairs(n: int, b: int) -> Iterator[tuple[str, Call, Call]]:
    """Two calls that compute the same, ours and PyTorch's, and what they compute."""
    X = torch.randn(b, n, WIDTH)
    ours, theirs = make_layer("none", WIDTH, HEADS), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    lens = torch.randint(n // 2, n + 1, (b,))
    padding = torch.arange(n) >= lens[:, None]
    triangle = nn.Transformer.generate_square_subsequent_mask(n)

    def attend(**more: Any) -> Call:
        return lambda: theirs(X, X, X, **{"need_weights": False, **more})

    yield "forward", lambda: ours(X, X, X), attend()
    yield (
        "with weights",
        lambda: ours(X, X, X, need_weights=True),
        attend(need_weights=True, average_attn_weights=False),
    )
    # In training mode, since its fast path in eval ignores that a mask is causal.
    hinted = {"attn_mask": triangle, "is_causal": True, "need_weights": False}
    yield "causal", lambda: ours(X, X, X, causal=True), lambda: theirs.train()(X, X, X, **hinted)
    theirs.eval()
    yield "padded", lambda: ours(X, X, X, lens), attend(key_padding_mask=padding)


def list_training(n: int, b: int) -> Iterator[tuple[str, Call, Call]]:
    """The same with the gradients."""
    X = torch.randn(b, n, WIDTH)
    ours, theirs = make_layer("none", WIDTH, HEADS), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def step(output: Tensor, layer: nn.Module) -> None:
        output.sum().backward()
        layer.zero_grad()

    yield (
        "forward and backward",
        lambda: step(ours(X, X, X), ours),
        lambda: step(theirs(X, X, X, need_weights=False)[0], theirs),
    )


def compare_layers(device: str) -> Iterator[Row]:
    """All of these for each size."""
    with torch.device(device):
        for n, b in SIZES:
            with torch.no_grad():
                for what, ours, theirs in list_pairs(n, b):
                    yield compare_two(f"{what}, n {n}, b {b}", ours, theirs, device)
            if n < SIZES[-1][0]:
                for what, ours, theirs in list_training(n, b):
                    yield compare_two(f"{what}, n {n}, b {b}", ours, theirs, device)


def compare_positions(device: str) -> Iterator[Row]:
    """Each position scheme against none, and a bias of one's own against the bare kernel with the same bias."""
    with torch.device(device), torch.no_grad():
        X, plain = torch.randn(8, 1024, WIDTH), make_layer("none", WIDTH, HEADS)
        for name in ("rotary", "alibi", "t5", "relative", "relative-keys"):
            layer = make_layer(name, WIDTH, HEADS)
            yield compare_two(
                f"{name}, n 1024, b 8, against none",
                lambda layer=layer: layer(X, X, X),  # type: ignore[misc]
                lambda: plain(X, X, X),
                device,
            )
        Q, K, V, bias = (torch.randn(64, 1024, size) for size in (32, 32, 32, 1024))
        pooling, kernel = d2l.DotProductAttention(0.0), F.scaled_dot_product_attention
        yield compare_two(
            "a bias of one's own, against the bare kernel with it",
            lambda: pooling(Q, K, V, bias=bias),
            lambda: kernel(Q[:, None], K[:, None], V[:, None], attn_mask=bias[:, None]),
            device,
        )
