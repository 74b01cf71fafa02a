"""What attention asks of a position scheme that works inside it. The schemes are in `d2lmini.positions`.

A scheme plugs into `MultiHeadAttention(..., positions=...)`. Keys stand at the positions 0, 1, 2, ... and the queries
at the last of these, as in `causal_mask`: in decoding, the newest token queries all keys so far.
"""

from __future__ import annotations

from torch import Tensor, nn

from d2lmini.attention.pooling import Admitted, admit_bias, hide_blind, hide_unseen, spell_out_causal
from d2lmini.checks import name_tensor


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


def place(positions: RelativePositions, admitted: Admitted) -> Admitted:
    """Queries and keys with their positions, and what the scheme adds to the scores or forbids by minus infinity."""
    returned = positions(admitted.queries, admitted.keys)
    check_placed(returned, admitted.queries, admitted.keys)
    Q, K, bias = returned  # (batch, num_heads, steps, p) each
    if bias is None:
        return admitted._replace(queries=Q, keys=K)
    _, _, V, allowed, *_ = spell_out_causal(admitted)
    bias, restricted = admit_bias(bias, (*Q.shape[:3], K.shape[2]), allowed, Q)
    if restricted is None or restricted is allowed:
        return Admitted(Q, K, V, allowed, bias)
    return Admitted(hide_blind(Q, restricted), *hide_unseen(K, V, restricted), restricted, bias)


def check_placed(returned: object, Q: Tensor, K: Tensor) -> None:
    """Check that a scheme returned queries and keys of the shape and dtype that it was given, and a bias or `None`."""
    if not isinstance(returned, tuple) or len(returned) != 3:
        raise ValueError(f"positions must return queries, keys and a bias or None, got {type(returned).__name__}")
    for name, given, got in (("queries", Q, returned[0]), ("keys", K, returned[1])):
        if not isinstance(got, Tensor) or (got.shape, got.dtype) != (given.shape, given.dtype):
            raise ValueError(f"positions must return {name} of {name_tensor(given)}, got {name_tensor(got)}")
