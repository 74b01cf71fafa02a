"""What plain arguments may be. Each check raises a `ValueError` that names the argument, its value and what is allowed.

A public function or module checks its arguments at its door, once; behind the door nothing is checked again. What
tensors may be is in `d2lmini.tensors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral


def check_size(name: str, size: int) -> None:
    """Check that a size or a number of something is a positive integer."""
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def check_flag(name: str, flag: bool) -> None:
    """Check that a flag is `True` or `False`."""
    if not isinstance(flag, bool):
        raise ValueError(f"{name} must be True or False, got {flag!r}")


def check_number(name: str, number: float, lowest: float, highest: float) -> None:
    """Check that a number lies in `lowest..highest`."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not lowest <= number <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, got {number!r}")


def check_choice(name: str, choice: str, allowed: Sequence[str]) -> None:
    """Check that a choice given as a string is one of those allowed."""
    if choice not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {choice!r}")


def check_names(name: str, given: Sequence[str] | None, count: int, what: str) -> None:
    """Check that there is one name for each of `count` lines, rows or columns, or none at all."""
    if given is not None and (isinstance(given, str) or len(given) != count):
        found = repr(given) if isinstance(given, str) else len(given)
        raise ValueError(f"{name} must have one entry for each of the {count} {what}, got {found}")


def check_heads(num_hiddens: int, num_heads: int) -> None:
    """Check that the heads share the width evenly."""
    check_size("num_hiddens", num_hiddens)
    check_size("num_heads", num_heads)
    if num_hiddens % num_heads:
        raise ValueError(f"num_hiddens must be divisible by num_heads, got {num_hiddens=} and {num_heads=}")


def check_groups(num_heads: int, num_kv_heads: int) -> None:
    """Check that as many heads of queries share each head of keys and values."""
    check_size("num_kv_heads", num_kv_heads)
    if num_heads % num_kv_heads:
        raise ValueError(f"num_heads must be divisible by num_kv_heads, got {num_heads=} and {num_kv_heads=}")


def check_offset(offset: int) -> None:
    """Check that the position of a first token is one from which float64 can count on."""
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= 2**52:
        raise ValueError(f"offset must be an integer of at least 0 (and at most 2**52), got {offset!r}")
