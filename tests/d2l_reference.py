"""D2L's modules, written from their formulas with D2L's names and habits: what tests compare with.

The arguments are those of the English edition, 1.0, in which layers find the sizes of their inputs by themselves. In
0.17, and in the Chinese edition 2.0, sizes are given, and the parameters have the same names.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

HIDDEN = -1e6  # the score of a key that does not count


def masked_softmax(X: Tensor, valid_lens: Tensor | None) -> Tensor:
    """It overwrites the scores `X`."""
    if valid_lens is not None:
        lens = valid_lens[:, None] if valid_lens.dim() == 1 else valid_lens  # (batch, 1 or queries)
        X.masked_fill_(torch.arange(X.shape[-1]) >= lens[..., None], HIDDEN)
    return X.softmax(dim=-1)


class DotProductAttention(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(queries.shape[-1])
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights) @ values


class AdditiveAttention(nn.Module):
    def __init__(self, num_hiddens: int, dropout: float) -> None:
        super().__init__()
        self.W_k = nn.LazyLinear(num_hiddens, bias=False)
        self.W_q = nn.LazyLinear(num_hiddens, bias=False)
        self.w_v = nn.LazyLinear(1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None) -> Tensor:
        pairs = self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]  # (batch, queries, keys, num_hiddens)
        self.attention_weights = masked_softmax(self.w_v(pairs.tanh())[..., 0], valid_lens)
        return self.dropout(self.attention_weights) @ values


class MultiHeadAttention(nn.Module):
    def __init__(self, num_hiddens: int, num_heads: int, dropout: float, bias: bool = False) -> None:
        super().__init__()
        self.num_heads, self.attention = num_heads, DotProductAttention(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.LazyLinear(num_hiddens, bias=bias) for _ in range(4))

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None) -> Tensor:
        lens = None if valid_lens is None else valid_lens.repeat_interleave(self.num_heads, dim=0)
        projected = (self.W_q(queries), self.W_k(keys), self.W_v(values))
        return self.W_o(self.transpose_output(self.attention(*map(self.transpose_qkv, projected), lens)))

    def transpose_qkv(self, X: Tensor) -> Tensor:
        return torch.cat([torch.stack(example.chunk(self.num_heads, dim=-1)) for example in X])

    def transpose_output(self, X: Tensor) -> Tensor:
        return torch.stack([torch.cat(list(heads), dim=-1) for heads in X.split(self.num_heads)])


class PositionWiseFFN(nn.Module):
    def __init__(self, ffn_num_hiddens: int, ffn_num_outputs: int) -> None:
        super().__init__()
        self.dense1, self.dense2 = nn.LazyLinear(ffn_num_hiddens), nn.LazyLinear(ffn_num_outputs)

    def forward(self, X: Tensor) -> Tensor:
        return self.dense2(self.dense1(X).clamp(min=0))


class AddNorm(nn.Module):
    def __init__(self, norm_shape: int | list[int], dropout: float) -> None:
        super().__init__()
        self.dropout, self.ln = nn.Dropout(dropout), nn.LayerNorm(norm_shape)

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        return self.ln(X + self.dropout(Y))


class PositionalEncoding(nn.Module):
    """Its angles are in float32, and the first token is always at position 0."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        positions = torch.arange(max_len, dtype=torch.float32)[:, None]
        angles = positions / 10000 ** (torch.arange(0, num_hiddens, 2, dtype=torch.float32) / num_hiddens)
        self.P = torch.stack([angles.sin(), angles.cos()], dim=2).reshape(1, max_len, num_hiddens)

    def forward(self, X: Tensor) -> Tensor:
        return self.dropout(X + self.P[:, : X.shape[1]])


class TransformerEncoderBlock(nn.Module):
    def __init__(
        self, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, dropout: float, use_bias: bool = False
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(num_hiddens, num_heads, dropout, use_bias)
        self.addnorm1, self.addnorm2 = AddNorm(num_hiddens, dropout), AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(ffn_num_hiddens, num_hiddens)

    def forward(self, X: Tensor, valid_lens: Tensor | None) -> Tensor:
        X = self.addnorm1(X, self.attention(X, X, X, valid_lens))
        return self.addnorm2(X, self.ffn(X))


# Memory, how many of its tokens count, and the past of each block.
State = tuple[Tensor, Tensor | None, list[Tensor | None]]


class TransformerDecoderBlock(nn.Module):
    """Causal in training only: in evaluation, each query attends to all tokens that it is given."""

    def __init__(self, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, dropout: float, i: int) -> None:
        super().__init__()
        self.i = i
        self.attention1 = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.attention2 = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm1, self.addnorm2, self.addnorm3 = (AddNorm(num_hiddens, dropout) for _ in range(3))
        self.ffn = PositionWiseFFN(ffn_num_hiddens, num_hiddens)

    def forward(self, X: Tensor, state: State) -> tuple[Tensor, State]:
        memory, memory_valid_lens, past = state
        past[self.i] = X if past[self.i] is None else torch.cat([past[self.i], X], dim=1)
        lens = torch.arange(1, X.shape[1] + 1).expand(len(X), -1) if self.training else None
        X = self.addnorm1(X, self.attention1(X, past[self.i], past[self.i], lens))
        X = self.addnorm2(X, self.attention2(X, memory, memory, memory_valid_lens))
        return self.addnorm3(X, self.ffn(X)), state


class _Stack(nn.Module):
    """Embeddings are multiplied by the root of their size, for the sake of the positions that are added."""

    def __init__(self, vocab_size: int, num_hiddens: int, dropout: float, blocks: list[nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding, self.blks = PositionalEncoding(num_hiddens, dropout), nn.Sequential()
        for i, block in enumerate(blocks):
            self.blks.add_module(f"block{i}", block)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.pos_encoding(self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim))


class TransformerEncoder(_Stack):
    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blks: int,
        dropout: float,
        use_bias: bool = False,
    ) -> None:
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout, use_bias)
        blocks: list[nn.Module] = [TransformerEncoderBlock(*sizes) for _ in range(num_blks)]
        super().__init__(vocab_size, num_hiddens, dropout, blocks)

    def forward(self, tokens: Tensor, valid_lens: Tensor | None) -> Tensor:
        X = self.embed(tokens)
        for block in self.blks:
            X = block(X, valid_lens)
        return X


class TransformerDecoder(_Stack):
    def __init__(
        self, vocab_size: int, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, num_blks: int, dropout: float
    ) -> None:
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout)
        blocks: list[nn.Module] = [TransformerDecoderBlock(*sizes, i) for i in range(num_blks)]
        super().__init__(vocab_size, num_hiddens, dropout, blocks)
        self.dense = nn.LazyLinear(vocab_size)

    def init_state(self, enc_outputs: Tensor, enc_valid_lens: Tensor | None) -> State:
        return enc_outputs, enc_valid_lens, [None] * len(self.blks)

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        X = self.embed(tokens)
        for block in self.blks:
            X, state = block(X, state)
        return self.dense(X), state
