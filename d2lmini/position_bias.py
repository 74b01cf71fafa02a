"""Positions as numbers that are added to the scores: ALiBi, one learned number or vector an offset, T5's buckets."""

from __future__ import annotations

import math
from functools import cache, partial

import torch
from torch import Tensor, nn

from d2lmini.inputs import check_size
from d2lmini.relative_positions import RelativePositions, check_positions, relative_offsets

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
    check_size("num_heads", num_heads)
    power = 1 << (num_heads.bit_length() - 1)  # the largest power of two that is not above num_heads
    slopes = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
    slopes += [2.0 ** (-4 * h / power) for h in range(1, 2 * power, 2)]
    return torch.tensor(slopes[:num_heads], dtype=torch.get_default_dtype())


class ALiBi(RelativePositions):
    r"""Attention with linear biases (`Press et al., 2021 <https://arxiv.org/abs/2108.12409>`_).

    Head :math:`h` adds :math:`-m_h |i - j|` to the score of query :math:`i` and key :math:`j`, with the slopes of
    :func:`alibi_slopes`. There is nothing to learn.

    Args:
        num_heads: number of heads of the layer.

    Raises:
        ValueError: if ``num_heads`` is no integer of at least 1.
    """

    slopes: Tensor

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(num_heads), persistent=False)

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys, len(self.slopes))
        offsets = relative_offsets(queries.shape[-2], keys.shape[-2], device=keys.device)
        return queries, keys, -self.slopes[:, None, None] * offsets.abs()


class RelativePositionBias(RelativePositions):
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
        super().__init__()
        check_size("num_heads", num_heads)
        check_size("max_distance", max_distance)
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys, len(self.table))
        offsets = relative_offsets(queries.shape[-2], keys.shape[-2], device=keys.device)
        return queries, keys, self.table[:, offsets.clamp(-self.max_distance, self.max_distance) + self.max_distance]


class RelativePositionKeys(RelativePositions):
    r"""A learned vector for each offset, added to the key (`Shaw et al., 2018 <https://arxiv.org/abs/1803.02155>`_).

    The score of query :math:`i` and key :math:`j` becomes :math:`q_i^\top (k_j + a_c) / \sqrt{p}`, with
    :math:`c` the offset :math:`j - i` clipped to :math:`\pm` ``max_distance``. All heads share the vectors. The
    paper can also add vectors to the values, and finds that this brings nothing.

    Args:
        head_size: size of a key of one head.
        max_distance: largest offset that has a vector of its own.

    Raises:
        ValueError: if an argument is no integer of at least 1.
    """

    def __init__(self, head_size: int, max_distance: int = 8) -> None:
        super().__init__()
        check_size("head_size", head_size)
        check_size("max_distance", max_distance)
        self.max_distance = max_distance
        self.vectors = nn.Parameter(torch.empty(2 * max_distance + 1, head_size))
        nn.init.xavier_uniform_(self.vectors)

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(batch, num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys)
        if queries.shape[-1] != self.vectors.shape[1]:
            raise ValueError(f"queries must have head_size={self.vectors.shape[1]}, got {tuple(queries.shape)}")
        offsets = relative_offsets(queries.shape[-2], keys.shape[-2], device=keys.device)
        indices = offsets.clamp(-self.max_distance, self.max_distance) + self.max_distance
        # A query meets each vector once, not once for each key.
        scores = queries @ self.vectors.T.to(queries.dtype) / math.sqrt(queries.shape[-1])
        return queries, keys, scores.gather(-1, indices.expand(*queries.shape[:-1], -1))


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
    if not isinstance(offsets, Tensor) or offsets.is_floating_point() or offsets.dtype == torch.bool:
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
    edges = torch.tensor(_t5_edges(exact, max_distance), device=offsets.device)
    distances = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    buckets = torch.bucketize(distances, edges, right=True)
    return buckets + (offsets > 0) * (2 * exact) if bidirectional else buckets


@cache
def _t5_edges(exact: int, max_distance: int) -> tuple[int, ...]:
    """The first distance of each bucket but the first: with whole numbers only, so that no logarithm is rounded."""
    logarithmic = [
        # n / exact >= (max_distance / exact) ** (b / exact)
        next(n for n in range(exact, max_distance + 1) if n**exact >= max_distance**b * exact ** (exact - b))
        for b in range(1, exact)
    ]
    return (*range(1, exact + 1), *logarithmic)


class T5PositionBias(RelativePositions):
    """A learned number for each head and each bucket of offsets, see :func:`t5_buckets`. At first all are 0.

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
        self.bucket_of = partial(
            t5_buckets, num_buckets=num_buckets, max_distance=max_distance, bidirectional=bidirectional
        )
        self.bucket_of(torch.tensor(0))  # refuses what is not allowed
        self.table = nn.Parameter(torch.zeros(num_heads, num_buckets))

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, ``(num_heads, queries, keys)``. See :class:`RelativePositions`."""
        check_positions(queries, keys, len(self.table))
        offsets = relative_offsets(queries.shape[-2], keys.shape[-2], device=keys.device)
        return queries, keys, self.table[:, self.bucket_of(offsets)]
