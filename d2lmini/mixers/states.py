"""Mixers that keep a state of fixed size."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.numerics import at_least_float32, without_autocast
from d2lmini.mixers.mixer import Mixer, State

CHUNK = 16  # tokens that linear attention reads at once


class Convolutions(Mixer):
    """Causal convolutions, one on the other (van den Oord et al., 2016, https://arxiv.org/abs/1609.03499).

    Separable: one filter for each feature, then a mixing of features (Chollet, 2017, https://arxiv.org/abs/1610.02357).
    Kept: the last inputs of each.

    >>> [tuple(part.shape) for part in Convolutions(8, kernel_size=4).extend(torch.zeros(1, 10, 8))[1]]
    [(1, 8, 3)]
    """

    def __init__(self, d: int, kernel_size: int, dilations: tuple[int, ...] = (1,), *, separable: bool = False) -> None:
        super().__init__(d)
        groups, self.kernel_size, self.dilations = d if separable else 1, kernel_size, dilations
        self.convs = nn.ModuleList(
            nn.Conv1d(d, d, kernel_size, dilation=r, groups=groups, bias=False) for r in dilations
        )
        self.mix = nn.Linear(d, d, bias=False) if separable else nn.Identity()

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the last inputs of each convolution."""
        Y, kept = X.mT, []  # (batch, d, m)
        for i, conv in enumerate(self.convs):
            Y = F.relu(Y) if i else Y
            span = (self.kernel_size - 1) * self.dilations[i]
            Y = torch.cat([state[i], Y], dim=2) if state else F.pad(Y, (span, 0))
            kept.append(Y[:, :, Y.shape[2] - span :].clone())  # (batch, d, span); a slice would keep all of Y alive
            Y = conv(Y)
        return self.mix(Y.mT), tuple(kept)


class Recurrent(Mixer):
    """A recurrent layer of PyTorch. Kept: its state.

    `nn.RNN` (Elman, 1990, https://doi.org/10.1207/s15516709cog1402_1), `nn.GRU` (Cho et al., 2014,
    https://arxiv.org/abs/1406.1078) or `nn.LSTM` (Hochreiter and Schmidhuber, 1997,
    https://doi.org/10.1162/neco.1997.9.8.1735).

    >>> Recurrent(8, nn.GRU)(torch.zeros(1, 10, 8)).shape
    torch.Size([1, 10, 8])
    """

    def __init__(self, d: int, kind: Callable[..., nn.Module]) -> None:
        super().__init__(d)
        self.layer = kind(d, d, bias=False, batch_first=True)

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the state after the last."""
        several, dtype = isinstance(self.layer, nn.LSTM), next(self.layer.parameters()).dtype
        kept = [part.to(dtype) for part in state or ()]
        with without_autocast(X.device):  # PyTorch's layers of half precision exist on some devices only
            Y, last = self.layer(X.to(dtype), None if state is None else tuple(kept) if several else kept[0])
        return Y.to(X.dtype), last if several else (last,)


class LinearAttention(Mixer):
    """Weights φ(q)·φ(k) without a softmax, φ = elu + 1, divided by their sum. Kept: Σ φ(k) vᵀ and Σ φ(k).

    Tokens are read in chunks of 16: weights within a chunk, and the sums for all before it, so the work grows with n.

    Katharopoulos et al., 2020, https://arxiv.org/abs/2006.16236.

    >>> [tuple(part.shape) for part in LinearAttention(8).extend(torch.zeros(1, 10, 8))[1]]
    [(1, 4, 2, 2), (1, 4, 2, 1)]
    """

    def __init__(self, d: int, h: int = 4) -> None:
        super().__init__(d)
        self.h = h
        self.W_qkv, self.W_o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the sums S, `(batch, h, p, p)`, and z, `(batch, h, p, 1)`."""
        QKV = at_least_float32(self.W_qkv(X))  # the sums of a long text, and 1 / total, are too large for fewer bits
        Q, K, V = QKV.unflatten(2, (3, self.h, -1)).permute(2, 0, 3, 1, 4)  # (batch, h, m, p) each
        Q, K = make_positive(Q), make_positive(K)
        S = state[0] if state else K.new_zeros(*K.shape[:2], K.shape[3], V.shape[3])  # (batch, h, p, p)
        z = state[1] if state else K.new_zeros(*K.shape[:2], K.shape[3], 1)  # (batch, h, p, 1)
        outputs = []
        for q, k, v in zip(*(T.split(CHUNK, dim=2) for T in (Q, K, V)), strict=True):
            A = (q @ k.mT).tril()  # (batch, h, chunk, chunk)
            outputs.append((A @ v + q @ S) / (A.sum(dim=3, keepdim=True) + q @ z))
            S, z = S + k.mT @ v, z + k.sum(dim=2)[..., None]
        return self.W_o(torch.cat(outputs, dim=2).transpose(1, 2).flatten(2).to(X.dtype)), (S, z)


def make_positive(X: Tensor) -> Tensor:
    """φ(x) = elu(x) + 1: x + 1 for positive numbers, and for negative ones exp(x), which that sum would round to 0.

    It stays so large that no product of two is 0: a query whose weights are all 0 would have no mean.
    """
    lowest = math.log(torch.finfo(X.dtype).tiny) / 2
    return torch.where(X > 0, X + 1, X.clamp(min=lowest, max=0).exp())


class GatedDelta(Mixer):
    """Write a value by the difference to what its key finds, after all has faded a little. Kept: a matrix per head.

        S ← α S,  S ← S + β k (v - Sᵀk)ᵀ,  y = Sᵀq

    Yang et al., 2024, https://arxiv.org/abs/2412.06464; without α, Schlag et al., 2021,
    https://arxiv.org/abs/2102.11174.

    >>> [tuple(part.shape) for part in GatedDelta(8).extend(torch.zeros(1, 10, 8))[1]]
    [(1, 4, 2, 2)]
    """

    def __init__(self, d: int, h: int = 4) -> None:
        super().__init__(d)
        self.h = h
        self.W_qkv, self.W_o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.gates = nn.Linear(d, 2 * h)
        nn.init.constant_(self.gates.bias[:h], 4.0)  # at first hardly anything fades

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of more tokens, and the matrix of each head, `(batch, h, p, p)`."""
        Q, K, V = self.W_qkv(X).unflatten(2, (3, self.h, -1)).permute(2, 1, 0, 3, 4)  # (m, batch, h, p)
        Q, K = scale_to_one(Q), scale_to_one(K)
        gates, betas = torch.sigmoid(self.gates(X).unflatten(2, (2, self.h, 1)).permute(2, 1, 0, 3, 4))
        S = state[0] if state else X.new_zeros(*K.shape[1:], K.shape[3])  # (batch, h, p, p)
        outputs = []
        for q, k, v, gate, beta in zip(Q, K, V, gates, betas, strict=True):
            S = gate[..., None] * S
            found = (k[..., None, :] @ S)[..., 0, :]  # (batch, h, p)
            S = S + (beta * k)[..., None] * (v - found)[..., None, :]
            outputs.append((q[..., None, :] @ S)[..., 0, :])
        return self.W_o(torch.stack(outputs, dim=1).flatten(2)), (S,)


def scale_to_one(X: Tensor) -> Tensor:
    """Vectors of length 1. The 1e-6 keeps the gradient of a vector of zeros finite, which has no direction."""
    return X / (X.square().sum(dim=3, keepdim=True) + 1e-6).sqrt()


class StateSpace(Mixer):
    """A linear recurrence for each feature, N numbers wide and without mixing, by a scan. Kept: its N numbers.

        z ← a ⊙ z + b x,  y = c·z

    Gu et al., 2022, https://arxiv.org/abs/2206.11893 (S4D).

    >>> [tuple(part.shape) for part in StateSpace(8).extend(torch.zeros(1, 10, 8))[1]]
    [(1, 1, 8, 8)]
    """

    def __init__(self, d: int, N: int = 8) -> None:
        super().__init__(d)
        self.log_rates = nn.Parameter(torch.linspace(-5, 0, N).repeat(d, 1))  # a = exp(-exp(log rate))
        self.b, self.c = nn.Parameter(torch.randn(d, N)), nn.Parameter(torch.randn(d, N) / N)
        self.W_o = nn.Linear(d, d, bias=False)

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
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
        return self.W_o((Z * self.c).sum(dim=3)), (Z[:, -1:].clone(),)  # a slice would keep all of Z alive
