"""Attention pooling: scores, softmax, weighted sum.

Shapes in this module: ``batch`` examples, each with ``queries`` queries and ``keys`` key-value pairs. Masks are boolean
with ``True`` for *may attend*: see :mod:`d2lmini.masks`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.arguments import check_number, check_size
from d2lmini.attention.door import check_bias, check_inputs, check_layer, check_sequences, hide_unseen
from d2lmini.attention.masks import combined_mask, finite_bias, sees_nothing
from d2lmini.attention.numerics import at_least_float32, without_autocast

__all__ = ["AdditiveAttention", "DotProductAttention", "SelfAttention", "masked_softmax"]


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
    allowed = combined_mask(X.shape, valid_lens, mask, X.device)
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
        check_number("dropout", dropout, 0, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool the values.

        Args:
            queries: ``(batch, queries, d)``.
            keys: ``(batch, keys, d)``.
            values: ``(batch, keys, value_size)``.
            valid_lens: ``(batch,)`` or ``(batch, queries)``, see :func:`~d2lmini.masks.valid_lens_mask`.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, queries, keys)``.
            bias: numbers that are added to the scaled scores, broadcasting to ``(batch, queries, keys)``; minus
                infinity means that the query may not attend.
            need_weights: also return the weights. Without them PyTorch's fused kernel is used.

        Returns:
            The output, ``(batch, queries, value_size)``; with ``need_weights`` the pair of it and the weights
            before dropout, ``(batch, queries, keys)``. A query that may attend to nothing gets output 0.

        Raises:
            ValueError: if a shape or dtype does not fit the others.
        """
        check_inputs(queries, keys, values)
        if queries.shape[-1] != keys.shape[-1] or queries.shape[-1] == 0:
            raise ValueError(
                "queries and keys must have the same size, at least 1, in their last dimension, got "
                f"{tuple(queries.shape)} and {tuple(keys.shape)}"
            )
        shape = (*queries.shape[:2], keys.shape[1])
        allowed = combined_mask(shape, valid_lens, mask, queries.device)
        if bias is not None:
            check_bias(bias, shape, queries.device)
            wide = torch.promote_types(queries.dtype, torch.float32)
            bias, allowed = finite_bias(bias, shape, allowed, wide)
        queries, keys, values = hide_unseen(queries, keys, values, allowed)
        if need_weights:
            # In float32 at least, as in the fused kernels: a float16 score overflows beyond 65504.
            with without_autocast(queries.device):
                scores = at_least_float32(queries) @ at_least_float32(keys).transpose(1, 2)
            scores = scores / math.sqrt(queries.shape[-1])
            scores = scores if bias is None else scores + bias
            weights = masked_softmax(scores, mask=allowed).to(queries.dtype)
            return self.dropout(weights) @ values, weights
        if allowed is None:
            return self._fused(queries, keys, values, None)
        # What the kernels return for a query without keys differs between devices and versions:
        # such a query is shown everything here, and its output is then set to 0.
        nothing = sees_nothing(allowed)
        seen = allowed | nothing
        if bias is None:
            return self._fused(queries, keys, values, seen).masked_fill(nothing, 0.0)
        # In the dtype of the bias throughout: kernels differ in what they do with a mask of another one.
        with without_autocast(queries.device):
            Q, K, V = (part.to(bias.dtype) for part in (queries, keys, values))
            output = self._fused(Q, K, V, bias.masked_fill(~seen, -math.inf)).to(values.dtype)
        return output.masked_fill(nothing, 0.0)

    def _fused(self, queries: Tensor, keys: Tensor, values: Tensor, attn_mask: Tensor | None) -> Tensor:
        # The kernels want a dimension for heads; 3-D input would silently take the slow path.
        return F.scaled_dot_product_attention(
            queries[:, None],
            keys[:, None],
            values[:, None],
            attn_mask=None if attn_mask is None else attn_mask[:, None],
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
        check_number("dropout", dropout, 0, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool the values.

        Args:
            queries: ``(batch, queries, query_size)``.
            keys: ``(batch, keys, key_size)``.
            values: ``(batch, keys, value_size)``.
            valid_lens: ``(batch,)`` or ``(batch, queries)``, see :func:`~d2lmini.masks.valid_lens_mask`.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, queries, keys)``.
            bias: numbers that are added to the scores, broadcasting to ``(batch, queries, keys)``; minus infinity
                means that the query may not attend.
            need_weights: also return the weights.

        Returns:
            The output, ``(batch, queries, value_size)``; with ``need_weights`` the pair of it and the weights
            before dropout, ``(batch, queries, keys)``. A query that may attend to nothing gets output 0.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_inputs(queries, keys, values)
        check_layer("queries", queries, self.W_q)
        check_layer("keys", keys, self.W_k)
        shape = (*queries.shape[:2], keys.shape[1])
        allowed = combined_mask(shape, valid_lens, mask, queries.device)
        if bias is not None:
            check_bias(bias, shape, queries.device)
            wide = torch.promote_types(queries.dtype, torch.float32)
            bias, allowed = finite_bias(bias, shape, allowed, wide)
        queries, keys, values = hide_unseen(queries, keys, values, allowed)
        # (batch, queries, 1, num_hiddens) + (batch, 1, keys, num_hiddens)
        features = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])
        scores = self.w_v(features).squeeze(-1)
        weights = masked_softmax(scores if bias is None else scores + bias, mask=allowed).to(scores.dtype)
        output = self.dropout(weights) @ values
        return (output, weights) if need_weights else output


class SelfAttention(nn.Module):
    r"""Self-attention with one head: queries, keys and values are made from one sequence.

    .. math:: Y = A V, \quad A = \mathrm{softmax}\!\left(Q K^\top / \sqrt{d}\right), \quad
              Q = X W_q^\top + b_q, \; K = X W_k^\top + b_k, \; V = X W_v^\top + b_v

    It has no output projection and no dropout; :class:`~d2lmini.multihead.MultiHeadAttention` has both.

    Args:
        d_model: size of a token, of its query, of its key and of its value; at least 1.

    Raises:
        ValueError: if ``d_model`` is no integer of at least 1.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_size("d_model", d_model)
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.attention = DotProductAttention(dropout=0.0)

    def forward(
        self, X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Let each token of a sequence attend to the tokens of the same sequence.

        Args:
            X: ``(batch, steps, d_model)``.
            valid_lens: ``(batch,)`` or ``(batch, steps)``, see :func:`~d2lmini.masks.valid_lens_mask`.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, steps, steps)``.

        Returns:
            The output, ``(batch, steps, d_model)``, and the weights, ``(batch, steps, steps)``. A token that may
            attend to nothing gets 0 for both. Padding asks, too: if it may hold NaN, give it length 0 in
            ``valid_lens`` of shape ``(batch, steps)``, or its row will be NaN, and with it the gradients.

        Raises:
            ValueError: if a shape or dtype does not fit the others or ``d_model``.
        """
        check_sequences(X=X)
        check_layer("X", X, self.W_q)
        allowed = combined_mask((*X.shape[:2], X.shape[1]), valid_lens, mask, X.device)
        inputs, keys, values = hide_unseen(X, X, X, allowed)
        return self.attention(self.W_q(inputs), self.W_k(keys), self.W_v(values), mask=allowed, need_weights=True)
