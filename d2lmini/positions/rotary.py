"""Positions inside attention: what all schemes share, and rotary embedding. Biases: :mod:`d2lmini.position_bias`.

Each scheme plugs into ``MultiHeadAttention(..., positions=...)``. It is called with the queries and keys of all heads
and returns three things: the queries, the keys, and a bias of the scaled scores or ``None``. See
:class:`RelativePositions`; a scheme of your own is a subclass of it.

A bias is copied for each example of the batch, since attention makes the heads part of the batch.

Keys stand at the positions 0, 1, 2, ... and the queries at the last of these, as in
:func:`~d2lmini.masks.causal_mask`: in decoding the newest token asks all keys so far.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_choice
from d2lmini.attention.door import check_offset
from d2lmini.attention.numerics import at_least_float32

__all__ = ["RelativePositions", "RotaryEmbedding", "apply_rotary", "relative_offsets"]


class RelativePositions(nn.Module):
    """What all schemes of this module have in common: how attention calls them."""

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Bring positions into attention.

        Args:
            queries: ``(batch, num_heads, queries, size)``.
            keys: ``(batch, num_heads, keys, size)``, at least as many as queries.

        Returns:
            Queries and keys of the same shape and dtype, and what to add to the scaled scores: ``None``, or numbers
            that broadcast to ``(batch, num_heads, queries, keys)``; of three dimensions, the first is for heads.

        Raises:
            ValueError: if there are fewer keys than queries, or the sizes do not fit the scheme.
        """
        raise NotImplementedError


def position_angles(num_steps: int, size: int, base: float = 10000.0, offset: int = 0) -> Tensor:
    r"""The angles :math:`i \omega_j` with :math:`\omega_j = \mathrm{base}^{-2j/\mathrm{size}}`, in float64.

    They are computed on the CPU, for some devices have no float64. Returns ``(num_steps, size / 2, rounded up)``.
    """
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float64, device="cpu") / size)
    positions = torch.arange(num_steps, dtype=torch.float64, device="cpu") + offset
    return positions[:, None] * frequencies


