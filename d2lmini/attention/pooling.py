"""Attention pooling: scores, softmax, weighted sum.

`...` stands for `batch`, or for `batch, num_heads` inside multi-head attention. The two functions are the formula, and
check nothing; `d2lmini.attention.numerics` deals with half precision and fused kernels.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.masks import align_dims, causal_mask, combine_masks, include_bias, is_fully_masked
from d2lmini.attention.numerics import attend_fused, multiply
from d2lmini.checks import (
    check_bias,
    check_floats,
    check_inputs,
    check_number,
    check_projected,
    check_restrictions,
    check_shapes,
    name_shape,
)


def attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """The weights of scaled dot-product attention, softmax(Q Kᵀ / √d).

    As in `torch.nn.functional.scaled_dot_product_attention`, leading dimensions broadcast, and what does not fit is
    refused by PyTorch: `DotProductAttention` checks its arguments. A query that may attend to nothing gets weights 0.

    Chapter: Attention pooling.

    Args:
        Q: queries, `(..., queries, d)`.
        K: keys, `(..., keys, d)`.
        mask: boolean, `True` = may attend, broadcasting to `(..., queries, keys)`.
        bias: numbers that are added to the scores, likewise.

    Returns:
        `(..., queries, keys)`, in the dtype of the queries.

    >>> d2l.attention_weights(torch.zeros(1, 4), torch.ones(2, 4))
    tensor([[0.5000, 0.5000]])
    """
    scores = multiply(Q, K.mT) / math.sqrt(Q.shape[-1])  # (..., queries, keys)
    return apply_softmax(scores, mask, bias).to(Q.dtype)  # (..., queries, keys)


def attend(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention, softmax(Q Kᵀ / √d) V (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

    Chapter: Attention pooling.

    Args:
        Q: queries, `(..., queries, d)`.
        K: keys, `(..., keys, d)`.
        V: values, `(..., keys, value_size)`.
        mask: boolean, `True` = may attend, broadcasting to `(..., queries, keys)`.
        bias: numbers that are added to the scores, likewise.

    Returns:
        `(..., queries, value_size)`; 0 for a query that may attend to nothing.

    >>> d2l.attend(torch.zeros(1, 4), torch.ones(2, 4), torch.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    return attention_weights(Q, K, mask, bias) @ V  # (..., queries, value_size)


def masked_softmax(X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None) -> Tensor:
    """Softmax over the keys that a query may attend to.

        αᵢⱼ = mᵢⱼ exp(xᵢⱼ) / Σₖ mᵢₖ exp(xᵢₖ)

    with mᵢⱼ = 1 where query i may attend to key j, and 0 elsewhere. A query that may attend to nothing gets weights 0.
    `X` is left unchanged.

    Chapter: Attention pooling.

    Args:
        X: scores, `(batch, queries, keys)`.
        valid_lens: lengths, `(batch,)` or `(batch, queries)`, see `valid_lens_mask`.
        mask: boolean, `True` = may attend, of a shape that broadcasts to that of `X`. If both are given, both apply.

    Returns:
        Weights of the shape and dtype of `X`; each row sums to 1, or to 0 where nothing may be attended to.

    Raises:
        ValueError: if `X` does not hold floating-point scores of three dimensions, or `valid_lens` or `mask` does not
            fit it.

    >>> d2l.masked_softmax(torch.zeros(1, 1, 4), torch.tensor([2]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]]])
    """
    check_shapes(X=(X, "batch queries keys"))
    check_floats(X=X)
    check_restrictions(X.shape, valid_lens, mask)
    return apply_softmax(X, combine_masks(X.shape, valid_lens, mask, X.device)[0])


def apply_softmax(scores: Tensor, allowed: Tensor | None, bias: Tensor | None = None) -> Tensor:
    """Turn scores, a mask and a bias, `(..., queries, keys)`, into weights; a fully masked row is 0 throughout."""
    scores = scores if bias is None else scores + bias
    if allowed is None:
        return F.softmax(scores, dim=-1)
    masked = is_fully_masked(allowed)  # (..., queries, 1)
    # Fully masked rows are filled with 0 before the softmax: a row of -inf has none, and would give NaN.
    scores = scores.masked_fill(~allowed, -math.inf).masked_fill(masked, 0.0)
    return F.softmax(scores, dim=-1).masked_fill(masked, 0.0)


class _Pooling(nn.Module):
    """What both poolings share: scores become weights, and the weights mix the values. Only the scores differ."""

    fused = False  # whether PyTorch has a kernel that computes the same

    def __init__(self, dropout: float) -> None:
        super().__init__()
        check_number("dropout", dropout, 0, 1)
        self.dropout = nn.Dropout(dropout)

    def weigh(self, Q: Tensor, K: Tensor, allowed: Tensor | None, bias: Tensor | None) -> Tensor:
        """How much each query attends to each key, `(..., queries, keys)`."""
        raise NotImplementedError

    def mix(
        self, Q: Tensor, K: Tensor, V: Tensor, allowed: Tensor | None, bias: Tensor | None = None, causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Pool the values: the output, and the weights before dropout."""
        if causal:
            allowed = align_dims(causal_mask(Q.shape[-2], device=Q.device), (*Q.shape[:-1], K.shape[-2]))
        weights = self.weigh(Q, K, allowed, bias)  # (..., queries, keys)
        return self.dropout(weights) @ V, weights  # (..., queries, value_size)

    def pool(
        self,
        Q: Tensor,
        K: Tensor,
        V: Tensor,
        allowed: Tensor | None,
        bias: Tensor | None,
        causal: bool,
        *,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Do the same as `mix`, but return the weights only if they are wanted: a fused kernel never stores them.

        Args:
            Q: `(..., queries, query_size)`.
            K: `(..., keys, key_size)`.
            V: `(..., keys, value_size)`.
            allowed: boolean, `True` = may attend, broadcasting to `(..., queries, keys)`; `None` if all is allowed.
            bias: numbers to add to the scores, of the same shape, finite where `allowed`, in at least float32.
            causal: whether query i attends to the keys 0..i and there is no other restriction, and no bias.
            need_weights: whether to return the weights.
        """
        if self.fused and not need_weights:
            return attend_fused(Q, K, V, allowed, bias, causal, self.dropout.p if self.training else 0.0), None
        output, weights = self.mix(Q, K, V, allowed, bias, causal)
        return output, weights if need_weights else None

    def check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        """Check that queries, keys and values go together, and have the sizes that the scores need."""
        raise NotImplementedError

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool the values.

        Args:
            queries: `(batch, queries, query_size)`.
            keys: `(batch, keys, key_size)`.
            values: `(batch, keys, value_size)`.
            valid_lens: `(batch,)` or `(batch, queries)`, see `valid_lens_mask`.
            mask: boolean, `True` = may attend, broadcasting to `(batch, queries, keys)`.
            bias: numbers that are added to the scores, broadcasting to `(batch, queries, keys)`; minus infinity means
                that the query may not attend.
            causal: whether later keys are hidden. As in `causal_mask`, the queries take the last positions.
            need_weights: also return the weights. Without them, dot products use PyTorch's fused kernel; if
                `causal` is the only restriction and there are as many queries as keys, it needs no mask.

        Returns:
            The output, `(batch, queries, value_size)`; with `need_weights`, a pair of the output and the weights
            before dropout, `(batch, queries, keys)`. A query that may attend to nothing gets output 0.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        self.check(queries, keys, values)
        shape = (*queries.shape[:2], keys.shape[1])
        check_restrictions(shape, valid_lens, mask, causal)
        allowed, causal = combine_masks(shape, valid_lens, mask, queries.device, causal)
        if bias is not None:
            check_bias(bias, shape, queries.device)
            allowed, bias = include_bias(bias, allowed, causal, shape, queries.dtype)
            causal = False
        output, weights = self.pool(queries, keys, values, allowed, bias, causal, need_weights=need_weights)
        return output if weights is None else (output, weights)


class DotProductAttention(_Pooling):
    """Scaled dot-product attention (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

        softmax(Q Kᵀ / √d) V

    Queries and keys have the same size d.

    Chapter: Attention pooling.

    Args:
        dropout: probability with which a weight is dropped in training.

    >>> K = V = torch.eye(2)[None]
    >>> d2l.DotProductAttention(dropout=0)(100 * K, K, V).round(decimals=2)
    tensor([[[1., 0.],
             [0., 1.]]])
    """

    fused = True

    def weigh(self, Q: Tensor, K: Tensor, allowed: Tensor | None, bias: Tensor | None) -> Tensor:
        """The softmax of scaled dot products."""
        return attention_weights(Q, K, allowed, bias)

    def check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        """Check that queries and keys have the same size."""
        check_inputs(queries, keys, values, one_size=True)
        check_floats(queries=queries, keys=keys, values=values)
        if queries.shape[2] == 0:
            raise ValueError(f"queries and keys must have a size of at least 1, got {name_shape(keys)}")


class AdditiveAttention(_Pooling):
    """Additive attention (Bahdanau et al., 2014, https://arxiv.org/abs/1409.0473).

        a(q, k) = w_vᵀ tanh(W_q q + W_k k)

    Queries and keys may differ in size. The scores take memory for `batch * queries * keys * num_hiddens` numbers.

    Chapter: Attention pooling.

    Args:
        key_size: size of a key.
        query_size: size of a query.
        num_hiddens: size of the hidden layer.
        dropout: probability with which a weight is dropped in training.
        device: where to put the weights.
        dtype: of the weights.

    >>> attention = d2l.AdditiveAttention(key_size=2, query_size=3, num_hiddens=8, dropout=0)
    >>> attention(torch.ones(1, 4, 3), torch.ones(1, 5, 2), torch.ones(1, 5, 6)).shape
    torch.Size([1, 4, 6])
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        num_hiddens: int,
        dropout: float,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dropout)
        self.key_size, self.query_size = key_size, query_size
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False, device=device, dtype=dtype)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False, device=device, dtype=dtype)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False, device=device, dtype=dtype)

    def weigh(self, Q: Tensor, K: Tensor, allowed: Tensor | None, bias: Tensor | None) -> Tensor:
        """The softmax of what a small network makes of each pair of a query and a key."""
        hidden = self.W_q(Q).unsqueeze(-2) + self.W_k(K).unsqueeze(-3)  # (..., queries, keys, num_hiddens)
        scores = self.w_v(torch.tanh(hidden)).squeeze(-1)  # (..., queries, keys)
        return apply_softmax(scores, allowed, bias).to(Q.dtype)

    def check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        """Check that the layers accept these queries and keys."""
        check_inputs(queries, keys, values)
        check_floats(queries=queries, keys=keys, values=values)
        check_projected("queries", queries, self.query_size, self.W_q)
        check_projected("keys", keys, self.key_size, self.W_k)
