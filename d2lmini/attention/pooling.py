"""Attention pooling: scores, softmax, weighted sum.

`...` stands for `batch`, or for `batch, num_heads` inside multi-head attention. What comes in is checked once, by
`d2lmini.checks`, and becomes one object, `Admitted`; `d2lmini.attention.numerics` deals with half precision and fused
kernels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask, combine_masks, sees_nothing, spell_out
from d2lmini.attention.numerics import attend_fused, multiply
from d2lmini.checks import (
    check_bias,
    check_causal,
    check_floats,
    check_inputs,
    check_number,
    check_projected,
    check_shapes,
    name_shape,
    read_range,
)


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
    """
    check_shapes(X=(X, "batch queries keys"))
    check_floats(X=X)
    return apply_softmax(X, combine_masks(X.shape, valid_lens, mask, X.device))


def apply_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Turn scores and a mask, `(..., queries, keys)`, into weights; a row that sees nothing is 0 throughout."""
    if allowed is None:
        return F.softmax(scores, dim=-1)
    nothing = sees_nothing(allowed)  # (..., queries, 1)
    # Rows that see nothing are filled with 0 before the softmax: a row of -inf has none, and would give NaN.
    scores = scores.masked_fill(~allowed, -math.inf).masked_fill(nothing, 0.0)
    return F.softmax(scores, dim=-1).masked_fill(nothing, 0.0)


class Admitted(NamedTuple):
    """What went through the door. `...` stands for `batch`, or for `batch, num_heads`.

    Attributes:
        queries: `(..., queries, query_size)`, 0 where a query sees nothing.
        keys: `(..., keys, key_size)`, 0 where nobody sees a key.
        values: `(..., keys, value_size)`, 0 where nobody sees a value.
        allowed: boolean, `True` = may attend, broadcasting to `(..., queries, keys)`; `None` if everything is allowed.
        bias: numbers to add to the scores, of the same shape, in at least float32; `None` if there are none. They leave
            each query a key.
        causal: whether query i sees the keys 0..i, and nothing else is forbidden: then `allowed` and `bias` are `None`,
            and there are as many queries as keys. A kernel that knows this needs no mask.
    """

    queries: Tensor
    keys: Tensor
    values: Tensor
    allowed: Tensor | None = None
    bias: Tensor | None = None
    causal: bool = False


def admit(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None,
    mask: Tensor | None,
    bias: Tensor | None = None,
    *,
    causal: bool,
    num_heads: int | None = None,
) -> Admitted:
    """Let in what has been checked: one mask for all restrictions, and zeros for what nobody may see."""
    heads = () if num_heads is None else (num_heads,)
    num_queries, num_keys = queries.shape[1], keys.shape[-2]
    shape = (queries.shape[0], *heads, num_queries, num_keys)
    allowed = combine_masks(shape, valid_lens, mask, queries.device)
    if causal is not False:
        check_causal(causal, num_queries, num_keys)
        traced = torch.jit.is_tracing()  # type: ignore[attr-defined]  # what is decided here would hold for all lengths
        if allowed is None and bias is None and num_queries == num_keys and not traced:
            return Admitted(queries, keys, values, causal=True)
        if num_queries > 1 or traced:  # a single query is the last, and sees all keys
            earlier = spell_out(causal_mask(num_queries, num_keys, device=queries.device), shape)
            allowed = earlier if allowed is None else allowed & earlier
    if bias is not None:
        bias, allowed = admit_bias(bias, shape, allowed, queries)
    if allowed is None:
        return Admitted(queries, keys, values, bias=bias)
    in_any_head = allowed if num_heads is None else allowed.any(dim=1)  # (batch, queries, keys)
    each_head = in_any_head[:, None] if keys.dim() == 4 else in_any_head  # kept keys and values have heads
    return Admitted(hide_blind(queries, in_any_head), *hide_unseen(keys, values, each_head), allowed, bias)


def spell_out_causal(admitted: Admitted) -> Admitted:
    """The same with a mask, for whoever needs to see the pairs."""
    if not admitted.causal:
        return admitted
    keys = admitted.keys  # (..., keys, key_size), as many as queries
    allowed = causal_mask(keys.shape[-2], device=keys.device)[(None,) * (keys.dim() - 2)]  # (..., queries, keys)
    return admitted._replace(allowed=allowed, causal=False)


def admit_bias(
    bias: Tensor, shape: tuple[int, ...], allowed: Tensor | None, queries: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Move minus infinity from the bias to the mask: it means *may not attend*, as in PyTorch's float masks.

    It may stay where each query sees a key, each key is seen, and no mask hides numbers of the bias.
    """
    check_bias(bias, shape, queries.device)
    bias = bias.to(torch.promote_types(queries.dtype, torch.float32))
    bias = spell_out(bias, shape)
    # A query that sees no key does not see the first one, and a key that nobody sees is not seen by the first query.
    edges = (bias[..., :1, :], bias[..., :1]) if allowed is None else (bias,)
    if not any(may_forbid(numbers) for numbers in edges):
        return bias, allowed
    allowed = ~bias.isneginf() if allowed is None else allowed & ~bias.isneginf()
    return bias.masked_fill(~allowed, 0.0), allowed


