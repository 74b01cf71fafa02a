"""Sixteen ways to mix a sequence, all causal, with one interface: attention and its relatives, and fixed states.

`Y, state = mixer.extend(X, state)` reads m more tokens, `(batch, m, d)`, and returns as many outputs: a whole sequence
at once, or one token at a time. The state is all that a mixer keeps of what it has read, `None` before the first token.
`mixer(X)` is the first of the two. `make_mixers` makes them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.checks import check_size

__all__ = ["Mixer", "count_state_bytes", "make_mixers"]

State = tuple[Tensor, ...]


class Mixer(nn.Module):
    """A layer from `(batch, n, d)` to `(batch, n, d)` that can also go on from a state.

    Chapter: What is kept.
    """

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, `(batch, m, d)`, and what is kept of all tokens so far."""
        raise NotImplementedError

    def forward(self, X: Tensor) -> Tensor:
        """The outputs of a whole sequence, `(batch, n, d)`."""
        return self.extend(X)[0]


class Convolutions(Mixer):
    """Causal convolutions, one on the other. Kept: the last inputs of each."""

    def __init__(self, d: int, kernel_size: int, dilations: tuple[int, ...] = (1,), *, separable: bool = False) -> None:
        super().__init__()
        groups, self.kernel_size, self.dilations = d if separable else 1, kernel_size, dilations
        self.convs = nn.ModuleList(
            nn.Conv1d(d, d, kernel_size, dilation=r, groups=groups, bias=False) for r in dilations
        )
        self.mix = nn.Linear(d, d, bias=False) if separable else nn.Identity()

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the last inputs of each convolution."""
        Y, kept = X.mT, []  # (batch, d, m)
        for i, conv in enumerate(self.convs):
            Y = F.relu(Y) if i else Y
            span = (self.kernel_size - 1) * self.dilations[i]
            Y = torch.cat([state[i], Y], dim=2) if state else F.pad(Y, (span, 0))
            kept.append(Y[:, :, Y.shape[2] - span :])  # (batch, d, span)
            Y = conv(Y)
        return self.mix(Y.mT), tuple(kept)


class Recurrent(Mixer):
    """A recurrent layer of PyTorch: `nn.RNN`, `nn.GRU` or `nn.LSTM`. Kept: its state."""

    def __init__(self, d: int, kind: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.layer = kind(d, d, bias=False, batch_first=True)

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the state after the last."""
        several = isinstance(self.layer, nn.LSTM)
        Y, last = self.layer(X, state if several or state is None else state[0])
        return Y, last if several else (last,)


