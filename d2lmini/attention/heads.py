"""Multi-head attention: several attention poolings side by side, computed as one."""

from __future__ import annotations

from torch import Tensor, nn

from d2lmini.arguments import check_size
from d2lmini.attention.door import check_bias, check_inputs, check_layer, check_sequences, hide_unseen
from d2lmini.attention.masks import combined_mask, sees_nothing
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.positions.rotary import RelativePositions

__all__ = ["MultiHeadAttention", "transpose_output", "transpose_qkv"]


class MultiHeadAttention(nn.Module):
    r"""Multi-head attention (`Vaswani et al., 2017 <https://arxiv.org/abs/1706.03762>`_).

    .. math:: W_o [h_1; \ldots; h_H], \quad h_i = f(W_q^{(i)} q, W_k^{(i)} k, W_v^{(i)} v)

    with :math:`f` scaled dot-product attention. Each of the ``num_heads`` heads works with ``num_hiddens / num_heads``
    numbers a token. The three projections of all heads are one matrix each: its rows
    ``i * num_hiddens / num_heads`` and following belong to head ``i``. With the same weights it is equal to
    :class:`torch.nn.MultiheadAttention`.

    Args:
        key_size: size of a key.
        query_size: size of a query.
        value_size: size of a value.
        num_hiddens: size of the output, and of the queries, keys and values of all heads together.
        num_heads: number of heads; it divides ``num_hiddens``.
        dropout: probability with which a weight is dropped in training.
        bias: whether the four projections add a bias.
        positions: what turns queries and keys, or adds to the scores, see :mod:`d2lmini.relative_positions`.

    Raises:
        ValueError: if a size or ``num_heads`` is no integer of at least 1, ``num_hiddens`` is not divisible by
            ``num_heads``, or ``positions`` is something else.
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        bias: bool = False,
        *,
        positions: RelativePositions | None = None,
    ) -> None:
        super().__init__()
        for name, size in (("key_size", key_size), ("query_size", query_size), ("value_size", value_size)):
            check_size(name, size)
        _check_heads(num_hiddens, num_heads)
        if positions is not None and not isinstance(positions, RelativePositions):
            raise ValueError(
                f"positions must be a RelativePositions or None, got {positions!r}; make_positions returns a pair, "
                "and the second of it belongs here"
            )
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.positions = positions
        self.W_q = nn.Linear(query_size, num_hiddens, bias=bias)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=bias)
        self.W_v = nn.Linear(value_size, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool the values, once in each head, and project what the heads found.

        Args:
            queries: ``(batch, queries, query_size)``.
            keys: ``(batch, keys, key_size)``.
            values: ``(batch, keys, value_size)``.
            valid_lens: ``(batch,)`` or ``(batch, queries)``, the same for all heads, see
                :func:`~d2lmini.masks.valid_lens_mask`.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, num_heads, queries, keys)``. Of three
                dimensions, the first must be 1: whether it stood for examples or for heads could not be told.
            need_weights: also return the weights. Without them PyTorch's fused kernel is used.

        Returns:
            The output, ``(batch, queries, num_hiddens)``; with ``need_weights`` the pair of it and the weights of each
            head before dropout, ``(batch, num_heads, queries, keys)``. A query that may attend to nothing in one head
            gets 0 from that head; one that may attend to nothing in all heads gets output 0, also with a bias. In
            self-attention padding asks, too: see :class:`~d2lmini.attention.SelfAttention`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_inputs(queries, keys, values)
        for name, inputs, layer in (
            ("queries", queries, self.W_q),
            ("keys", keys, self.W_k),
            ("values", values, self.W_v),
        ):
            check_layer(name, inputs, layer)
        shape = (queries.shape[0], self.num_heads, queries.shape[1], keys.shape[1])
        allowed = combined_mask(shape, valid_lens, mask, queries.device)
        in_any_head = None if allowed is None else allowed.any(dim=1)
        queries, keys, values = hide_unseen(queries, keys, values, in_any_head)
        return self._pool(queries, *self.keys_and_values(keys, values), allowed, shape, need_weights)

    def keys_and_values(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Project keys and values, and split them into heads: what decoding keeps, so that it is computed once.

        Args:
            keys: ``(batch, keys, key_size)``.
            values: ``(batch, keys, value_size)``. Padding is projected like the rest: NaN in it would reach the
                gradients of the projections.

        Returns:
            Keys and values, ``(batch * num_heads, keys, num_hiddens / num_heads)`` each, without positions. Those of
            later tokens can be appended with :func:`torch.cat` in dimension 1.

        Raises:
            ValueError: if a shape or dtype does not fit the sizes given to the constructor.
        """
        check_sequences(keys=keys, values=values)
        check_layer("keys", keys, self.W_k)
        check_layer("values", values, self.W_v)
        return transpose_qkv(self.W_k(keys), self.num_heads), transpose_qkv(self.W_v(values), self.num_heads)

    def attend(
        self,
        queries: Tensor,
        K: Tensor,
        V: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The same as calling the module, with keys and values that :meth:`keys_and_values` has made.

        Args:
            queries: ``(batch, queries, query_size)``.
            K: keys, ``(batch * num_heads, keys, num_hiddens / num_heads)``.
            V: values, of the same shape.
            valid_lens: as in :meth:`forward`.
            mask: as in :meth:`forward`.
            need_weights: as in :meth:`forward`.

        Returns:
            As :meth:`forward`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_sequences(queries=queries, K=K, V=V)
        check_layer("queries", queries, self.W_q)
        size = self.W_k.out_features // self.num_heads
        expected = (queries.shape[0] * self.num_heads, K.shape[1], size)
        if tuple(K.shape) != expected or tuple(V.shape) != expected:
            raise ValueError(
                f"K and V must have shape (batch * num_heads, keys, num_hiddens / num_heads) = {expected}, got "
                f"{tuple(K.shape)} and {tuple(V.shape)}"
            )
        shape = (queries.shape[0], self.num_heads, queries.shape[1], K.shape[1])
        allowed = combined_mask(shape, valid_lens, mask, queries.device)
        if allowed is not None:
            queries = queries.masked_fill(sees_nothing(allowed.any(dim=1)), 0.0)
        return self._pool(queries, K, V, allowed, shape, need_weights)

    def _pool(
        self,
        queries: Tensor,
        K: Tensor,
        V: Tensor,
        allowed: Tensor | None,
        shape: tuple[int, ...],
        need_weights: bool,
    ) -> Tensor | tuple[Tensor, Tensor]:
        Q, K, placed = self._with_positions(transpose_qkv(self.W_q(queries), self.num_heads), K, shape)
        pooled = self.attention(
            Q,
            K,
            V,
            mask=None if allowed is None else _for_each_head(allowed, shape),
            need_weights=need_weights,
            **placed,
        )
        heads, weights = pooled if need_weights else (pooled, None)
        output = self.W_o(transpose_output(heads, self.num_heads))
        if allowed is not None:  # a bias would reach those that see nothing otherwise
            output = output.masked_fill(sees_nothing(allowed.any(dim=1)), 0.0)
        return output if weights is None else (output, weights.unflatten(0, shape[:2]))

    def _with_positions(self, Q: Tensor, K: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Queries and keys of the split batch with their positions, and the bias of the scores if there is one."""
        if self.positions is None:
            return Q, K, {}
        queries, keys = (part.unflatten(0, shape[:2]) for part in (Q, K))
        returned = self.positions(queries, keys)
        if not isinstance(returned, tuple) or len(returned) != 3:
            raise ValueError(f"positions must return queries, keys and a bias or None, got {type(returned).__name__}")
        for name, given, got in (("queries", queries, returned[0]), ("keys", keys, returned[1])):
            if not isinstance(got, Tensor) or (got.shape, got.dtype) != (given.shape, given.dtype):
                found = f"{got.dtype} {tuple(got.shape)}" if isinstance(got, Tensor) else type(got).__name__
                raise ValueError(f"positions must return {name} of {given.dtype} {tuple(given.shape)}, got {found}")
        Q, K, bias = returned[0].flatten(0, 1), returned[1].flatten(0, 1), returned[2]
        if bias is None:
            return Q, K, {}
        check_bias(bias, shape, Q.device)
        bias = bias.reshape((1,) * (len(shape) - bias.dim()) + bias.shape)
        return Q, K, {"bias": _for_each_head(bias, shape)}


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    """Split the last dimension into heads, and put the heads next to the batch.

    Example ``b`` in head ``i`` becomes entry ``b * num_heads + i``: what belongs to an example, such as its valid
    length, is to be repeated with :func:`torch.repeat_interleave`.

    Args:
        X: ``(batch, steps, num_hiddens)``.
        num_heads: number of heads; it divides ``num_hiddens``.

    Returns:
        ``(batch * num_heads, steps, num_hiddens / num_heads)``.

    Raises:
        ValueError: if ``X`` is no tensor of three dimensions, or ``num_hiddens`` is not divisible by ``num_heads``.
    """
    _check_three_dimensions(X, "(batch, steps, num_hiddens)")
    _check_heads(X.shape[2], num_heads)
    X = X.unflatten(2, (num_heads, -1))  # (batch, steps, num_heads, num_hiddens / num_heads)
    return X.transpose(1, 2).flatten(0, 1)


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    """Undo :func:`transpose_qkv`: put the heads of a token next to each other.

    Args:
        X: ``(batch * num_heads, steps, num_hiddens / num_heads)``.
        num_heads: number of heads.

    Returns:
        ``(batch, steps, num_hiddens)``.

    Raises:
        ValueError: if ``X`` is no tensor of three dimensions, or its first is not divisible by ``num_heads``.
    """
    _check_three_dimensions(X, "(batch * num_heads, steps, num_hiddens / num_heads)")
    check_size("num_heads", num_heads)
    if X.shape[0] % num_heads:
        raise ValueError(
            f"the first dimension of X must be divisible by num_heads, got shape {tuple(X.shape)} and "
            f"num_heads={num_heads}"
        )
    X = X.unflatten(0, (X.shape[0] // num_heads, num_heads))  # (batch, num_heads, steps, ...)
    return X.transpose(1, 2).flatten(2, 3)


def _for_each_head(allowed: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A mask or bias that broadcasts to ``shape``, (batch, num_heads, ...), for the split batch; copied if need be."""
    if allowed.shape[0] == allowed.shape[1] == 1:
        return allowed[0]
    return allowed.expand(*shape[:2], -1, -1).flatten(0, 1)


def _check_heads(num_hiddens: int, num_heads: int) -> None:
    check_size("num_hiddens", num_hiddens)
    check_size("num_heads", num_heads)
    if num_hiddens % num_heads:
        raise ValueError(
            f"num_hiddens must be divisible by num_heads, got num_hiddens={num_hiddens} and num_heads={num_heads}"
        )


def _check_three_dimensions(X: Tensor, shape: str) -> None:
    if not isinstance(X, Tensor) or X.dim() != 3:
        found = tuple(X.shape) if isinstance(X, Tensor) else type(X).__name__
        raise ValueError(f"X must have shape {shape}, got {found}")
