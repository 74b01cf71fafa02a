"""The door: whatever enters attention is checked once, by `d2lmini.tensors`, and becomes one object, `Admitted`.

It holds one mask for all restrictions, a bias, and 0 for what nobody may see. Each public layer has this door;
what a layer does behind its door, with what came in, checks nothing again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from d2lmini.attention.masks import causal_mask, valid_lens_mask
from d2lmini.tensors import check_bias, check_causal, check_mask, check_one_length_each, read_range


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


def combine_masks(
    shape: tuple[int, ...], valid_lens: Tensor | None, mask: Tensor | None, device: torch.device
) -> Tensor | None:
    """Combine both into one mask that broadcasts to `shape`, `(..., queries, keys)`, or `None` if there is neither."""
    shape = tuple(shape)
    batch, num_queries, num_keys = shape[0], *shape[-2:]
    allowed = None
    if valid_lens is not None:
        allowed = valid_lens_mask(valid_lens, num_keys)  # (batch, 1 or queries, keys)
        check_one_length_each("valid_lens", valid_lens, (batch,), (batch, num_queries))
        allowed = allowed[:, None] if len(shape) == 4 else allowed
    if mask is not None:
        check_mask(mask, shape)
        mask = spell_out(mask, shape)
        allowed = mask if allowed is None else allowed & mask
    if allowed is None and num_keys == 0:
        return torch.zeros((1,) * len(shape), dtype=torch.bool, device=device)
    return allowed


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


def spell_out(numbers: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Give a mask or bias as many dimensions as `shape`, and the same last one: the rest broadcasts by itself.

    A query without a single key sees nothing, whatever a mask of size 1 says.
    """
    numbers = numbers[(None,) * (len(shape) - numbers.dim())]
    return numbers.expand(*numbers.shape[:-1], shape[-1])


def hide_blind(queries: Tensor, allowed: Tensor) -> Tensor:
    """Zeros for the queries that see nothing: 0 times whatever the padding holds could be NaN, also in a gradient."""
    return queries.masked_fill(~allowed.any(dim=-1)[..., None], 0.0)


def hide_unseen(keys: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Zeros for the keys and values that nobody sees, for the same reason."""
    unseen = ~allowed.any(dim=-2)[..., None]  # (..., keys, 1)
    return keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)
