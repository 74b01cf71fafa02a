"""What torchtune and Hugging Face compute, written from the formulas with their names: what a page is compared with."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

import d2lmini as d2l


def mix(Q: Tensor, K: Tensor, V: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
    """Attention of `(batch, num_heads, steps, p)` with numbers added to the scores: the output, and the weights."""
    weights = (torch.einsum("bhqp,bhkp->bhqk", Q, K) / math.sqrt(Q.shape[-1]) + added).softmax(dim=-1)
    return torch.einsum("bhqk,bhkp->bqhp", weights, V).flatten(2), weights


class _Projected(nn.Module):
    """Attention with the parameters of one of our layers."""

    def __init__(self, like: d2l.MultiHeadAttention) -> None:
        super().__init__()
        self.num_heads = like.num_heads
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = like.W_q, like.W_k, like.W_v, like.W_o

    def attend(self, x: Tensor, y: Tensor, added: Tensor) -> Tensor:
        projected = (self.q_proj(x), self.k_proj(y), self.v_proj(y))
        Q, K, V = (part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in projected)
        return self.output_proj(mix(Q, K, V, added)[0])


# ---- torchtune -------------------------------------------------------------------------------------------------------


class TorchtunesAttention(_Projected):
    """A mask is `(batch, queries, keys)`, `True` = may attend; without one attention is causal."""

    def forward(self, x: Tensor, y: Tensor, *, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            mask = torch.ones(len(x), x.shape[1], y.shape[1]).tril().bool()
        return self.attend(x, y, torch.zeros(mask.shape).masked_fill(~mask, -math.inf)[:, None])


class RotaryPositionalEmbeddings(nn.Module):
    """Adjacent features are a complex number, which is turned; `x` is `(batch, steps, num_heads, p)`."""

    def __init__(self, dim: int, max_seq_len: int = 4096, base: int = 10_000) -> None:
        super().__init__()
        angles = torch.arange(max_seq_len)[:, None] / base ** (torch.arange(0, dim, 2) / dim)
        self.turns = torch.polar(torch.ones_like(angles), angles)  # (max_seq_len, dim / 2)

    def forward(self, x: Tensor, *, input_pos: Tensor | None = None) -> Tensor:
        turns = self.turns[: x.shape[1]] if input_pos is None else self.turns[input_pos]
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns[:, None]).flatten(-2)


# ---- Hugging Face ----------------------------------------------------------------------------------------------------


class EagerAttention(_Projected):
    """Where `attention_mask`, `(batch, keys)`, is 0, the lowest number is added to the scores."""

    def forward(self, hidden_states: Tensor, attention_mask: Tensor) -> Tensor:
        added = (1.0 - attention_mask[:, None, None]) * torch.finfo(torch.float32).min
        return self.attend(hidden_states, hidden_states, added)


class Conv1D(nn.Module):
    """A linear layer whose matrix is `(inputs, outputs)`."""

    def __init__(self, nf: int, nx: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(nx, nf) / math.sqrt(nx)), nn.Parameter(torch.randn(nf))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class GPT2Attention(nn.Module):
    def __init__(self, size: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads, self.c_attn, self.c_proj = num_heads, Conv1D(3 * size, size), Conv1D(size, size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        parts = self.c_attn(hidden_states).chunk(3, dim=2)
        Q, K, V = (part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in parts)
        later = torch.full((Q.shape[2], Q.shape[2]), -math.inf).triu(1)
        return self.c_proj(mix(Q, K, V, later)[0])


def rotary_tables(steps: int, size: int) -> tuple[Tensor, Tensor]:
    """The arguments `cos` and `sin` of `apply_rotary_pos_emb`, `(1, steps, size)` each."""
    angles = torch.arange(steps)[:, None] / 10_000 ** (torch.arange(0, size, 2) / size)
    angles = torch.cat([angles, angles], dim=1)[None]
    return angles.cos(), angles.sin()


def apply_rotary_pos_emb(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Feature j and feature j + size / 2 are a pair."""
    q_turned, k_turned = (torch.cat([-x.chunk(2, dim=-1)[1], x.chunk(2, dim=-1)[0]], dim=-1) for x in (q, k))
    return q * cos[:, None] + q_turned * sin[:, None], k * cos[:, None] + k_turned * sin[:, None]


def build_alibi_tensor(attention_mask: Tensor, num_heads: int, dtype: torch.dtype) -> Tensor:
    """Slope times position of the key, `(batch * num_heads, 1, keys)`, for a number of heads that is a power of two."""
    slopes = torch.tensor([2.0 ** (-8 * (head + 1) / num_heads) for head in range(num_heads)])
    positions = (attention_mask.cumsum(dim=1) - 1) * attention_mask  # (batch, keys)
    return torch.einsum("h,bk->bhk", slopes, positions.float()).flatten(0, 1)[:, None].to(dtype)


def _relative_position_bucket(
    relative_position: Tensor, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """T5's buckets, with a logarithm that is rounded."""
    buckets = num_buckets // 2 if bidirectional else num_buckets
    distance = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    exact = buckets // 2
    share = torch.log(distance.clamp(min=exact).float() / exact) / math.log(max_distance / exact)
    far = (exact + (share * (buckets - exact)).long()).clamp(max=buckets - 1)
    later = (relative_position > 0) * buckets if bidirectional else 0
    return torch.where(distance < exact, distance, far) + later
