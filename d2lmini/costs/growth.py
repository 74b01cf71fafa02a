"""How a measurement grows with n, step by step."""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from d2lmini.checks import check_size

__all__ = ["take_differences"]


def take_differences(measure: Callable[[int], Any], n: int, order: int) -> float:
    """The finite difference of a measurement at n: its discrete derivative of this order, exact for polynomials.

        order 1: f(n + 1) - f(n)
        order 2: the difference of two such differences; for a n² + b n + c it is 2 a at every n

    Chapter: CNN, RNN, self-attention.

    Args:
        measure: a function of n.
        n: the first size.
        order: 1 or more.

    Returns:
        The difference.

    Raises:
        ValueError: if n or `order` is not an integer of at least 1, or `measure` returns no finite number.

    >>> d2l.take_differences(lambda n: 3 * n**2 + n, 10, order=2)
    6
    """
    check_size("order", order)
    values = _measure_at(measure, range(n, n + order + 1))
    for _ in range(order):
        values = [after - before for before, after in pairwise(values)]
    return values[0]


def _measure_at(measure: Callable[[int], Any], sizes: Iterable[int]) -> list[float]:
    values = []
    for size in sizes:
        check_size("n", size)
        values.append(_read_number(measure(size), size))
    return values


def _read_number(value: Any, size: int) -> float:
    """A number of Python, of NumPy or of PyTorch, as a number of Python."""
    number = value.item() if getattr(value, "ndim", None) == 0 else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ValueError(f"measure must return a finite number, got {value!r} at n = {size}")
    return number
