"""Positions as numbers that are added to the scores: ALiBi, a learned number or vector per offset, T5's buckets."""

import math
from bisect import bisect_left

import torch
from torch import Tensor, nn

from d2lmini.attention.numerics import at_least_float32, without_autocast
from d2lmini.attention.scheme import RelativePositions
from d2lmini.checks import check_integers, check_positions, check_size
from d2lmini.positions.offsets import list_offsets, spread


def alibi_slopes(num_heads: int) -> Tensor:
    """The slope of each head of ALiBi, as the authors' program chooses it.

    For H heads, a power of two: mₕ = 2^(-8h / H) for h = 1, ..., H, the formula of the paper. Otherwise: those of the
    largest power of two below H, then the first, third, fifth, ... of twice that power.

    Chapter: How to tell a distance.

    Args:
        num_heads: number of heads.

    Returns:
        `(num_heads,)`, in the default dtype.

    >>> d2l.alibi_slopes(2)
    tensor([0.0625, 0.0039])
    """
    check_size("num_heads", num_heads)
    return torch.tensor(list_slopes(num_heads))


def list_slopes(num_heads: int) -> list[float]:
    """The slopes as exact numbers."""
    power = 1 << (num_heads.bit_length() - 1)  # the largest power of two that is not above num_heads
    slopes = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
    slopes += [2.0 ** (-4 * h / power) for h in range(1, 2 * power, 2)]
    return slopes[:num_heads]


class ALiBi(RelativePositions):
    """Attention with linear biases (Press et al., 2021, https://arxiv.org/abs/2108.12409).

        sᵢⱼ - mₕ |i - j|

    is the score of query i and key j in head h, with the slopes mₕ of `alibi_slopes`. There is nothing to learn. In the
    paper, attention is causal; the absolute value extends it to both sides.

    Chapter: How to tell a distance.

    Args:
        num_heads: number of heads of the layer.

    >>> X = torch.zeros(1, 2, 3, 4)
    >>> d2l.ALiBi(num_heads=2)(X, X)[2][0]
    tensor([[-0.0000, -0.0625, -0.1250],
            [-0.0625, -0.0000, -0.0625],
            [-0.1250, -0.0625, -0.0000]])
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        self.num_heads = num_heads

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, `(num_heads, queries, keys)`. See `RelativePositions`."""
        check_positions(queries, keys, num_heads=self.num_heads)
        # Made afresh at each call, so that even a model in half precision has exact distances.
        dtype = torch.promote_types(keys.dtype, torch.float32)
        slopes = torch.tensor(list_slopes(self.num_heads), dtype=dtype, device=keys.device)  # (num_heads,)
        by_offset = -slopes[:, None] * list_offsets(queries, keys).abs()  # (num_heads, queries + keys - 1)
        return queries, keys, spread(by_offset, queries, keys)  # (num_heads, queries, keys)

    def extra_repr(self) -> str:
        """What `print` shows."""
        return f"num_heads={self.num_heads}"


class _ClippedOffsets(RelativePositions):
    """What the two schemes that learn something for each offset, clipped to `max_distance`, have in common."""

    def __init__(self, max_distance: int) -> None:
        super().__init__()
        check_size("max_distance", max_distance)
        self.max_distance = max_distance

    def find_rows(self, queries: Tensor, keys: Tensor) -> Tensor:
        """The row of the table for each offset, `0..2 * max_distance`: `(queries + keys - 1,)`."""
        return list_offsets(queries, keys).clamp(-self.max_distance, self.max_distance) + self.max_distance


