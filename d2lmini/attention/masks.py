"""Masks: who may attend to what.

A mask is boolean and `True` means *may attend*, as in `torch.nn.functional.scaled_dot_product_attention`.
`torch.nn.MultiheadAttention` uses the opposite; `to_mha_mask` and `from_mha_mask` convert.
"""

import math

import torch
from torch import Tensor

from d2lmini.checks import check_boolean, check_lengths, check_size, read_range


def valid_lens_mask(valid_lens: Tensor, num_keys: int) -> Tensor:
    """Mask that lets a query attend to the first `valid_lens` keys only.

    Chapter: Attention pooling.

    Args:
        valid_lens: whole numbers in `0..num_keys`, of shape `(batch,)` (one length for all queries of an example)
            or `(batch, queries)` (one length for each query). Their values are checked only where they can be read:
            not on the meta device, under `vmap` or while a graph is recorded.
        num_keys: number of keys.

    Returns:
        Boolean mask, `True` = may attend, of shape `(batch, 1, num_keys)` or `(batch, queries, num_keys)`.

    Raises:
        ValueError: if `valid_lens` is not a tensor of whole numbers, has the wrong number of dimensions, or holds a
            length outside `0..num_keys`.

    >>> d2l.valid_lens_mask(torch.tensor([1, 3]), num_keys=3)[:, 0]
    tensor([[ True, False, False],
            [ True,  True,  True]])
    """
    check_lengths("valid_lens", valid_lens, num_keys)
    return mask_lengths(valid_lens, num_keys)


def mask_lengths(valid_lens: Tensor, num_keys: int) -> Tensor:
    """The same for lengths that were checked."""
    valid_lens = valid_lens.long()  # a float16 cannot be compared with each position
    lens = valid_lens[:, None, None] if valid_lens.dim() == 1 else valid_lens[:, :, None]  # (batch, 1 or queries, 1)
    return torch.arange(num_keys, device=valid_lens.device) < lens  # (batch, 1 or queries, num_keys)


