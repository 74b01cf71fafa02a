"""Checks of plain arguments: each raises a ValueError that names the argument, what is allowed, and what came."""

from __future__ import annotations

from collections.abc import Sequence


def check_size(name: str, size: int) -> None:
    """Check that a size or a number of something is a positive integer."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def check_flag(name: str, flag: bool) -> None:
    """Check that a flag is `True` or `False`."""
    if not isinstance(flag, bool):
        raise ValueError(f"{name} must be True or False, got {flag!r}")


def check_number(name: str, number: float, lowest: float, highest: float) -> None:
    """Check that a number lies in `lowest..highest`; NaN does not."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not lowest <= number <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, got {number!r}")


def check_choice(name: str, choice: str, allowed: tuple[str, ...]) -> None:
    """Check that a choice given as a string is one of those allowed."""
    if choice not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {choice!r}")


def check_names(name: str, given: Sequence[str] | None, count: int, what: str) -> None:
    """Check that there is one name for each of `count` lines, rows or columns, or none at all."""
    if given is not None and (isinstance(given, str) or len(given) != count):
        found = repr(given) if isinstance(given, str) else len(given)
        raise ValueError(f"{name} must have one entry for each of the {count} {what}, got {found}")
