"""All modules of the package as functions of one sequence, so that each tool of PyTorch can be tried on each."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import d2lmini as d2l
from d2lmini.positions.by_name import IN_ATTENTION

SIZE, NUM_HEADS, VOCAB_SIZE = 16, 4, 9


class OfOneSequence(nn.Module):
    """Calls a module with one sequence `times` over, and returns what it computes without what comes with it."""

    def __init__(self, module: nn.Module, times: int = 1, lens: bool = False, **kwargs: Any) -> None:
        super().__init__()
        self.module, self.times, self.lens, self.kwargs = module, times, lens, kwargs

    def forward(self, X: Tensor) -> Tensor:
        lens = {"valid_lens": torch.full(X.shape[:1], 2, device=X.device)} if self.lens else {}
        result = self.module(*(X,) * self.times, **lens, **self.kwargs)
        return result[0] if isinstance(result, tuple) else result


class OfTokens(OfOneSequence):
    """The same for a stack: the sequence is cut into tokens."""

    def forward(self, X: Tensor) -> Tensor:
        tokens = (3 * X[..., 0].abs()).long().clamp(max=VOCAB_SIZE - 1)
        if isinstance(self.module, d2l.TransformerDecoder):
            return self.module(tokens, X, torch.full(X.shape[:1], 2, device=X.device))
        return super().forward(tokens)


class OfDecoderBlock(OfOneSequence):
    """The same for a block that looks at a memory: the sequence is its own memory."""

    def forward(self, X: Tensor) -> Tensor:
        return self.module(X, self.module.cross_attention.keys_and_values(X, X))[0]


def attention(positions: str = "none", num_kv_heads: int | None = None, **kwargs: Any) -> OfOneSequence:
    scheme = d2l.make_positions(positions, SIZE, NUM_HEADS)[1]
    sizes = (SIZE, SIZE, SIZE, SIZE, NUM_HEADS, 0.0, True)
    return OfOneSequence(d2l.MultiHeadAttention(*sizes, positions=scheme, num_kv_heads=num_kv_heads), 3, **kwargs)


def stack(kind: Any, positions: str = "sinusoidal", **kwargs: Any) -> OfOneSequence:
    return OfTokens(kind(VOCAB_SIZE, SIZE, 32, NUM_HEADS, 1, 0.0, positions=positions), **kwargs)


GUESTS: dict[str, Callable[[], OfOneSequence]] = {
    "multi-head attention": attention,
    "causal attention": lambda: attention(causal=True),
    "attention with weights": lambda: attention(need_weights=True),
    "attention with lengths": lambda: attention(lens=True),
    "grouped queries": lambda: attention(num_kv_heads=2, causal=True),
    **{f"attention, {name}": lambda name=name: attention(name, causal=True) for name in IN_ATTENTION},  # type: ignore
    "dot products": lambda: OfOneSequence(d2l.DotProductAttention(0.0), 3),
    "additive attention": lambda: OfOneSequence(d2l.AdditiveAttention(SIZE, SIZE, 8, 0.0), 3),
    "self-attention": lambda: OfOneSequence(d2l.SelfAttention(SIZE), causal=True),
    "encoder block": lambda: OfOneSequence(d2l.TransformerEncoderBlock(SIZE, 32, NUM_HEADS, 0.0), causal=True),
    "decoder block": lambda: OfDecoderBlock(d2l.TransformerDecoderBlock(SIZE, 32, NUM_HEADS, 0.0)),
    "sinusoids": lambda: OfOneSequence(d2l.PositionalEncoding(SIZE, 0.0)),
    "convolution": lambda: OfOneSequence(d2l.Convolution(SIZE, 3)),
    "separable convolution": lambda: OfOneSequence(d2l.SeparableConvolution(SIZE, 3)),
    "restricted attention": lambda: OfOneSequence(d2l.RestrictedSelfAttention(SIZE, 2)),
    "encoder": lambda: stack(d2l.TransformerEncoder, lens=True),
    "encoder, alibi": lambda: stack(d2l.TransformerEncoder, "alibi", lens=True),
    "decoder": lambda: stack(d2l.TransformerDecoder),
    "decoder only": lambda: stack(d2l.DecoderOnlyTransformer),
    "decoder only, t5": lambda: stack(d2l.DecoderOnlyTransformer, "t5"),
}

every_guest = pytest.mark.parametrize("name", list(GUESTS))
# What records a graph takes seconds for each: by day three, which hold all classes of layers, and once a week all.
BY_DAY = ("attention, t5", "encoder", "decoder")
every_guest_at_night = pytest.mark.parametrize(
    "name", [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.thorough) for name in GUESTS]
)


def invite(name: str) -> OfOneSequence:
    """A module with drawn numbers: some begin at 0, which would hide a mistake."""
    torch.manual_seed(0)
    guest = GUESTS[name]()
    for parameter in guest.parameters():
        nn.init.normal_(parameter, std=0.4)
    return guest


def example(batch: int = 3, steps: int = 6) -> Tensor:
    return torch.randn(batch, steps, SIZE, generator=torch.Generator().manual_seed(steps))


def assert_same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)