def causal_mask(num_queries: int, num_keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """Mask that lets query `i` attend to keys `0..i`: `mask[i, j] = (j <= i)`.

    With more keys than queries, the queries are taken to stand at the last positions, as in decoding with a cache: the
    last query sees all keys.

    Chapter: Attention pooling.

    Args:
        num_queries: number of queries, at least 0.
        num_keys: number of keys, at least `num_queries`; by default the same.
        device: where to put the mask.

    Returns:
        Boolean mask, `True` = may attend, of shape `(num_queries, num_keys)`.

    Raises:
        ValueError: if `num_queries` is negative or there are fewer keys than queries.

    >>> d2l.causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    num_keys = num_queries if num_keys is None else num_keys
    if not 0 <= num_queries <= num_keys:
        raise ValueError(f"causal_mask needs 0 <= num_queries <= num_keys, got {num_queries=}, {num_keys=}")
    all_pairs = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return all_pairs.tril(diagonal=num_keys - num_queries)


def to_mha_mask(mask: Tensor, num_heads: int) -> Tensor:
    """Turn a mask of this package into the `attn_mask` of `torch.nn.MultiheadAttention`.

    Chapter: Multi-head attention.

    Args:
        mask: boolean, `True` = may attend, of shape `(queries, keys)`, `(batch, queries, keys)` or
            `(batch, num_heads or 1, queries, keys)`, none of these dimensions shortened to 1 for broadcasting.
        num_heads: number of heads of the module that gets the mask, at least 1.

    Returns:
        Boolean mask, `True` = may **not** attend, of shape `(queries, keys)` for a mask of that shape, otherwise
        `(batch * num_heads, queries, keys)`, with the heads of one example next to each other.

    Raises:
        ValueError: if `mask` is not boolean, its shape is not one of those listed, or `num_heads` is less than 1.

    >>> d2l.to_mha_mask(d2l.causal_mask(2), num_heads=2)
    tensor([[False,  True],
            [False, False]])
    """
    check_boolean("mask", mask)
    check_size("num_heads", num_heads)
    if mask.dim() == 2:
        return ~mask
    if mask.dim() == 3:
        mask = mask[:, None]
    if mask.dim() != 4 or mask.shape[1] not in (1, num_heads):
        fitting = "(queries, keys), (batch, queries, keys) or (batch, num_heads or 1, queries, keys)"
        raise ValueError(f"mask must have shape {fitting} with num_heads={num_heads}, got {tuple(mask.shape)}")
    return ~mask.expand(-1, num_heads, -1, -1).flatten(0, 1)


def from_mha_mask(attn_mask: Tensor, num_heads: int) -> Tensor:
    """Turn the `attn_mask` of `torch.nn.MultiheadAttention` into a mask of this package.

    Chapter: Multi-head attention.

    Args:
        attn_mask: boolean with `True` = may **not** attend, or floating point with 0 (may attend) and `-inf`
            (may not), of shape `(queries, keys)` or `(batch * num_heads, queries, keys)`.
        num_heads: number of heads of the module that the mask was made for.

    Returns:
        Boolean mask, `True` = may attend, of shape `(queries, keys)` or `(batch, num_heads, queries, keys)`.

    Raises:
        ValueError: if `attn_mask` holds other values or has another shape.

    >>> d2l.from_mha_mask(torch.tensor([[0.0, -torch.inf]]), num_heads=2)
    tensor([[ True, False]])
    """
    if isinstance(attn_mask, Tensor) and attn_mask.is_floating_point():
        allowed = attn_mask == 0
        if not bool((allowed | (attn_mask == -math.inf)).all()):
            raise ValueError("a floating-point attn_mask must hold only 0 and -inf to become a boolean mask")
    else:
        check_boolean("attn_mask", attn_mask)
        allowed = ~attn_mask
    if allowed.dim() == 2:
        return allowed
    if allowed.dim() != 3 or num_heads < 1 or allowed.shape[0] % num_heads:
        fitting = f"(queries, keys) or (batch * num_heads, queries, keys) with num_heads={num_heads}"
        raise ValueError(f"attn_mask must have shape {fitting}, got {tuple(attn_mask.shape)}")
    return allowed.unflatten(0, (-1, num_heads))


def is_fully_masked(allowed: Tensor) -> Tensor:
    """`True` where a row, `(..., keys)`, has no key that its query may attend to; the last dimension becomes 1."""
    return ~allowed.any(dim=-1, keepdim=True)


def combine_masks(
    shape: tuple[int, ...],
    valid_lens: Tensor | None,
    mask: Tensor | None,
    device: torch.device,
    causal: bool = False,
) -> tuple[Tensor | None, bool]:
    """Combine all restrictions, which were checked, into one mask that broadcasts to `shape`, `(..., queries, keys)`.

    Returns:
        The mask, `None` if there is none, and whether attention is causal besides: a kernel that knows this needs no
        mask, so if it is the only restriction, and there are as many queries as keys, it is not written out.
    """
    num_queries, num_keys = shape[-2:]
    allowed = None
    if valid_lens is not None:
        allowed = mask_lengths(valid_lens, num_keys)  # (batch, 1 or queries, keys)
        allowed = allowed[:, None] if len(shape) == 4 else allowed
    if mask is not None:
        mask = align_dims(mask, shape)
        allowed = mask if allowed is None else allowed & mask
    if causal:
        traced = torch.jit.is_tracing()  # type: ignore[attr-defined]  # what is decided here would hold for all lengths
        if allowed is None and num_queries == num_keys and not traced:
            return None, True
        if num_queries > 1 or traced:  # a single query is the last, and may attend to all keys
            earlier = align_dims(causal_mask(num_queries, num_keys, device=device), shape)
            allowed = earlier if allowed is None else allowed & earlier
    if allowed is None and num_keys == 0:
        allowed = torch.zeros((1,) * len(shape), dtype=torch.bool, device=device)
    return allowed, False


def include_bias(
    bias: Tensor, allowed: Tensor | None, causal: bool, shape: tuple[int, ...], dtype: torch.dtype
) -> tuple[Tensor | None, Tensor]:
    """Mask and bias, `(..., queries, keys)`, once minus infinity has moved from the bias to the mask.

    It means *may not attend*, as in PyTorch's float masks. Without a mask it may stay where each row keeps a key.
    """
    if causal:
        allowed = align_dims(causal_mask(shape[-2], device=bias.device), shape)
    bias = align_dims(bias.to(torch.promote_types(dtype, torch.float32)), shape)
    extremes = read_range(bias[..., :1] if allowed is None else bias)  # a row without keys forbids the first as well
    if extremes is None or not all(map(math.isfinite, extremes)):  # to look costs less than a copy
        finite = ~bias.isneginf()
        allowed = finite if allowed is None else allowed & finite
        bias = bias.masked_fill(~allowed, 0.0)
    return allowed, bias


def align_dims(numbers: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Give a mask or bias as many dimensions as `shape`, and the same last one: the rest broadcasts by itself.

    A row without a single key is fully masked, whatever a mask of size 1 says.
    """
    numbers = numbers[(None,) * (len(shape) - numbers.dim())]
    return numbers.expand(*numbers.shape[:-1], shape[-1])
