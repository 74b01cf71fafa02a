"""Checks of plain arguments: sizes, flags, numbers, choices. Each raises a ``ValueError`` that names the argument."""

from __future__ import annotations


def check_size(name: str, size: int) -> None:
    """Check that a size or a number of something is a positive integer.

    Raises:
        ValueError: if not.
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def check_flag(name: str, flag: bool) -> None:
    """Check that a flag is ``True`` or ``False``.

    Raises:
        ValueError: if not.
    """
    if not isinstance(flag, bool):
        raise ValueError(f"{name} must be True or False, got {flag!r}")


def check_number(name: str, number: float, lowest: float, highest: float) -> None:
    """Check that a number lies in ``lowest..highest``.

    Raises:
        ValueError: if not, or it is NaN or no number.
    """
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not lowest <= number <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, got {number!r}")


def check_choice(name: str, choice: str, allowed: tuple[str, ...]) -> None:
    """Check that a choice given as a string is one of those allowed.

    Raises:
        ValueError: if not; it lists them.
    """
    if choice not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {choice!r}")
