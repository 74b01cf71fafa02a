"""Attention pooling: scores, softmax, weighted sum.

Shapes in this module: ``batch`` examples, each with ``queries`` queries and ``keys`` key-value pairs. Masks are boolean
with ``True`` for *may attend*: see :mod:`d2lmini.masks`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.masks import combined_mask, sees_nothing

__all__ = ["AdditiveAttention", "DotProductAttention", "masked_softmax"]


def masked_softmax(X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None) -> Tensor:
    r"""Softmax over the keys that a query may attend to.

    .. math:: \alpha_{ij} = \frac{m_{ij} \exp(x_{ij})}{\sum_{j'} m_{ij'} \exp(x_{ij'})}

    A query that may attend to nothing gets weights 0. ``X`` is left unchanged.

    Args:
        X: scores of shape ``(batch, queries, keys)``.
        valid_lens: lengths of shape ``(batch,)`` or ``(batch, queries)``, see :func:`~d2lmini.masks.valid_lens_mask`.
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
    allowed = combined_mask(X.shape, valid_lens, mask)
    if allowed is None:
        return F.softmax(X, dim=-1)
    nothing = sees_nothing(allowed)
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
            valid_lens: ``(batch,)`` or ``(batch, queries)``, see :func:`~d2lmini.masks.valid_lens_mask`.
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
        allowed = combined_mask((*queries.shape[:2], keys.shape[1]), valid_lens, mask)
        keys, values = _hide_unseen(keys, values, allowed)
        if need_weights:
            # In float32 at least, as in the fused kernels: a float16 score overflows beyond 65504.
            wide = torch.promote_types(queries.dtype, torch.float32)
            with torch.autocast(queries.device.type, enabled=False):
                scores = queries.to(wide) @ keys.to(wide).transpose(1, 2) / math.sqrt(queries.shape[-1])
            weights = masked_softmax(scores, mask=allowed).to(queries.dtype)
            return self.dropout(weights) @ values, weights
        if allowed is None:
            return self._fused(queries, keys, values, None)
        # What the kernels return for a query without keys differs between devices and versions:
        # such a query is shown everything here, and its output is then set to 0.
        nothing = sees_nothing(allowed)
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
            valid_lens: ``(batch,)`` or ``(batch, queries)``, see :func:`~d2lmini.masks.valid_lens_mask`.
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
        allowed = combined_mask((*queries.shape[:2], keys.shape[1]), valid_lens, mask)
        keys, values = _hide_unseen(keys, values, allowed)
        # (batch, queries, 1, num_hiddens) + (batch, 1, keys, num_hiddens)
        features = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])
        weights = masked_softmax(self.w_v(features).squeeze(-1), mask=allowed)
        output = self.dropout(weights) @ values
        return (output, weights) if need_weights else output


def _hide_unseen(keys: Tensor, values: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
    """Zeros for the keys and values that no query may see: 0 times whatever the padding holds could be NaN."""
    if allowed is None:
        return keys, values
    unseen = ~allowed.any(dim=-2)[..., None]
    return keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)


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
