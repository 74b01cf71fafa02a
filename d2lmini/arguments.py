"""Checks of plain arguments. Each raises a `ValueError` that names the argument, its value and what is allowed."""

from __future__ import annotations

import torch
from torch import Tensor

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_size(name: str, size: int) -> None:
    """Check that a size or a number of something is a positive integer."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def check_flag(name: str, flag: bool) -> None:
    """Check that a flag is `True` or `False`."""
    if not isinstance(flag, bool):
        raise ValueError(f"{name} must be True or False, got {flag!r}")


def check_number(name: str, number: float, lowest: float, highest: float) -> None:
    """Check that a number lies in `lowest..highest`."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not lowest <= number <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, got {number!r}")


def check_choice(name: str, choice: str, allowed: tuple[str, ...]) -> None:
    """Check that a choice given as a string is one of those allowed."""
    if choice not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {choice!r}")


def name_kind(value: object) -> str:
    """What a value is, for a message: the dtype of a tensor, the type of anything else."""
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__


def name_shape(value: object) -> str:
    """What shape a value has, for a message: the type of what is no tensor."""
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__


def check_integers(name: str, numbers: Tensor) -> None:
    """Check that these are integers that can be compared, in a tensor of any shape."""
    if not isinstance(numbers, Tensor) or numbers.dtype not in _INTEGERS:
        raise ValueError(f"{name} must be a tensor of integers, got {name_kind(numbers)}")
