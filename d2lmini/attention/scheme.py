"""What attention asks of a position scheme that works inside it. The schemes are in `d2lmini.positions`.

A scheme plugs into `MultiHeadAttention(..., positions=...)`. Keys stand at the positions 0, 1, 2, ... and the queries
at the last of these, as in `causal_mask`: in decoding, the newest token queries all keys so far.
"""

from torch import Tensor, nn

from d2lmini.checks import check_bias, name_tensor


class RelativePositions(nn.Module):
    """A position scheme inside attention, as attention calls it. For a scheme of your own, write a subclass.

    Chapter: How to tell a distance.

    >>> class Nearest(d2l.RelativePositions):
    ...     def forward(self, queries, keys):
    ...         return queries, keys, -d2l.relative_offsets(queries.shape[2], keys.shape[2]).abs().float()
    ...
    >>> mha = d2l.MultiHeadAttention(8, 8, 8, 8, num_heads=2, dropout=0, positions=Nearest())
    """

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Bring positions into attention.

        Args:
            queries: `(batch, num_heads, queries, size)`.
            keys: `(batch, num_heads, keys, size)`, at least as many as queries.

        Returns:
            Queries and keys of the same shape and dtype, and what to add to the scaled scores: `None`, or numbers that
            broadcast to `(batch, num_heads, queries, keys)`; if they have three dimensions, the first is for heads.

        Raises:
            ValueError: if there are fewer keys than queries, or the sizes do not fit the scheme.
        """
        raise NotImplementedError


def apply_positions(positions: RelativePositions, Q: Tensor, K: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """Queries and keys with their positions, and what the scheme adds to the scores, where it returned what it may.

    Raises:
        ValueError: if it did not return queries and keys of the shape and dtype that it was given, or a bias that fits.
    """
    returned = positions(Q, K)
    if not isinstance(returned, tuple) or len(returned) != 3:
        raise ValueError(f"positions must return queries, keys and a bias or None, got {type(returned).__name__}")
    for name, given, got in (("queries", Q, returned[0]), ("keys", K, returned[1])):
        if not isinstance(got, Tensor) or (got.shape, got.dtype) != (given.shape, given.dtype):
            raise ValueError(f"positions must return {name} of {name_tensor(given)}, got {name_tensor(got)}")
    if returned[2] is not None:
        check_bias(returned[2], (*Q.shape[:-1], K.shape[-2]), Q.device)
    return returned
