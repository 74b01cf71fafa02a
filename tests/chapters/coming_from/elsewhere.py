"""What torchtune and Hugging Face compute, written from the formulas with their names: what a page is compared with."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
from torch import Tensor, nn

import d2lmini as d2l


def mix(Q: Tensor, K: Tensor, V: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
    """Attention of `(batch, num_heads, steps, p)` with numbers added to the scores: the output, and the weights."""
    weights = (torch.einsum("bhqp,bhkp->bhqk", Q, K) / math.sqrt(Q.shape[-1]) + added).softmax(dim=-1)
    return torch.einsum("bhqk,bhkp->bqhp", weights, V).flatten(2), weights


# ---- torchtune -------------------------------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    """A mask is `(batch, queries, keys)`, `True` = may attend; without one attention is causal."""

    def __init__(
        self,
        *,
        embed_dim: int,
        num_heads: int,
        num_kv_heads: int,
        head_dim: int,
        q_proj: nn.Module,
        k_proj: nn.Module,
        v_proj: nn.Module,
        output_proj: nn.Module,
    ) -> None:
        super().__init__()
        assert embed_dim == num_heads * head_dim and num_heads % num_kv_heads == 0
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = q_proj, k_proj, v_proj, output_proj

    def forward(self, x: Tensor, y: Tensor, *, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            mask = torch.ones(len(x), x.shape[1], y.shape[1]).tril().bool()
        added = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)[:, None]
        projected = (self.q_proj(x), self.k_proj(y), self.v_proj(y))
        Q, K, V = (part.unflatten(2, (-1, self.head_dim)).transpose(1, 2) for part in projected)
        mine = torch.arange(self.num_heads) * self.num_kv_heads // self.num_heads  # whose keys a head has
        return self.output_proj(mix(Q, K[:, mine], V[:, mine], added)[0])


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


class EagerAttention(nn.Module):
    """Where `attention_mask`, `(batch, keys)`, is 0, the lowest number is added to the scores."""

    def __init__(self, like: d2l.MultiHeadAttention) -> None:
        super().__init__()
        self.num_heads, self.parts, self.dense = like.num_heads, [like.W_q, like.W_k, like.W_v], like.W_o

    def forward(self, hidden_states: Tensor, attention_mask: Tensor) -> Tensor:
        added = (1.0 - attention_mask[:, None, None]) * torch.finfo(torch.float32).min
        projected = (part(hidden_states) for part in self.parts)
        Q, K, V = (part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in projected)
        return self.dense(mix(Q, K, V, added)[0])


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


class CausalModel(nn.Module):
    """A causal language model of PyTorch's layers. What it keeps are the tokens, so that nothing is saved."""

    def __init__(self, vocab_size: int, size: int, num_heads: int, ffn: int, num_layers: int) -> None:
        super().__init__()
        self.embedding, self.dense = nn.Embedding(vocab_size, size), nn.Linear(size, vocab_size)
        layers = (nn.TransformerEncoderLayer(size, num_heads, ffn, 0.0, batch_first=True) for _ in range(num_layers))
        self.layers, self.P = nn.ModuleList(layers), d2l.PositionalEncoding(size, 0.0).P[0]

    def forward(
        self,
        input_ids: Tensor,
        past_key_values: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
    ) -> SimpleNamespace:
        tokens = input_ids if past_key_values is None else torch.cat([past_key_values, input_ids], dim=1)
        steps = torch.arange(tokens.shape[1])
        X = self.embedding(tokens) + self.P[steps if position_ids is None else position_ids]
        counts = torch.ones_like(tokens) if attention_mask is None else attention_mask
        allowed = (steps <= steps[:, None]) & counts.bool()[:, None] | torch.eye(len(steps)).bool()
        for layer in self.layers:
            X = layer(X, src_mask=~allowed.repeat_interleave(layer.self_attn.num_heads, dim=0))
        return SimpleNamespace(logits=self.dense(X[:, -input_ids.shape[1] :]), past_key_values=tokens)


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
