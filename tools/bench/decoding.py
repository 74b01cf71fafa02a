"""Decoding with a cache: the same GPT with our attention, with the formula written out, with the bare kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from tools.bench.timing import Row, compare


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


def compare_decoding(device: str) -> Iterator[Row]:
    """200 tokens with a cache, batch 1, d 256, 4 blocks: three layers in the same GPT, and our stack."""
    kinds = (OurAttention, PlainAttention, BareAttention)
    with torch.device(device):
        gpts = [PlainGPT(kind, 100, 256, 8, 4, 1000).eval() for kind in kinds]
        stack = d2l.DecoderOnlyTransformer(100, 256, 1024, 8, 4, 0.0, norm_first=True, positions="learned").eval()
        best = torch.full((200, 4), torch.inf, device="cpu")  # a pause hits one token, and not a whole text
        for _ in range(15):
            turns = [*map(decode, gpts), decode_stack(stack)]
            for i in range(200):
                times = compare([lambda turn=turn: next(turn) for turn in turns], 1, device)  # type: ignore[misc]
                best[i] = best[i].minimum(torch.tensor(times, device="cpu"))
    ours, plain, bare, whole = (2e5 / total for total in best.sum(0).tolist())
    for name, found in (("our attention in a GPT", ours), ("our stack", whole)):
        yield Row(f"{name}, against the formula written out", found, plain, "tokens/s")
        yield Row(f"{name}, against the bare kernel", found, bare, "tokens/s")