class RelativePositionBias(_ClippedOffsets):
    """A learned number for each head and each offset, clipped to ± `max_distance`.

    The offsets are clipped as in Shaw et al. (2018, https://arxiv.org/abs/1803.02155), where each has a vector; see
    `RelativePositionKeys`. All numbers start at 0.

    Chapter: How to tell a distance.

    Args:
        num_heads: number of heads of the layer.
        max_distance: largest offset that has a number of its own.
        device: where to put the weights.
        dtype: of the weights.

    >>> X = torch.zeros(1, 2, 3, 4)
    >>> d2l.RelativePositionBias(num_heads=2)(X, X)[2].shape
    torch.Size([2, 3, 3])
    """

    def __init__(
        self,
        num_heads: int,
        max_distance: int = 8,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(max_distance)
        check_size("num_heads", num_heads)
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1, device=device, dtype=dtype))

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, `(num_heads, queries, keys)`. See `RelativePositions`."""
        check_positions(queries, keys, num_heads=len(self.table))
        by_offset = at_least_float32(self.table)[:, self.find_rows(queries, keys)]  # (num_heads, queries + keys - 1)
        return queries, keys, spread(by_offset, queries, keys)  # (num_heads, queries, keys)

    def extra_repr(self) -> str:
        """What `print` shows."""
        return f"num_heads={len(self.table)}, max_distance={self.max_distance}"


class RelativePositionKeys(_ClippedOffsets):
    """A learned vector for each offset, added to the key (Shaw et al., 2018, https://arxiv.org/abs/1803.02155).

        qᵢᵀ (kⱼ + a_c) / √p,   c = clip(j - i) to ± max_distance

    is the score of query i and key j. All heads share the vectors. The paper can also add vectors to the values; this
    module does not.

    Chapter: How to tell a distance.

    Args:
        head_size: size of a key of one head.
        max_distance: largest offset that has a vector of its own.
        device: where to put the weights.
        dtype: of the weights.

    >>> X = torch.zeros(1, 2, 3, 4)
    >>> d2l.RelativePositionKeys(head_size=4)(X, X)[2].shape
    torch.Size([1, 2, 3, 3])
    """

    def __init__(
        self,
        head_size: int,
        max_distance: int = 8,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(max_distance)
        check_size("head_size", head_size)
        self.vectors = nn.Parameter(torch.empty(2 * max_distance + 1, head_size, device=device, dtype=dtype))
        nn.init.xavier_uniform_(self.vectors)

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, `(batch, num_heads, queries, keys)`. See `RelativePositions`."""
        check_positions(queries, keys, head_size=self.vectors.shape[1])
        # A query meets each vector once, not once for each key.
        with without_autocast(queries.device):
            Q = at_least_float32(queries)
            scores = Q @ self.vectors.T.to(Q.dtype) / math.sqrt(queries.shape[-1])  # (batch, num_heads, queries, rows)
        rows = spread(self.find_rows(queries, keys), queries, keys).expand(*queries.shape[:-1], -1)
        return queries, keys, scores.gather(-1, rows)  # (batch, num_heads, queries, keys)

    def extra_repr(self) -> str:
        """What `print` shows."""
        return f"head_size={self.vectors.shape[1]}, max_distance={self.max_distance}"


def t5_buckets(
    offsets: Tensor, *, num_buckets: int = 32, max_distance: int = 128, bidirectional: bool = True
) -> Tensor:
    """The bucket of each offset in T5 (Raffel et al., 2019, https://arxiv.org/abs/1910.10683).

    Half of the buckets hold one distance each, 0, 1, 2, ...; the others hold ranges that grow logarithmically up to
    `max_distance`, and the last one everything further away. If bidirectional, one half of all buckets is for keys up
    to the query and the other half for later ones; otherwise later keys count as distance 0.

    Chapter: How to tell a distance.

    Args:
        offsets: integers, position of the key minus position of the query, of any shape.
        num_buckets: number of buckets: even, and divisible by 4 if bidirectional.
        max_distance: distance from which all keys share a bucket; more than the number of distances with a bucket of
            their own.
        bidirectional: whether later keys have buckets.

    Returns:
        Integers in `0..num_buckets - 1`, of the shape of `offsets`.

    Raises:
        ValueError: if `offsets` does not hold integers or another argument is not allowed.

    >>> d2l.t5_buckets(torch.tensor([-1, 0, 1, 40]))
    tensor([ 1,  0, 17, 28])
    """
    check_integers("offsets", offsets)
    return sort_into_buckets(offsets, find_edges(num_buckets, max_distance, bidirectional), bidirectional)


def sort_into_buckets(offsets: Tensor, edges: tuple[int, ...], bidirectional: bool) -> Tensor:
    """The bucket of each offset, given the first distance of each bucket but the first."""
    offsets = offsets.long().clamp(min=-(2**62))  # so that the sign can be flipped
    distances = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    buckets = torch.bucketize(distances, torch.tensor(edges, device=offsets.device), right=True)
    return buckets + (offsets > 0) * (len(edges) + 1) if bidirectional else buckets


def find_edges(num_buckets: int, max_distance: int, bidirectional: bool) -> tuple[int, ...]:
    """The first distance of each bucket but the first: in whole numbers only, so that no logarithm is rounded."""
    parts = 4 if bidirectional else 2
    check_size("num_buckets", num_buckets)
    check_size("max_distance", max_distance)
    if num_buckets % parts or max_distance <= num_buckets // parts:
        fitting = f"num_buckets must be divisible by {parts} and max_distance be more than num_buckets / {parts}"
        raise ValueError(f"{fitting}, got {num_buckets=}, {max_distance=}")
    exact = num_buckets // parts  # this many buckets have a distance of their own
    distances = range(exact, max_distance + 1)
    logarithmic = [
        # the first n with n / exact >= (max_distance / exact) ** (b / exact)
        exact + bisect_left(distances, max_distance**b * exact ** (exact - b), key=lambda n: n**exact)
        for b in range(1, exact)
    ]
    return (*range(1, exact + 1), *logarithmic)


class T5PositionBias(RelativePositions):
    """A learned number for each head and each bucket of offsets, see `t5_buckets`. All start at 0.

    It differs from T5 in two ways: there, scores are not scaled, and all layers share one table. If bidirectional, the
    bucket of later keys at distance 0 is never used.

    Chapter: How to tell a distance.

    Args:
        num_heads: number of heads of the layer.
        num_buckets: number of buckets.
        max_distance: distance from which all keys share a bucket.
        bidirectional: whether later keys have buckets; `False` under a causal mask.
        device: where to put the weights.
        dtype: of the weights.
    """

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        *,
        bidirectional: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        self.num_buckets, self.max_distance, self.bidirectional = num_buckets, max_distance, bidirectional
        self.edges = find_edges(num_buckets, max_distance, bidirectional)
        self.table = nn.Parameter(torch.zeros(num_heads, num_buckets, device=device, dtype=dtype))

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add the bias, `(num_heads, queries, keys)`. See `RelativePositions`."""
        check_positions(queries, keys, num_heads=len(self.table))
        buckets = sort_into_buckets(list_offsets(queries, keys), self.edges, self.bidirectional)
        by_offset = at_least_float32(self.table)[:, buckets]  # (num_heads, queries + keys - 1)
        return queries, keys, spread(by_offset, queries, keys)  # (num_heads, queries, keys)

    def extra_repr(self) -> str:
        """What `print` shows."""
        return (
            f"num_heads={len(self.table)}, num_buckets={self.num_buckets}, max_distance={self.max_distance}, "
            f"bidirectional={self.bidirectional}"
        )
