"""What attention asks of a position scheme that works inside it. The schemes are in `d2lmini.positions`.

A scheme plugs into `MultiHeadAttention(..., positions=...)`. Keys stand at the positions 0, 1, 2, ... and the queries
at the last of these, as in `causal_mask`: in decoding, the newest token queries all keys so far.
"""

from __future__ import annotations

from torch import Tensor, nn

from d2lmini.attention.door import admit_bias
from d2lmini.tensors import check_placed


class RelativePositions(nn.Module):
    """A position scheme inside attention, as attention calls it. For a scheme of your own, write a subclass.

    Chapter: Relative positions.
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


def place(
    positions: RelativePositions, Q: Tensor, K: Tensor, allowed: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Queries and keys `(batch, num_heads, ..., size)` with their positions, the mask, and the bias of the scores."""
    returned = positions(Q, K)
    check_placed(returned, Q, K)
    Q, K, bias = returned
    if bias is not None:
        bias, allowed = admit_bias(bias, (*Q.shape[:3], K.shape[2]), allowed, Q)
    return Q, K, allowed, bias