def may_forbid(numbers: Tensor) -> bool:
    """Whether some numbers are not finite, or nobody can look: a look costs less than a copy of them."""
    extremes = read_range(numbers)
    return extremes is None or not all(map(math.isfinite, extremes))


def hide_blind(queries: Tensor, allowed: Tensor) -> Tensor:
    """Zeros for the queries that see nothing: 0 times whatever the padding holds could be NaN, also in a gradient."""
    return queries.masked_fill(~allowed.any(dim=-1)[..., None], 0.0)


def hide_unseen(keys: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Zeros for the keys and values that nobody sees, for the same reason."""
    unseen = ~allowed.any(dim=-2)[..., None]  # (..., keys, 1)
    return keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)


class _Pooling(nn.Module):
    """What both poolings share: scores become weights, and the weights mix the values. Only the scores differ."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        check_number("dropout", dropout, 0, 1)
        self.dropout = nn.Dropout(dropout)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """How well each key fits each query, `(..., queries, keys)`."""
        raise NotImplementedError

    def mix(self, admitted: Admitted) -> tuple[Tensor, Tensor]:
        """Pool what the door has admitted: the output, and the weights before dropout."""
        Q, K, V, allowed, bias, _ = spell_out_causal(admitted)
        scores = self.scores(Q, K)  # (..., queries, keys)
        scores = scores if bias is None else scores + bias
        weights = apply_softmax(scores, allowed).to(Q.dtype)  # (..., queries, keys)
        return self.dropout(weights) @ V, weights  # (..., queries, value_size)

    def pool(self, admitted: Admitted, *, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """Do the same as `mix`, but return the weights only if they are wanted."""
        output, weights = self.mix(admitted)
        return output, weights if need_weights else None

    def check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        """Check that queries, keys and values go together, and have the sizes that the scores need."""
        raise NotImplementedError

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None,
        *, mask: Tensor | None = None, bias: Tensor | None = None, causal: bool = False, need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
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
        admitted = admit(queries, keys, values, valid_lens, mask, bias, causal=causal)
        output, weights = self.pool(admitted, need_weights=need_weights)
        return output if weights is None else (output, weights)


class DotProductAttention(_Pooling):
    """Scaled dot-product attention (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

        softmax(Q Kᵀ / √d) V

    Queries and keys have the same size d.

    Chapter: Attention pooling.

    Args:
        dropout: probability with which a weight is dropped in training.
    """

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Dot products, divided by the root of the size."""
        return multiply(queries, keys.mT) / math.sqrt(queries.shape[-1])  # (..., queries, keys)

    def pool(self, admitted: Admitted, *, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """Do the same as `mix`, but with a fused kernel if nobody wants the weights."""
        if need_weights:
            return self.mix(admitted)
        return attend_fused(*admitted, self.dropout.p if self.training else 0.0), None

    def check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        """Check that queries and keys have the same size."""
        check_inputs(queries, keys, values, query_size="size")
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
    """

    def __init__(
        self, key_size: int, query_size: int, num_hiddens: int, dropout: float,
        *, device: torch.device | str | None = None, dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(dropout)
        self.key_size, self.query_size = key_size, query_size
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False, device=device, dtype=dtype)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False, device=device, dtype=dtype)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False, device=device, dtype=dtype)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """A small network looks at each pair of a query and a key."""
        Q = self.W_q(queries).unsqueeze(-2)  # (..., queries, 1, num_hiddens)
        K = self.W_k(keys).unsqueeze(-3)  # (..., 1, keys, num_hiddens)
        return self.w_v(torch.tanh(Q + K)).squeeze(-1)  # (..., queries, keys)

    def check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        """Check that the layers accept these queries and keys."""
        check_inputs(queries, keys, values)
        check_projected("queries", queries, self.query_size, self.W_q)
        check_projected("keys", keys, self.key_size, self.W_k)
