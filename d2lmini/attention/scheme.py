"""What attention asks of a position scheme that works inside it. The schemes are in `d2lmini.positions`.

A scheme plugs into `MultiHeadAttention(..., positions=...)`. Keys stand at the positions 0, 1, 2, ... and the queries
at the last of these, as in `causal_mask`: in decoding the newest token asks all keys so far.
"""

from __future__ import annotations

from torch import Tensor, nn

from d2lmini.arguments import name_kind, name_shape
from d2lmini.attention.door import admit_bias


class RelativePositions(nn.Module):
    """A position scheme inside attention: how attention calls it. A scheme of your own is a subclass.

    Chapter: Relative positions.
    """

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Bring positions into attention.

        Args:
            queries: `(batch, num_heads, queries, size)`.
            keys: `(batch, num_heads, keys, size)`, at least as many as queries.

        Returns:
            Queries and keys of the same shape and dtype, and what to add to the scaled scores: `None`, or numbers that
            broadcast to `(batch, num_heads, queries, keys)`; of three dimensions, the first is for heads.

        Raises:
            ValueError: if there are fewer keys than queries, or the sizes do not fit the scheme.
        """
        raise NotImplementedError


def place(
    positions: RelativePositions | None, Q: Tensor, K: Tensor, allowed: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Queries and keys `(batch, num_heads, ..., size)` with their positions, the mask, and the bias of the scores."""
    if positions is None:
        return Q, K, allowed, None
    returned = positions(Q, K)
    check_placed(returned, Q, K)
    Q, K, bias = returned
    if bias is not None:
        bias, allowed = admit_bias(bias, (*Q.shape[:3], K.shape[2]), allowed, Q)
    return Q, K, allowed, bias


def check_placed(returned: object, Q: Tensor, K: Tensor) -> None:
    """Check that a scheme returned queries and keys as they were given, and a bias or `None`."""
    if not isinstance(returned, tuple) or len(returned) != 3:
        raise ValueError(f"positions must return queries, keys and a bias or None, got {type(returned).__name__}")
    for name, given, got in (("queries", Q, returned[0]), ("keys", K, returned[1])):
        if not isinstance(got, Tensor) or (got.shape, got.dtype) != (given.shape, given.dtype):
            found = f"{name_kind(got)} {name_shape(got)}" if isinstance(got, Tensor) else name_kind(got)
            raise ValueError(f"positions must return {name} of {given.dtype} {name_shape(given)}, got {found}")


def check_positions(queries: Tensor, keys: Tensor, num_heads: int | None = None) -> None:
    """Check that queries can be the last of the keys, in the heads that a scheme was made for."""
    if not isinstance(queries, Tensor) or not isinstance(keys, Tensor):
        raise ValueError(f"queries and keys must be tensors, got {name_kind(queries)} and {name_kind(keys)}")
    if queries.dim() != 4 or keys.dim() != 4 or queries.shape[:2] != keys.shape[:2]:
        fitting = "(batch, num_heads, steps, size), with the same batch and heads"
        found = f"{name_shape(queries)} and {name_shape(keys)}"
        raise ValueError(f"queries and keys must have shape {fitting}, got {found}")
    if num_heads is not None and queries.shape[1] != num_heads:
        raise ValueError(f"the positions were made for num_heads={num_heads}, the layer has {queries.shape[1]}")
    if queries.shape[-2] > keys.shape[-2]:
        raise ValueError(
            "with relative positions the queries are the last of the keys, so there must be at least as many keys: "
            f"got {queries.shape[-2]} queries and {keys.shape[-2]} keys"
        )
