"""Positions as numbers that are added to the scores: ALiBi, one learned number or vector an offset, T5's buckets."""

from __future__ import annotations

import math
from bisect import bisect_left

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_size
from d2lmini.attention.masks import INTEGERS
from d2lmini.attention.numerics import at_least_float32, without_autocast
from d2lmini.positions.rotary import RelativePositions, check_positions, relative_offsets

__all__ = ["ALiBi", "RelativePositionBias", "RelativePositionKeys", "T5PositionBias", "alibi_slopes", "t5_buckets"]


def alibi_slopes(num_heads: int) -> Tensor:
    r"""The slope of each head of ALiBi, as the authors' program chooses them.

    For :math:`H` heads, a power of two: :math:`m_h = 2^{-8h/H}` for :math:`h = 1, \ldots, H`, the formula of the
    paper. Otherwise: those of the largest power of two below :math:`H`, then the first, third, fifth, ... of twice
    that power.

    Args:
        num_heads: number of heads.

    Returns:
        ``(num_heads,)``, in the default dtype.

    Raises:
        ValueError: if ``num_heads`` is no integer of at least 1.
    """
    return torch.tensor(_slopes(num_heads), dtype=torch.get_default_dtype())


def _slopes(num_heads: int) -> list[float]:
    check_size("num_heads", num_heads)
    power = 1 << (num_heads.bit_length() - 1)  # the largest power of two that is not above num_heads
    slopes = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
    slopes += [2.0 ** (-4 * h / power) for h in range(1, 2 * power, 2)]
    return slopes[:num_heads]


class ALiBi(RelativePositions):
    r"""Attention with linear biases (`Press et al., 2021 <https://arxiv.org/abs/2108.12409>`_).

    Head :math:`h` adds :math:`-m_h |i - j|` to the score of query :math:`i` and key :math:`j`, with the slopes of
    :func:`alibi_slopes`. There is nothing to learn. In the paper attention is causal; the absolute value extends it
    to both sides.

    Args:
        num_heads: number of heads of the layer.

    Raises:
        ValueError: if ``num_heads`` is no integer of at least 1.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        self.num_heads = num_heads

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys, self.num_heads)
        offsets = relative_offsets(queries.shape[-2], keys.shape[-2], device=keys.device)
        # Made anew, so that a model in half precision has exact distances.
        dtype = torch.promote_types(keys.dtype, torch.float32)
        slopes = torch.tensor(_slopes(self.num_heads), dtype=dtype, device=keys.device)
        return queries, keys, -slopes[:, None, None] * offsets.abs()

    def extra_repr(self) -> str:
        """What ``print`` shows."""
        return f"num_heads={self.num_heads}"


class _ClippedOffsets(RelativePositions):
    """What the two schemes share that learn something for each offset, clipped to ``max_distance``."""

    def __init__(self, max_distance: int) -> None:
        super().__init__()
        check_size("max_distance", max_distance)
        self.max_distance = max_distance

    def _indices(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Row of the table for each query and key: ``0..2 * max_distance``."""
        offsets = relative_offsets(queries.shape[-2], keys.shape[-2], device=keys.device)
        return offsets.clamp(-self.max_distance, self.max_distance) + self.max_distance


class RelativePositionBias(_ClippedOffsets):
    r"""A learned number for each head and each offset, clipped to :math:`\pm` ``max_distance``.

    The offsets are clipped as in `Shaw et al. (2018) <https://arxiv.org/abs/1803.02155>`_, where each has a vector:
    see :class:`RelativePositionKeys`. At first all numbers are 0.

    Args:
        num_heads: number of heads of the layer.
        max_distance: largest offset that has a number of its own.

    Raises:
        ValueError: if an argument is no integer of at least 1.
    """

    def __init__(self, num_heads: int, max_distance: int = 8) -> None:
        super().__init__(max_distance)
        check_size("num_heads", num_heads)
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys, len(self.table))
        return queries, keys, at_least_float32(self.table)[:, self._indices(queries, keys)]

    def extra_repr(self) -> str:
        """What ``print`` shows."""
        return f"num_heads={len(self.table)}, max_distance={self.max_distance}"


class RelativePositionKeys(_ClippedOffsets):
    r"""A learned vector for each offset, added to the key (`Shaw et al., 2018 <https://arxiv.org/abs/1803.02155>`_).

    The score of query :math:`i` and key :math:`j` becomes :math:`q_i^\top (k_j + a_c) / \sqrt{p}`, with
    :math:`c` the offset :math:`j - i` clipped to :math:`\pm` ``max_distance``. All heads share the vectors. The
    paper can also add vectors to the values; this module does not.

    Args:
        head_size: size of a key of one head.
        max_distance: largest offset that has a vector of its own.

    Raises:
        ValueError: if an argument is no integer of at least 1.
    """

    def __init__(self, head_size: int, max_distance: int = 8) -> None:
        super().__init__(max_distance)
        check_size("head_size", head_size)
        self.vectors = nn.Parameter(torch.empty(2 * max_distance + 1, head_size))
        nn.init.xavier_uniform_(self.vectors)

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(batch, num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys)
        if queries.shape[-1] != self.vectors.shape[1]:
            raise ValueError(f"queries must have head_size={self.vectors.shape[1]}, got {tuple(queries.shape)}")
        # A query meets each vector once, not once for each key.
        with without_autocast(queries.device):
            asking = at_least_float32(queries)
            scores = asking @ self.vectors.T.to(asking.dtype) / math.sqrt(queries.shape[-1])
        return queries, keys, scores.gather(-1, self._indices(queries, keys).expand(*queries.shape[:-1], -1))

    def extra_repr(self) -> str:
        """What ``print`` shows."""
        return f"head_size={self.vectors.shape[1]}, max_distance={self.max_distance}"


