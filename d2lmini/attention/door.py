"""The door: what comes into attention is checked here, once. Behind it nobody asks again.

What went through is one thing, `Admitted`: one mask of all restrictions, a finite bias, and 0 for what nobody may see.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_size, name_kind, name_shape
from d2lmini.attention.masks import check_boolean, sees_nothing, valid_lens_mask
from d2lmini.attention.numerics import autocasts


class Admitted(NamedTuple):
    """What went through the door. `...` stands for `batch`, or for `batch, num_heads`.

    Attributes:
        queries: `(..., queries, query_size)`, 0 where a query sees nothing.
        keys: `(..., keys, key_size)`, 0 where nobody sees a key.
        values: `(..., keys, value_size)`, 0 where nobody sees a value.
        allowed: boolean, `True` = may attend, broadcasting to `(..., queries, keys)`; `None` if everything is allowed.
        bias: finite numbers to add to the scores, of the same shape, in float32 at least; `None` if there are none.
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
    """Let in what was checked: one mask of all restrictions, and zeros for what nobody may see."""
    heads = () if num_heads is None else (num_heads,)
    shape = (queries.shape[0], *heads, queries.shape[1], keys.shape[-2])
    allowed = combine_masks(shape, valid_lens, mask, queries.device)
    if bias is not None:
        bias, allowed = admit_bias(bias, shape, allowed, queries)
    if allowed is None:
        return Admitted(queries, keys, values)
    in_any_head = allowed if num_heads is None else allowed.any(dim=1)
    return Admitted(*hide_unseen(queries, keys, values, in_any_head), allowed, bias)


def combine_masks(
    shape: tuple[int, ...], valid_lens: Tensor | None, mask: Tensor | None, device: torch.device
) -> Tensor | None:
    """Both restrictions as one mask that broadcasts to `shape`, `(..., queries, keys)`, or `None` if there are none."""
    shape = tuple(shape)
    batch, num_queries, num_keys = shape[0], *shape[-2:]
    allowed = None
    if valid_lens is not None:
        allowed = valid_lens_mask(valid_lens, num_keys)  # (batch, 1 or queries, keys)
        if tuple(valid_lens.shape) not in ((batch,), (batch, num_queries)):
            fitting = f"{(batch,)} or {(batch, num_queries)} to go with scores of shape {shape}"
            raise ValueError(f"valid_lens must have shape {fitting}, got {name_shape(valid_lens)}")
        allowed = allowed[:, None] if len(shape) == 4 else allowed
    if mask is not None:
        check_mask(mask, shape)
        mask = spell_out(mask, shape)
        allowed = mask if allowed is None else allowed & mask
    if allowed is None and num_keys == 0:
        return torch.zeros((1,) * (len(shape) - 1) + (0,), dtype=torch.bool, device=device)
    return allowed


def admit_bias(
    bias: Tensor, shape: tuple[int, ...], allowed: Tensor | None, queries: Tensor
) -> tuple[Tensor, Tensor | None]:
    """A bias that is finite, and the mask: minus infinity means *may not attend*, as in the float masks of PyTorch."""
    check_bias(bias, shape, queries.device)
    bias = bias.to(torch.promote_types(queries.dtype, torch.float32))
    bias = spell_out(bias, shape)
    allowed = ~bias.isneginf() if allowed is None else allowed & ~bias.isneginf()
    return bias.masked_fill(~allowed, 0.0), allowed


def spell_out(numbers: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A mask or bias with as many dimensions as `shape`, and with its last one: the rest broadcasts by itself.

    A query without a single key sees nothing, whatever a mask of size 1 says.
    """
    numbers = numbers[(None,) * (len(shape) - numbers.dim())]
    return numbers.expand(*numbers.shape[:-1], shape[-1])


def hide_unseen(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros for the queries that see nothing, and for the keys and values that nobody sees.

    0 times whatever the padding holds could be NaN, in the output or in a gradient.
    """
    queries = queries.masked_fill(sees_nothing(allowed), 0.0)
    if keys.dim() == 4:  # kept ones: their padding was hidden before they were projected
        return queries, keys, values
    unseen = ~allowed.any(dim=-2)[..., None]  # (batch, keys, 1)
    return queries, keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)


def check_scores(X: Tensor) -> None:
    """Check that these are scores, `(batch, queries, keys)`."""
    if not isinstance(X, Tensor) or X.dim() != 3 or not X.is_floating_point():
        found = f"{name_kind(X)} {name_shape(X)}" if isinstance(X, Tensor) else name_kind(X)
        raise ValueError(f"X must hold floating-point scores of shape (batch, queries, keys), got {found}")


