"""The door: whatever enters attention is checked once, by `d2lmini.tensors`, and becomes one object, `Admitted`.

It holds one mask for all restrictions, a finite bias, and 0 for what nobody may see. Each public layer has this door;
what a layer does behind its door, with what came in, checks nothing again.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from d2lmini.attention.masks import valid_lens_mask
from d2lmini.tensors import check_bias, check_mask, check_one_length_each


class Admitted(NamedTuple):
    """What went through the door. `...` stands for `batch`, or for `batch, num_heads`.

    Attributes:
        queries: `(..., queries, query_size)`, 0 where a query sees nothing.
        keys: `(..., keys, key_size)`, 0 where nobody sees a key.
        values: `(..., keys, value_size)`, 0 where nobody sees a value.
        allowed: boolean, `True` = may attend, broadcasting to `(..., queries, keys)`; `None` if everything is allowed.
        bias: finite numbers to add to the scores, of the same shape, in at least float32; `None` if there are none.
    """

    queries: Tensor
    keys: Tensor
    values: Tensor
    allowed: Tensor | None = None
    bias: Tensor | None = None


def admit(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None,
    mask: Tensor | None,
    bias: Tensor | None = None,
    *,
    num_heads: int | None = None,
) -> Admitted:
    """Let in what has been checked: one mask for all restrictions, and zeros for what nobody may see."""
    heads = () if num_heads is None else (num_heads,)
    shape = (queries.shape[0], *heads, queries.shape[1], keys.shape[-2])
    allowed = combine_masks(shape, valid_lens, mask, queries.device)
    if bias is not None:
        bias, allowed = admit_bias(bias, shape, allowed, queries)
    if allowed is None:
        return Admitted(queries, keys, values)
    in_any_head = allowed if num_heads is None else allowed.any(dim=1)  # (batch, queries, keys)
    each_head = allowed if keys.dim() == 4 else in_any_head  # kept keys and values have heads
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
        return torch.zeros((1,) * (len(shape) - 1) + (0,), dtype=torch.bool, device=device)
    return allowed


def admit_bias(bias: Tensor, shape: tuple[int, ...], allowed: Tensor | None, queries: Tensor) -> tuple[Tensor, Tensor]:
    """Make the bias finite and extend the mask: minus infinity means *may not attend*, as in PyTorch's float masks."""
    check_bias(bias, shape, queries.device)
    bias = bias.to(torch.promote_types(queries.dtype, torch.float32))
    bias = spell_out(bias, shape)
    allowed = ~bias.isneginf() if allowed is None else allowed & ~bias.isneginf()
    return bias.masked_fill(~allowed, 0.0), allowed


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