def t5_buckets(
    offsets: Tensor, *, num_buckets: int = 32, max_distance: int = 128, bidirectional: bool = True
) -> Tensor:
    """The bucket of each offset in T5 (`Raffel et al., 2019 <https://arxiv.org/abs/1910.10683>`_).

    Half of the buckets hold one distance each, 0, 1, 2, ...; the others hold ranges that grow logarithmically up to
    ``max_distance``, and the last one all that is further. Bidirectional, one half of all buckets is for keys up to
    the query and the other half for later ones; otherwise later keys count as distance 0.

    Args:
        offsets: integers, position of the key minus position of the query, of any shape.
        num_buckets: number of buckets: even, and divisible by 4 if bidirectional.
        max_distance: distance from which on all share a bucket; more than the number of distances with a bucket of
            their own.
        bidirectional: whether later keys have buckets.

    Returns:
        Integers in ``0..num_buckets - 1``, of the shape of ``offsets``.

    Raises:
        ValueError: if ``offsets`` holds no integers or another argument is not allowed.
    """
    if not isinstance(offsets, Tensor) or offsets.dtype not in INTEGERS:
        found = offsets.dtype if isinstance(offsets, Tensor) else type(offsets).__name__
        raise ValueError(f"offsets must be a tensor of integers, got {found}")
    check_size("num_buckets", num_buckets)
    check_size("max_distance", max_distance)
    parts = 4 if bidirectional else 2
    if num_buckets % parts or max_distance <= num_buckets // parts:
        raise ValueError(
            f"num_buckets must be divisible by {parts} and max_distance be more than num_buckets / {parts}, got "
            f"num_buckets={num_buckets}, max_distance={max_distance}"
        )
    exact = num_buckets // parts
    return _in_buckets(offsets, _t5_edges(exact, max_distance), bidirectional=bidirectional)


def _in_buckets(offsets: Tensor, edges: tuple[int, ...], *, bidirectional: bool) -> Tensor:
    offsets = offsets.long().clamp(min=-(2**62))  # so that the sign can be turned
    distances = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    buckets = torch.bucketize(distances, torch.tensor(edges, device=offsets.device), right=True)
    return buckets + (offsets > 0) * (len(edges) + 1) if bidirectional else buckets


def _t5_edges(exact: int, max_distance: int) -> tuple[int, ...]:
    """The first distance of each bucket but the first: with whole numbers only, so that no logarithm is rounded."""

    def power(n: int) -> int:
        return n**exact

    logarithmic = [
        # the first n with n / exact >= (max_distance / exact) ** (b / exact)
        exact + bisect_left(range(exact, max_distance + 1), max_distance**b * exact ** (exact - b), key=power)
        for b in range(1, exact)
    ]
    return (*range(1, exact + 1), *logarithmic)


class T5PositionBias(RelativePositions):
    """A learned number for each head and each bucket of offsets, see :func:`t5_buckets`. At first all are 0.

    Two things differ from T5: there, scores are not scaled, and all layers share one table. Bidirectional, the bucket
    of later keys at distance 0 is never used.

    Args:
        num_heads: number of heads of the layer.
        num_buckets: number of buckets.
        max_distance: distance from which on all share a bucket.
        bidirectional: whether later keys have buckets; ``False`` under a causal mask.

    Raises:
        ValueError: if an argument is not allowed.
    """

    def __init__(
        self, num_heads: int, num_buckets: int = 32, max_distance: int = 128, *, bidirectional: bool = True
    ) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        self.num_buckets, self.max_distance, self.bidirectional = num_buckets, max_distance, bidirectional
        # Refuses what is not allowed.
        t5_buckets(torch.tensor(0), num_buckets=num_buckets, max_distance=max_distance, bidirectional=bidirectional)
        self.edges = _t5_edges(num_buckets // (4 if bidirectional else 2), max_distance)
        self.table = nn.Parameter(torch.zeros(num_heads, num_buckets))

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys, len(self.table))
        offsets = relative_offsets(queries.shape[-2], keys.shape[-2], device=keys.device)
        buckets = _in_buckets(offsets, self.edges, bidirectional=self.bidirectional)
        return queries, keys, at_least_float32(self.table)[:, buckets]

    def extra_repr(self) -> str:
        """What ``print`` shows."""
        return (
            f"num_heads={len(self.table)}, num_buckets={self.num_buckets}, max_distance={self.max_distance}, "
            f"bidirectional={self.bidirectional}"
        )
