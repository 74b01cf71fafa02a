"""Attention in few bits: what half precision and autocast ask for. No formula is here."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor


def at_least_float32(numbers: Tensor) -> Tensor:
    """Half precision as float32, anything else as it is: as the fused kernels compute inside."""
    return numbers.to(torch.promote_types(numbers.dtype, torch.float32))


def without_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Compute in the dtypes that are given, also under autocast."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
