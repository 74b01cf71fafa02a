"""Attention pooling: scores, masks, softmax, weighted sum.

Shapes in this module: ``batch`` examples, each with ``queries`` queries and ``keys`` key-value pairs.
Masks are boolean and ``True`` means *may attend*, as in
:func:`torch.nn.functional.scaled_dot_product_attention`. ``torch.nn.MultiheadAttention`` uses the opposite;
:func:`to_mha_mask` and :func:`from_mha_mask` convert.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = [
    "AdditiveAttention",
    "DotProductAttention",
    "causal_mask",
    "from_mha_mask",
    "masked_softmax",
    "to_mha_mask",
    "valid_lens_mask",
]

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)  # those that can be compared


def valid_lens_mask(valid_lens: Tensor, num_keys: int) -> Tensor:
    """Mask that lets a query attend to the first ``valid_lens`` keys only.

    Args:
        valid_lens: integers in ``0..num_keys``, of shape ``(batch,)`` (one length for all queries of an example)
            or ``(batch, queries)`` (one length for each query).
        num_keys: number of keys.

    Returns:
        Boolean mask, ``True`` = may attend, of shape ``(batch, 1, num_keys)`` or ``(batch, queries, num_keys)``.

    Raises:
        ValueError: if ``valid_lens`` is not a tensor of integers, has another number of dimensions, or holds a
            length outside ``0..num_keys``.
    """
    if not isinstance(valid_lens, Tensor) or valid_lens.dtype not in _INTEGERS:
        found = valid_lens.dtype if isinstance(valid_lens, Tensor) else type(valid_lens).__name__
        raise ValueError(f"valid_lens must be a tensor of integers, got {found}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(f"valid_lens must have shape (batch,) or (batch, queries), got {tuple(valid_lens.shape)}")
    lowest, highest = (int(valid_lens.min()), int(valid_lens.max())) if valid_lens.numel() else (0, 0)
    if lowest < 0 or highest > num_keys:
        raise ValueError(
            f"valid_lens must lie in 0..{num_keys} (the number of keys), got values from {lowest} to {highest}"
        )
    lens = valid_lens[:, None, None] if valid_lens.dim() == 1 else valid_lens[:, :, None]
    return torch.arange(num_keys, device=valid_lens.device) < lens


def causal_mask(num_queries: int, num_keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """Mask that lets query ``i`` attend to keys ``0..i``: ``mask[i, j] = (j <= i)``.

    With more keys than queries the queries are taken to be the last ones, as in decoding with a cache: the last
    query sees all keys.

    Args:
        num_queries: number of queries, at least 0.
        num_keys: number of keys, at least ``num_queries``; by default the same.
        device: where to put the mask.

    Returns:
        Boolean mask, ``True`` = may attend, of shape ``(num_queries, num_keys)``.

    Raises:
        ValueError: if ``num_queries`` is negative or there are fewer keys than queries.
    """
    num_keys = num_queries if num_keys is None else num_keys
    if not 0 <= num_queries <= num_keys:
        raise ValueError(
            f"causal_mask needs 0 <= num_queries <= num_keys, got num_queries={num_queries}, num_keys={num_keys}"
        )
    all_pairs = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return all_pairs.tril(diagonal=num_keys - num_queries)


def to_mha_mask(mask: Tensor, num_heads: int) -> Tensor:
    """Turn a mask of this package into the ``attn_mask`` of :class:`torch.nn.MultiheadAttention`.

    Args:
        mask: boolean, ``True`` = may attend, of shape ``(queries, keys)``, ``(batch, queries, keys)`` or
            ``(batch, num_heads or 1, queries, keys)``, none of these dimensions shortened to 1 for broadcasting.
        num_heads: number of heads of the module that gets the mask, at least 1.

    Returns:
        Boolean mask, ``True`` = may **not** attend, of shape ``(queries, keys)`` for a mask of that shape, else
        ``(batch * num_heads, queries, keys)``, the heads of one example next to each other.

    Raises:
        ValueError: if ``mask`` is not boolean, its shape is none of those listed, or ``num_heads`` is less than 1.
    """
    _check_mask_dtype(mask)
    if num_heads < 1:
        raise ValueError(f"num_heads must be at least 1, got {num_heads}")
    if mask.dim() == 2:
        return ~mask
    if mask.dim() == 3:
        mask = mask[:, None]
    if mask.dim() != 4 or mask.shape[1] not in (1, num_heads):
        raise ValueError(
            "mask must have shape (queries, keys), (batch, queries, keys) or (batch, num_heads or 1, queries, keys) "
            f"with num_heads={num_heads}, got {tuple(mask.shape)}"
        )
    return ~mask.expand(-1, num_heads, -1, -1).flatten(0, 1)


def from_mha_mask(attn_mask: Tensor, num_heads: int) -> Tensor:
    """Turn the ``attn_mask`` of :class:`torch.nn.MultiheadAttention` into a mask of this package.

    Args:
        attn_mask: boolean with ``True`` = may **not** attend, or floating point with 0 (may attend) and ``-inf``
            (may not), of shape ``(queries, keys)`` or ``(batch * num_heads, queries, keys)``.
        num_heads: number of heads of the module that the mask was made for.

    Returns:
        Boolean mask, ``True`` = may attend, of shape ``(queries, keys)`` or ``(batch, num_heads, queries, keys)``.

    Raises:
        ValueError: if ``attn_mask`` holds other values or has another shape.
    """
    if isinstance(attn_mask, Tensor) and attn_mask.is_floating_point():
        allowed = attn_mask == 0
        if not bool((allowed | (attn_mask == -math.inf)).all()):
            raise ValueError("a floating-point attn_mask must hold only 0 and -inf to become a boolean mask")
    else:
        _check_mask_dtype(attn_mask, "attn_mask")
        allowed = ~attn_mask
    if allowed.dim() == 2:
        return allowed
    if allowed.dim() != 3 or num_heads < 1 or allowed.shape[0] % num_heads:
        raise ValueError(
            f"attn_mask must have shape (queries, keys) or (batch * num_heads, queries, keys) with "
            f"num_heads={num_heads}, got {tuple(attn_mask.shape)}"
        )
    return allowed.unflatten(0, (-1, num_heads))


def masked_softmax(X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None) -> Tensor:
    r"""Softmax over the keys that a query may attend to.

    .. math:: \alpha_{ij} = \frac{m_{ij} \exp(x_{ij})}{\sum_{j'} m_{ij'} \exp(x_{ij'})}

    A query that may attend to nothing gets weights 0. ``X`` is left unchanged.

    Args:
        X: scores of shape ``(batch, queries, keys)``.
        valid_lens: lengths of shape ``(batch,)`` or ``(batch, queries)``, see :func:`valid_lens_mask`.
        mask: boolean, ``True`` = may attend, of a shape that broadcasts to that of ``X``. Both given: both hold.

    Returns:
        Weights of the shape and dtype of ``X``; each row sums to 1, or to 0 where nothing may be attended to.

    Raises:
        ValueError: if ``X`` does not hold floating-point scores of three dimensions, or ``valid_lens`` or ``mask``
            does not fit it.
    """
    if not isinstance(X, Tensor) or X.dim() != 3 or not X.is_floating_point():
        found = f"{X.dtype} {tuple(X.shape)}" if isinstance(X, Tensor) else type(X).__name__
        raise ValueError(f"X must hold floating-point scores of shape (batch, queries, keys), got {found}")
    allowed = _combined_mask(X.shape, valid_lens, mask)
    if allowed is None:
        return F.softmax(X, dim=-1)
    nothing = _sees_nothing(allowed)
    # Rows that see nothing are filled with 0 before the softmax: a row of -inf would give NaN, also as a gradient.
    scores = X.masked_fill(~allowed, -math.inf).masked_fill(nothing, 0.0)
    return F.softmax(scores, dim=-1).masked_fill(nothing, 0.0)


class DotProductAttention(nn.Module):
    r"""Scaled dot-product attention (`Vaswani et al., 2017 <https://arxiv.org/abs/1706.03762>`_).

    .. math:: \mathrm{softmax}\!\left(Q K^\top / \sqrt{d}\right) V

    Args:
        dropout: probability with which a weight is dropped in training.
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

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
        """Pool the values.

        Args:
            queries: ``(batch, queries, d)``.
            keys: ``(batch, keys, d)``.
            values: ``(batch, keys, value_size)``.
            valid_lens: ``(batch,)`` or ``(batch, queries)``, see :func:`valid_lens_mask`.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, queries, keys)``.
            need_weights: also return the weights. Without them PyTorch's fused kernel is used.

        Returns:
            The output, ``(batch, queries, value_size)``; with ``need_weights`` the pair of it and the weights
            before dropout, ``(batch, queries, keys)``. A query that may attend to nothing gets output 0.

        Raises:
            ValueError: if a shape or dtype does not fit the others.
        """
        _check_inputs(queries, keys, values)
        if queries.shape[-1] != keys.shape[-1] or queries.shape[-1] == 0:
            raise ValueError(
                "queries and keys must have the same size, at least 1, in their last dimension, got "
                f"{tuple(queries.shape)} and {tuple(keys.shape)}"
            )
        allowed = _combined_mask((*queries.shape[:2], keys.shape[1]), valid_lens, mask)
        keys, values = _hide_unseen(keys, values, allowed)
        if need_weights:
            # In float32 at least, as in the fused kernels: a float16 score overflows beyond 65504.
            wide = torch.promote_types(queries.dtype, torch.float32)
            scores = queries.to(wide) @ keys.to(wide).transpose(1, 2) / math.sqrt(queries.shape[-1])
            weights = masked_softmax(scores, mask=allowed).to(queries.dtype)
            return self.dropout(weights) @ values, weights
        if allowed is None:
            return self._fused(queries, keys, values, None)
        # What the kernels return for a query without keys differs between devices and versions:
        # such a query is shown everything here, and its output is then set to 0.
        nothing = _sees_nothing(allowed)
        return self._fused(queries, keys, values, allowed | nothing).masked_fill(nothing, 0.0)

    def _fused(self, queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None) -> Tensor:
        # The kernels want a dimension for heads; 3-D input would silently take the slow path.
        return F.scaled_dot_product_attention(
            queries[:, None],
            keys[:, None],
            values[:, None],
            attn_mask=None if allowed is None else allowed[:, None],
            dropout_p=self.dropout.p if self.training else 0.0,
        )[:, 0]


class AdditiveAttention(nn.Module):
    r"""Additive attention (`Bahdanau et al., 2014 <https://arxiv.org/abs/1409.0473>`_).

    .. math:: a(q, k) = w_v^\top \tanh(W_q q + W_k k)

    Queries and keys may differ in size. The scores take memory for ``batch * queries * keys * num_hiddens`` numbers.

    Args:
        key_size: size of a key.
        query_size: size of a query.
        num_hiddens: size of the hidden layer.
        dropout: probability with which a weight is dropped in training.
    """

    def __init__(self, key_size: int, query_size: int, num_hiddens: int, dropout: float) -> None:
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

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
        """Pool the values.

        Args:
            queries: ``(batch, queries, query_size)``.
            keys: ``(batch, keys, key_size)``.
            values: ``(batch, keys, value_size)``.
            valid_lens: ``(batch,)`` or ``(batch, queries)``, see :func:`valid_lens_mask`.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, queries, keys)``.
            need_weights: also return the weights.

        Returns:
            The output, ``(batch, queries, value_size)``; with ``need_weights`` the pair of it and the weights
            before dropout, ``(batch, queries, keys)``. A query that may attend to nothing gets output 0.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        _check_inputs(queries, keys, values)
        for name, inputs, size in (
            ("queries", queries, self.W_q.in_features),
            ("keys", keys, self.W_k.in_features),
        ):
            if inputs.shape[-1] != size:
                raise ValueError(f"{name} must have size {size} in their last dimension, got {tuple(inputs.shape)}")
        if queries.dtype != self.w_v.weight.dtype:
            raise ValueError(
                f"queries must have the dtype of the weights, {self.w_v.weight.dtype}, got {queries.dtype}"
            )
        allowed = _combined_mask((*queries.shape[:2], keys.shape[1]), valid_lens, mask)
        keys, values = _hide_unseen(keys, values, allowed)
        # (batch, queries, 1, num_hiddens) + (batch, 1, keys, num_hiddens)
        features = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])
        weights = masked_softmax(self.w_v(features).squeeze(-1), mask=allowed)
        output = self.dropout(weights) @ values
        return (output, weights) if need_weights else output


def _sees_nothing(allowed: Tensor) -> Tensor:
    """``True`` where a query may attend to nothing; ``allowed`` with its last dimension reduced to 1."""
    return ~allowed.any(dim=-1, keepdim=True)


def _hide_unseen(keys: Tensor, values: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
    """Zeros for the keys and values that no query may see: 0 times whatever the padding holds could be NaN."""
    if allowed is None:
        return keys, values
    unseen = ~allowed.any(dim=-2)[..., None]
    return keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)


def _check_mask_dtype(mask: Tensor, name: str = "mask") -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        found = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise ValueError(f"{name} must be a boolean tensor, got {found}")


def _combined_mask(shape: tuple[int, ...], valid_lens: Tensor | None, mask: Tensor | None) -> Tensor | None:
    """Both restrictions as one mask that broadcasts to ``shape`` = (batch, queries, keys), or ``None``."""
    batch, num_queries, num_keys = shape
    allowed = None
    if valid_lens is not None:
        allowed = valid_lens_mask(valid_lens, num_keys)
        if tuple(valid_lens.shape) not in ((batch,), (batch, num_queries)):
            raise ValueError(
                f"valid_lens must have shape {(batch,)} or {(batch, num_queries)} to go with scores of shape "
                f"{(batch, num_queries, num_keys)}, got {tuple(valid_lens.shape)}"
            )
    if mask is not None:
        _check_mask_dtype(mask)
        fits = mask.dim() <= 3 and all(
            size in (1, whole) for size, whole in zip(mask.shape[::-1], (num_keys, num_queries, batch), strict=False)
        )
        if not fits:
            raise ValueError(f"mask must broadcast to {(batch, num_queries, num_keys)}, got {tuple(mask.shape)}")
        # A key dimension of 1 would stand for all keys at once: spelled out, so that `any` counts keys.
        mask = mask.expand(batch, num_queries, num_keys)
        allowed = mask if allowed is None else allowed & mask
    return allowed


def _check_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    inputs = {"queries": queries, "keys": keys, "values": values}
    for name, tensor in inputs.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{name} must be a tensor, got {type(tensor).__name__}")
    shapes = {name: tuple(tensor.shape) for name, tensor in inputs.items()}
    for name, shape in shapes.items():
        if len(shape) != 3:
            raise ValueError(f"{name} must have shape (batch, steps, size), got {shape}")
    if not shapes["queries"][0] == shapes["keys"][0] == shapes["values"][0]:
        raise ValueError(f"queries, keys and values must have the same batch size, got {shapes}")
    if shapes["keys"][1] != shapes["values"][1]:
        raise ValueError(f"there must be one value for each key, got {shapes}")
    dtypes = [queries.dtype, keys.dtype, values.dtype]
    if len(set(dtypes)) > 1 or not queries.is_floating_point():
        raise ValueError(f"queries, keys and values must share one floating-point dtype, got {dtypes}")