def check_sequences(**sequences: Tensor) -> None:
    """Check that these are tensors `(batch, steps, size)` of one floating-point dtype; under autocast it may differ."""
    for name, X in sequences.items():
        if not isinstance(X, Tensor):
            raise ValueError(f"{name} must be a tensor, got {name_kind(X)}")
        if X.dim() != 3:
            raise ValueError(f"{name} must have shape (batch, steps, size), got {name_shape(X)}")
    tensors = list(sequences.values())
    mixed = len({X.dtype for X in tensors}) > 1 and not all(autocasts(X.device) for X in tensors)
    if mixed or not all(X.is_floating_point() for X in tensors):
        names = ", ".join(sequences)
        raise ValueError(f"{names} must share one floating-point dtype, got {[X.dtype for X in tensors]}")


def check_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Check that queries, keys and values go together."""
    check_sequences(queries=queries, keys=keys, values=values)
    shapes = queries.shape, keys.shape, values.shape
    if not queries.shape[0] == keys.shape[0] == values.shape[0]:
        raise ValueError(f"queries, keys and values must have the same batch size, got {[*map(tuple, shapes)]}")
    if keys.shape[1] != values.shape[1]:
        raise ValueError(f"there must be one value for each key, got {[*map(tuple, shapes[1:])]}")


def check_kept(queries: Tensor, K: Tensor, V: Tensor, num_heads: int, size: int) -> None:
    """Check that keys and values projected before, `(batch, num_heads, keys, size)`, go with these queries."""
    check_sequences(queries=queries)
    fitting = (queries.shape[0], num_heads, K.shape[2], size)
    if tuple(K.shape) != fitting or not isinstance(V, Tensor) or V.shape != K.shape:
        found = f"{name_shape(K)} and {name_shape(V)}"
        raise ValueError(f"K and V must have shape (batch, num_heads, keys, p) = {fitting}, got {found}")
    if V.dtype != K.dtype or not K.is_floating_point():
        raise ValueError(f"K and V must share one floating-point dtype, got {K.dtype} and {V.dtype}")


def check_projected(name: str, X: Tensor, size: int, layer: nn.Module) -> None:
    """Check that a linear layer takes `X`, `(..., size)`; under autocast float16, bfloat16 and float32 may meet."""
    if X.shape[-1] != size:
        raise ValueError(f"{name} must have size {size} in their last dimension, got {name_shape(X)}")
    dtype = getattr(getattr(layer, "weight", None), "dtype", None)
    if dtype in (X.dtype, None) or not dtype.is_floating_point:  # a quantised layer has whole numbers, or a method
        return
    if X.dtype == torch.float64 or not autocasts(X.device):
        raise ValueError(f"{name} must have the dtype of the weights, {dtype}, got {X.dtype}")


def check_same_size(queries: Tensor, keys: Tensor) -> None:
    """Check that queries and keys have the same size."""
    if queries.shape[-1] != keys.shape[-1] or queries.shape[-1] == 0:
        found = f"{name_shape(queries)} and {name_shape(keys)}"
        raise ValueError(f"queries and keys must have the same size, at least 1, in their last dimension, got {found}")


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Check that this is a mask that broadcasts to `shape`, `(..., queries, keys)`."""
    check_boolean("mask", mask)
    if len(shape) == 4 and mask.dim() == 3 and mask.shape[0] != 1:
        cure = "for one mask per example write mask[:, None], for one mask per head mask[None]"
        raise ValueError(f"mask of shape {name_shape(mask)} is ambiguous: {cure}")
    check_broadcast("mask", mask, shape)


def check_bias(bias: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Check that this is a bias of the scores that broadcasts to `shape`, `(..., queries, keys)`."""
    if not isinstance(bias, Tensor) or not bias.is_floating_point():
        raise ValueError(f"bias must be a tensor of floating-point numbers, got {name_kind(bias)}")
    if bias.device != device:
        raise ValueError(f"bias must be on the device of the queries, {device}, got {bias.device}")
    check_broadcast("bias", bias, shape)


def check_broadcast(name: str, numbers: Tensor, shape: tuple[int, ...]) -> None:
    """Check that a tensor broadcasts to `shape`."""
    pairs = zip(numbers.shape[::-1], shape[::-1], strict=False)
    if numbers.dim() > len(shape) or any(size not in (1, whole) for size, whole in pairs):
        raise ValueError(f"{name} must broadcast to {shape}, got {name_shape(numbers)}")


def check_heads(num_hiddens: int, num_heads: int) -> None:
    """Check that the heads share the width evenly."""
    check_size("num_hiddens", num_hiddens)
    check_size("num_heads", num_heads)
    if num_hiddens % num_heads:
        found = f"got num_hiddens={num_hiddens} and num_heads={num_heads}"
        raise ValueError(f"num_hiddens must be divisible by num_heads, {found}")


def check_dimensions(X: Tensor, shape: str) -> None:
    """Check that `X` is a tensor of three dimensions."""
    if not isinstance(X, Tensor) or X.dim() != 3:
        raise ValueError(f"X must have shape {shape}, got {name_shape(X)}")
