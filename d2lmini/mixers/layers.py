"""Layers that mix a sequence in ways other than attention over all of it, for comparison.

Each maps `(batch, n, d)` to `(batch, n, d)`.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.pooling import attend
from d2lmini.checks import check_projected, check_size, name_shape

__all__ = ["Convolution", "RestrictedSelfAttention", "SeparableConvolution"]


class Convolution(nn.Module):
    """A convolution along the sequence, with zeros around it and no bias.

        y[i] = Σⱼ W[j] x[i + r (j - c)],  j = 0, ..., k - 1

    with kernel size k and dilation r, and c = (k - 1) / 2 for a centred kernel or c = k - 1 for a causal one.

    Chapter: CNN, RNN, self-attention.

    Args:
        d: size of a token, at least 1.
        kernel_size: number of tokens that a kernel covers; odd, unless causal.
        dilation: distance from one of them to the next, at least 1.
        causal: whether output i sees only the inputs up to i.
        device: where to put the weights.
        dtype: of the weights.

    Raises:
        ValueError: if a size is not an integer of at least 1, or a centred kernel is even.

    >>> d2l.Convolution(8, kernel_size=3)(torch.zeros(2, 10, 8)).shape
    torch.Size([2, 10, 8])
    """

    def __init__(
        self,
        d: int,
        kernel_size: int,
        *,
        dilation: int = 1,
        causal: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (("d", d), ("kernel_size", kernel_size), ("dilation", dilation)):
            check_size(name, size)
        if not causal:
            _check_centred(kernel_size)
        span = dilation * (kernel_size - 1)
        self.padding = (span, 0) if causal else (span // 2, span // 2)
        self.d = d
        self.conv = nn.Conv1d(d, d, kernel_size, dilation=dilation, bias=False, device=device, dtype=dtype)

    def forward(self, X: Tensor) -> Tensor:
        """Convolve: `(batch, n, d)` to `(batch, n, d)`."""
        _check_tokens(X, self.d, self.conv)
        padded = F.pad(X.mT, self.padding)  # (batch, d, n + span)
        return self.conv(padded).mT  # (batch, n, d)


class SeparableConvolution(nn.Module):
    """A convolution in two steps: each feature along the sequence on its own, then all features of each token.

        z[i] = Σⱼ w[j] ⊙ x[i + j - c],  y[i] = W z[i]

    with j = 0, ..., k - 1 and c = (k - 1) / 2.

    Chapter: CNN, RNN, self-attention.

    Args:
        d: size of a token, at least 1.
        kernel_size: number of tokens that a kernel covers, odd.
        device: where to put the weights.
        dtype: of the weights.

    Raises:
        ValueError: if a size is not an integer of at least 1, or the kernel is even.

    >>> d2l.SeparableConvolution(8, kernel_size=3)(torch.zeros(2, 10, 8)).shape
    torch.Size([2, 10, 8])
    """

    def __init__(
        self, d: int, kernel_size: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        check_size("d", d)
        check_size("kernel_size", kernel_size)
        _check_centred(kernel_size)
        self.d, padding = d, kernel_size // 2
        self.along = nn.Conv1d(d, d, kernel_size, padding=padding, groups=d, bias=False, device=device, dtype=dtype)
        self.across = nn.Linear(d, d, bias=False, device=device, dtype=dtype)

    def forward(self, X: Tensor) -> Tensor:
        """Convolve: `(batch, n, d)` to `(batch, n, d)`."""
        _check_tokens(X, self.d, self.along)
        Z = self.along(X.mT).mT  # (batch, n, d)
        return self.across(Z)  # (batch, n, d)


class RestrictedSelfAttention(nn.Module):
    """Self-attention in which a token sees only itself and its `radius` neighbours on each side.

        y[i] = Σⱼ α[i, j] v[j],  α[i, j] = softmaxⱼ(q[i]ᵀ k[j] / √d),  |j - i| ≤ radius

    Only the scores within the window are computed: time and memory grow with `n * (2 * radius + 1)`, not with
    `n ** 2`. There is no output projection.

    Chapter: CNN, RNN, self-attention.

    Args:
        d: size of a token, at least 1.
        radius: how many neighbours on each side a token sees, at least 1.
        device: where to put the weights.
        dtype: of the weights.

    Raises:
        ValueError: if `d` or `radius` is not an integer of at least 1.

    >>> d2l.RestrictedSelfAttention(8, radius=2)(torch.zeros(2, 10, 8)).shape
    torch.Size([2, 10, 8])
    """

    def __init__(
        self, d: int, radius: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        check_size("d", d)
        check_size("radius", radius)
        self.d, self.radius = d, radius
        self.W_q = nn.Linear(d, d, bias=False, device=device, dtype=dtype)
        self.W_k = nn.Linear(d, d, bias=False, device=device, dtype=dtype)
        self.W_v = nn.Linear(d, d, bias=False, device=device, dtype=dtype)

    def forward(self, X: Tensor) -> Tensor:
        """Let each token attend to its neighbourhood: `(batch, n, d)` to `(batch, n, d)`."""
        _check_tokens(X, self.d, self.W_q)
        Q = self.W_q(X)[:, :, None]  # (batch, n, 1, d)
        K, V = self._windows(self.W_k(X)), self._windows(self.W_v(X))  # (batch, n, window, d)
        inside = self._windows(X.new_ones(1, X.shape[1], 1)).mT != 0  # (1, n, 1, window)
        return attend(Q, K, V, inside)[:, :, 0]  # (batch, n, d)

    def _windows(self, X: Tensor) -> Tensor:
        """The neighbourhood of each token, zeros beyond both ends: (batch, n, size) to (batch, n, window, size)."""
        padded = F.pad(X, (0, 0, self.radius, self.radius))
        return padded.unfold(1, 2 * self.radius + 1, 1).mT


def _check_centred(kernel_size: int) -> None:
    if kernel_size % 2 == 0:
        raise ValueError(f"kernel_size must be odd for a centred kernel, got {kernel_size}")


def _check_tokens(X: Tensor, d: int, layer: nn.Conv1d | nn.Linear) -> None:
    if not isinstance(X, Tensor) or X.dim() != 3 or X.shape[2] != d or X.shape[1] == 0:
        raise ValueError(f"X must have shape (batch, n, {d}) with n of at least 1, got {name_shape(X)}")
    check_projected("X", X, d, layer)