class Attention(Mixer):
    """Attention of h heads, with one key and value for each group of heads. Kept: keys, values and their places.

    With a window, a query sees as many last tokens, itself included, and besides the first ones, if there are sinks.
    With `top`, it sees the best-scored keys only.
    """

    def __init__(self, d: int, h: int = 4, *, groups: int = 0, window: int = 0, sinks: int = 0, top: int = 0) -> None:
        super().__init__()
        self.groups, self.p, self.window, self.sinks, self.top = groups or h, d // h, window, sinks, top
        self.W_q, self.W_o = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.W_kv = nn.Linear(d, 2 * self.groups * self.p, bias=False)

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the keys, values and places that the next token sees."""
        K, V = self.W_kv(X).unflatten(2, (2, self.groups, self.p)).permute(2, 0, 3, 1, 4)  # (batch, g, m, p)
        begin = int(state[2][-1]) + 1 if state else 0
        places = torch.arange(begin, begin + X.shape[1])
        asking = places[:, None]
        if state:
            K, V = torch.cat([state[0], K], dim=2), torch.cat([state[1], V], dim=2)
            places = torch.cat([state[2], places])
        Y = self.W_o(self.attend(X, K, V, self.find_seen(asking, places)))
        kept = self.find_seen(asking[-1:] + 1, places)[0] if self.window else slice(None)  # what the next one sees
        return Y, (K[:, :, kept], V[:, :, kept], places[kept])

    def find_seen(self, asking: Tensor, places: Tensor) -> Tensor:
        """The mask `(m, n)`: which places, `(n,)`, a query at each place asking, `(m, 1)`, may attend to."""
        seen = places <= asking
        return seen & ((places > asking - self.window) | (places < self.sinks)) if self.window else seen

    def attend(self, X: Tensor, K: Tensor, V: Tensor, seen: Tensor) -> Tensor:
        """The mixtures `(batch, m, d)` of all heads: keys and values `(batch, groups, n, p)`, mask `(m, n)`."""
        Q = self.W_q(X).unflatten(2, (self.groups, -1, self.p)).permute(0, 2, 3, 1, 4)  # (batch, g, h / g, m, p)
        S = Q @ K[:, :, None].mT / math.sqrt(self.p)  # (batch, g, h / g, m, n)
        S = S.masked_fill(~seen, -math.inf)
        if 0 < self.top < S.shape[-1]:
            least = S.topk(self.top).values[..., -1:]
            S = S.masked_fill(least > S, -math.inf)
        return (S.softmax(dim=-1) @ V[:, :, None]).permute(0, 3, 1, 2, 4).flatten(2)


class LatentAttention(Mixer):
    """Multi-head latent attention: keys and values are made from r numbers for each token. Kept: these alone."""

    def __init__(self, d: int, h: int = 4, *, r: int = 8) -> None:
        super().__init__()
        self.W_down, self.attention = nn.Linear(d, r, bias=False), Attention(d, h)
        self.attention.W_kv = nn.Linear(r, 2 * d, bias=False)

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the r numbers of each token so far."""
        C = torch.cat([*(state or ()), self.W_down(X)], dim=1)  # (batch, n, r)
        K, V = self.attention.W_kv(C).unflatten(2, (2, self.attention.groups, -1)).permute(2, 0, 3, 1, 4)
        places = torch.arange(C.shape[1])
        seen = self.attention.find_seen(places[-X.shape[1] :, None], places)
        return self.attention.W_o(self.attention.attend(X, K, V, seen)), (C,)


class LinearAttention(Mixer):
    """Weights φ(q)·φ(k) without a softmax, φ = elu + 1, divided by their sum. Kept: Σ φ(k) vᵀ and Σ φ(k)."""

    def __init__(self, d: int, h: int = 4) -> None:
        super().__init__()
        self.h = h
        self.W_qkv, self.W_o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the sums S, `(batch, h, p, p)`, and z, `(batch, h, p, 1)`."""
        Q, K, V = self.W_qkv(X).unflatten(2, (3, self.h, -1)).permute(2, 0, 3, 1, 4)  # (batch, h, m, p)
        Q, K = F.elu(Q) + 1, F.elu(K) + 1
        A = (Q @ K.mT).tril()  # (batch, h, m, m)
        Y, total = A @ V, A.sum(dim=3, keepdim=True)
        S, z = K.mT @ V, K.sum(dim=2)[..., None]  # (batch, h, p, p), (batch, h, p, 1)
        if state:
            Y, total = Y + Q @ state[0], total + Q @ state[1]
            S, z = S + state[0], z + state[1]
        return self.W_o((Y / total).transpose(1, 2).flatten(2)), (S, z)


class GatedDelta(Mixer):
    """Write a value by the difference to what its key finds, after all has faded a little. Kept: a matrix per head.

    S ← a S,  S ← S + b k (v - Sᵀk)ᵀ,  y = Sᵀq
    """

    def __init__(self, d: int, h: int = 4) -> None:
        super().__init__()
        self.h = h
        self.W_qkv, self.W_o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.gates = nn.Linear(d, 2 * h)
        nn.init.constant_(self.gates.bias[:h], 4.0)  # at first hardly anything fades

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the matrix of each head, `(batch, h, p, p)`."""
        Q, K, V = self.W_qkv(X).unflatten(2, (3, self.h, -1)).permute(2, 1, 0, 3, 4)  # (m, batch, h, p)
        Q, K = F.normalize(Q, dim=3), F.normalize(K, dim=3)
        fade, write = torch.sigmoid(self.gates(X).unflatten(2, (2, self.h, 1)).permute(2, 1, 0, 3, 4))
        S = state[0] if state else X.new_zeros(*K.shape[1:], K.shape[3])  # (batch, h, p, p)
        outputs = []
        for q, k, v, a, b in zip(Q, K, V, fade, write, strict=True):
            S = a[..., None] * S
            found = (k[..., None, :] @ S)[..., 0, :]  # (batch, h, p)
            S = S + (b * k)[..., None] * (v - found)[..., None, :]
            outputs.append((q[..., None, :] @ S)[..., 0, :])
        return self.W_o(torch.stack(outputs, dim=1).flatten(2)), (S,)


