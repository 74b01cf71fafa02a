"""Mixers that keep keys and values: attention, and how to keep less of it."""

import math

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.attention.numerics import multiply
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.mixers.mixer import Mixer, State


class Attention(Mixer):
    """`MultiHeadAttention`, causal. Kept: keys and values, and their positions if there is a window.

    With `num_kv_heads` below h, heads share keys and values: one for all of them is multi-query attention (Shazeer,
    2019, https://arxiv.org/abs/1911.02150), more are grouped queries (Ainslie et al., 2023,
    https://arxiv.org/abs/2305.13245). With a window, a query attends to as many last tokens, itself included (Beltagy
    et al., 2020, https://arxiv.org/abs/2004.05150), and besides to the first ones, if there are sinks (Xiao et al.,
    2023, https://arxiv.org/abs/2309.17453). With `top`, to the best-scored keys only (Gupta et al., 2021,
    https://arxiv.org/abs/2106.06899).

    >>> Attention(8, window=4, sinks=1)(torch.zeros(1, 10, 8)).shape
    torch.Size([1, 10, 8])
    """

    def __init__(
        self, d: int, h: int = 4, *, num_kv_heads: int | None = None, window: int = 0, sinks: int = 0, top: int = 0
    ) -> None:
        super().__init__(d)
        self.window, self.sinks = window, sinks
        self.attention = MultiHeadAttention(d, d, d, d, h, 0.0, num_kv_heads=num_kv_heads)
        if top:
            self.attention.pooling = TopScores(top)

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the keys and values that the next token attends to."""
        K, V = self.attention.keys_and_values(X, X)  # (batch, num_kv_heads, m, p) each
        if state:
            K, V = torch.cat([state[0], K], dim=2), torch.cat([state[1], V], dim=2)
        if not self.window:
            return self.attention(X, cache=(K, V), causal=True), (K, V)
        first = int(state[2][-1]) if state else 0  # after the positions of the keys stands that of the next token
        positions = newest = torch.arange(first, first + X.shape[1], device=X.device)
        if state:
            positions = torch.cat([state[2][:-1], positions])
        Y = self.attention(X, cache=(K, V), mask=self.find_mask(newest, positions))
        following = newest[-1:] + 1
        later = self.find_mask(following, positions)[0]  # what the next token attends to
        return Y, (K[:, :, later], V[:, :, later], torch.cat([positions[later], following]))

    def find_mask(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Who may attend to whom, `(m, n)`, for queries and keys at these positions."""
        distances = queries[:, None] - keys
        return (distances >= 0) & ((distances < self.window) | (keys < self.sinks))


class TopScores(DotProductAttention):
    """Dot products, of which each query keeps the largest; of equal ones the first."""

    fused = False

    def __init__(self, top: int) -> None:
        super().__init__(dropout=0.0)
        self.top = top

    def weigh(self, Q: Tensor, K: Tensor, allowed: Tensor | None, bias: Tensor | None) -> Tensor:
        """The weights of the keys with the largest scores, among those that a query may attend to."""
        scores = multiply(Q, K.mT) / math.sqrt(Q.shape[-1])  # (batch, h, m, n)
        scores = scores if allowed is None else scores.masked_fill(~allowed, -math.inf)
        best = scores.argsort(dim=-1, descending=True, stable=True)[..., : self.top]  # (batch, h, m, top)
        kept = torch.full_like(scores, -math.inf).scatter(-1, best, scores.gather(-1, best))  # (batch, h, m, n)
        return kept.softmax(dim=-1).to(Q.dtype)


class LatentAttention(Mixer):
    """Multi-head latent attention: keys and values are made from r numbers for each token. Kept: these alone.

    DeepSeek-AI, 2024, https://arxiv.org/abs/2405.04434, without their positions.

    >>> [tuple(part.shape) for part in LatentAttention(8, r=2).extend(torch.zeros(1, 10, 8))[1]]
    [(1, 10, 2)]
    """

    def __init__(self, d: int, h: int = 4, *, r: int = 8) -> None:
        super().__init__(d)
        self.W_down, self.attention = nn.Linear(d, r, bias=False), MultiHeadAttention(r, d, r, d, h, 0.0)

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the r numbers of each token so far."""
        C = torch.cat([*(state or ()), self.W_down(X)], dim=1)  # (batch, n, r)
        return self.attention(X, C, C, causal=True), (C,)  # the queries are the last of the keys
