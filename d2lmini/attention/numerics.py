"""Attention in few bits: what half precision, autocast and the fused kernels ask for. There is no formula here."""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.masks import is_fully_masked
from d2lmini.checks import autocasts, may_autocast


def at_least_float32(numbers: Tensor) -> Tensor:
    """Half precision as float32, anything else unchanged: the fused kernels compute like this internally."""
    return numbers.to(torch.promote_types(numbers.dtype, torch.float32))


def may_go_on(kept: Tensor, dtype: torch.dtype) -> bool:
    """Whether what was kept serves a layer of this dtype: half precision comes from under autocast, and widens."""
    return kept.dtype == dtype or may_autocast(kept) or at_least_float32(kept).dtype == dtype == torch.float32


def without_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Compute in the given dtypes, even under autocast."""
    return torch.autocast(device.type, enabled=False) if autocasts(device) else nullcontext()


def multiply(left: Tensor, right: Tensor) -> Tensor:
    """A matrix product in at least float32: a score in float16 overflows beyond 65504."""
    with without_autocast(left.device):
        return at_least_float32(left) @ at_least_float32(right)


def attend_fused(
    Q: Tensor, K: Tensor, V: Tensor, allowed: Tensor | None, bias: Tensor | None, causal: bool, dropout: float
) -> Tensor:
    """Scaled dot-product attention by PyTorch's fused kernel, which never stores the weights."""
    if Q.dim() == 3:  # without a dimension for heads, the kernel would silently take its slow path
        allowed, bias = (None if part is None else part[:, None] for part in (allowed, bias))
        return attend_fused(Q[:, None], K[:, None], V[:, None], allowed, bias, causal, dropout)[:, 0]
    mask, masked = allowed, None
    if allowed is not None:
        # What the kernels return for a fully masked row differs between devices and versions:
        # such a query may attend to everything here, and its output is then set to 0.
        masked = is_fully_masked(allowed)  # (..., queries, 1)
        mask = allowed | masked
    if bias is None:
        output = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, dropout_p=dropout, is_causal=causal)
    else:  # in the dtype of the bias throughout: kernels differ in what they do with a mask of another dtype
        mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        with without_autocast(Q.device):
            Q, K, wide = Q.to(bias.dtype), K.to(bias.dtype), V.to(bias.dtype)
            output = F.scaled_dot_product_attention(Q, K, wide, attn_mask=mask, dropout_p=dropout).to(V.dtype)
    return output if masked is None else output.masked_fill(masked, 0.0)