class StateSpace(Mixer):
    """A linear recurrence for each feature, N numbers wide and without mixing, by a scan. Kept: its N numbers.

    z ← a ⊙ z + b x,  y = c·z
    """

    def __init__(self, d: int, N: int = 8) -> None:
        super().__init__()
        self.log_rates = nn.Parameter(torch.linspace(-5, 0, N).repeat(d, 1))  # a = exp(-exp(log rate))
        self.b, self.c = nn.Parameter(torch.randn(d, N)), nn.Parameter(torch.randn(d, N) / N)
        self.W_o = nn.Linear(d, d, bias=False)

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the last N numbers of each feature, `(batch, 1, d, N)`."""
        a = (-self.log_rates.exp()).exp()  # (d, N)
        Z = X[..., None] * self.b  # (batch, m, d, N)
        if state:
            Z = torch.cat([Z[:, :1] + a * state[0], Z[:, 1:]], dim=1)
        step = 1
        while step < X.shape[1]:  # after it, each entry holds what came from 2 * step places
            first, rest = Z.split([step, X.shape[1] - step], dim=1)
            Z = torch.cat([first, rest + a**step * Z.split([X.shape[1] - step, step], dim=1)[0]], dim=1)
            step *= 2
        return self.W_o((Z * self.c).sum(dim=3)), (Z[:, -1:],)


def make_mixers(d: int) -> dict[str, Callable[[], Mixer]]:
    """What makes each of the sixteen mixers, by name, for tokens of d numbers; attention has four heads.

    Chapter: What is kept.

    Raises:
        ValueError: if d is not a multiple of 4, as many numbers as there are heads.
    """
    check_size("d", d)
    if d % 4:
        raise ValueError(f"d must be a multiple of 4, the number of heads, got {d}")
    return {
        "convolution": lambda: Convolutions(d, 4),
        "separable convolution": lambda: Convolutions(d, 4, separable=True),
        "dilated convolutions": lambda: Convolutions(d, 2, (1, 2, 4, 8, 16)),
        "RNN": lambda: Recurrent(d, nn.RNN),
        "GRU": lambda: Recurrent(d, nn.GRU),
        "LSTM": lambda: Recurrent(d, nn.LSTM),
        "multi-head attention": lambda: Attention(d),
        "multi-query attention": lambda: Attention(d, groups=1),
        "grouped-query attention": lambda: Attention(d, groups=2),
        "latent attention": lambda: LatentAttention(d, r=d // 2),
        "window": lambda: Attention(d, window=16),
        "window and sinks": lambda: Attention(d, window=16, sinks=4),
        "top-k attention": lambda: Attention(d, top=8),
        "linear attention": lambda: LinearAttention(d),
        "gated delta rule": lambda: GatedDelta(d),
        "state-space model": lambda: StateSpace(d),
    }


def count_state_bytes(mixer: Mixer, X: Tensor) -> int:
    """Bytes of the numbers that a mixer keeps of `X`, `(batch, n, d)`, to go on with the next token.

    Chapter: What is kept.
    """
    with torch.no_grad():
        _, state = mixer.extend(X)
    return sum(part.nbytes for part in state if part.is_floating_point())