def relative_offsets(num_queries: int, num_keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """How far each key stands behind each query: negative for keys before it, 0 for the query's own.

    Args:
        num_queries: number of queries, at least 0. They are the last of the positions of the keys.
        num_keys: number of keys, at least ``num_queries``; by default the same.
        device: where to put the result.

    Returns:
        Integers of shape ``(num_queries, num_keys)``: position of the key minus position of the query.

    Raises:
        ValueError: if ``num_queries`` is negative or there are fewer keys than queries.
    """
    num_keys = num_queries if num_keys is None else num_keys
    if any(isinstance(n, bool) or not isinstance(n, (int, torch.SymInt)) for n in (num_queries, num_keys)):
        raise ValueError(f"num_queries and num_keys must be integers, got {num_queries!r} and {num_keys!r}")
    if not 0 <= num_queries <= num_keys:
        raise ValueError(
            "relative positions need 0 <= num_queries <= num_keys, for the queries are the last of the keys: got "
            f"num_queries={num_queries}, num_keys={num_keys}"
        )
    positions = torch.arange(num_keys, device=device)
    return positions - positions[num_keys - num_queries :, None]


def apply_rotary(X: Tensor, offset: int = 0, *, base: float = 10000.0, pairing: str = "adjacent") -> Tensor:
    r"""Turn pairs of features by an angle that grows with the position (`Su et al., 2021
    <https://arxiv.org/abs/2104.09864>`_).

    .. math:: (x, y) \mapsto (x \cos i\omega_j - y \sin i\omega_j,\; x \sin i\omega_j + y \cos i\omega_j)

    for pair :math:`j` of the token at position :math:`i`, with :math:`\omega_j = \mathrm{base}^{-2j/\mathrm{size}}`.
    The dot product of a turned query and a turned key depends on their positions through the difference alone.

    Args:
        X: ``(..., steps, size)``, ``size`` even. Half precision is turned in float32.
        offset: position of the first step, an integer of at least 0.
        base: the larger, the slower the last pairs turn; at least 1.
        pairing: which features form pair ``j``: ``"adjacent"`` ones, ``2j`` and ``2j + 1``, as in the paper, or those
            of two ``"halves"``, ``j`` and ``j + size / 2``, as in GPT-NeoX. Up to a permutation both are the same.

    Returns:
        A tensor of the shape and dtype of ``X``.

    Raises:
        ValueError: if ``X`` has fewer than two dimensions, an odd size or no floating-point dtype, or another
            argument is not allowed.
    """
    check_choice("pairing", pairing, ("adjacent", "halves"))
    if not isinstance(X, Tensor) or X.dim() < 2 or not X.is_floating_point():
        found = f"{X.dtype} {tuple(X.shape)}" if isinstance(X, Tensor) else type(X).__name__
        raise ValueError(f"X must hold floating-point numbers of shape (..., steps, size), got {found}")
    if X.shape[-1] % 2 or X.shape[-1] == 0:
        raise ValueError(f"rotary embedding turns pairs: the size must be even and at least 2, got {X.shape[-1]}")
    check_offset(offset)
    if isinstance(base, bool) or not isinstance(base, (int, float)) or not 1 <= base <= 1e300:
        raise ValueError(f"base must be a number of at least 1, got {base!r}")
    return _turned(X, position_angles(X.shape[-2], X.shape[-1], base, offset), pairing)


def _turned(X: Tensor, angles: Tensor, pairing: str) -> Tensor:
    """Turn the pairs of ``X``, (..., steps, size), by ``angles``, (steps, size / 2), in float32 at least."""
    wide = at_least_float32(X)
    cos, sin = (table.to(X.device, wide.dtype) for table in (angles.cos(), angles.sin()))
    first, second = (wide[..., 0::2], wide[..., 1::2]) if pairing == "adjacent" else wide.chunk(2, dim=-1)
    both = (first * cos - second * sin, first * sin + second * cos)
    turned = torch.stack(both, dim=-1).flatten(-2) if pairing == "adjacent" else torch.cat(both, dim=-1)
    return turned.to(X.dtype)


class RotaryEmbedding(RelativePositions):
    """Rotary position embedding, RoPE: queries and keys are turned, values are not; see :func:`apply_rotary`.

    Args:
        base: the larger, the slower the last pairs turn; at least 1.
        pairing: ``"adjacent"`` or ``"halves"``.

    Raises:
        ValueError: if ``base`` or ``pairing`` is not allowed.
    """

    def __init__(self, base: float = 10000.0, *, pairing: str = "adjacent") -> None:
        super().__init__()
        apply_rotary(torch.zeros(1, 2), base=base, pairing=pairing)  # refuses what is not allowed
        self.base, self.pairing = base, pairing

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, None]:
        """Turn queries and keys. The head size must be even. See :class:`RelativePositions`."""
        check_positions(queries, keys)
        num_queries, num_keys, size = queries.shape[-2], *keys.shape[-2:]
        if queries.shape[-1] != size or size % 2 or size == 0:
            raise ValueError(
                f"for rotary embedding queries and keys must share an even size, got {queries.shape[-1]} and {size}"
            )
        angles = position_angles(num_keys, size, self.base)
        return (
            _turned(queries, angles[num_keys - num_queries :], self.pairing),
            _turned(keys, angles, self.pairing),
            None,
        )

    def extra_repr(self) -> str:
        """What ``print`` shows."""
        return f"base={self.base:g}, pairing={self.pairing!r}"


def check_positions(queries: Tensor, keys: Tensor, num_heads: int | None = None) -> None:
    """Check that queries can be the last of the keys, in the heads that a scheme was made for.

    Raises:
        ValueError: if not.
    """
    if not isinstance(queries, Tensor) or not isinstance(keys, Tensor):
        raise ValueError(f"queries and keys must be tensors, got {type(queries).__name__} and {type(keys).__name__}")
    if queries.dim() != 4 or keys.dim() != 4 or queries.shape[:2] != keys.shape[:2]:
        raise ValueError(
            "queries and keys must have shape (batch, num_heads, steps, size), with the same batch and heads, got "
            f"{tuple(queries.shape)} and {tuple(keys.shape)}"
        )
    if num_heads is not None and queries.shape[1] != num_heads:
        raise ValueError(f"the positions were made for num_heads={num_heads}, the layer has {queries.shape[1]}")
    if queries.shape[-2] > keys.shape[-2]:
        raise ValueError(
            "with relative positions the queries are the last of the keys, so there must be at least as many keys: "
            f"got {queries.shape[-2]} queries and {keys.shape[-2]} keys"
        )
