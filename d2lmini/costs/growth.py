"""How a measurement grows with n: doubled, or step by step."""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from d2lmini.checks import check_size

__all__ = ["describe_growth", "take_differences"]


def describe_growth(measure: Callable[[int], Any], n: int) -> str:
    """How a measurement grows when n is doubled twice: `"same"`, `"+c"` (logarithmic), or `"x2"`, `"x4"`, `"x8"`, ...

    Chapter: CNN, RNN, self-attention.

    Args:
        measure: a function of n.
        n: the first size, at least 1; `2 n` and `4 n` are measured as well.

    Returns:
        `"same"` if all three are equal, `"+7"` if each doubling adds 7, `"x2"`, `"x4"`, `"x8"` and so on if each
        doubling multiplies by exactly that power of 2: then it grows like n, n², n³ and so on. Three sizes are no
        proof: a measurement may grow in another way beyond them.

    Raises:
        ValueError: if n is not an integer of at least 1, `measure` returns no finite number, or it grows in another
            way, as a sum of different powers of n does: then try `take_differences`.

    >>> d2l.describe_growth(lambda n: n**2, 64)
    'x4'
    """
    first, second, third = _measure_at(measure, (n, 2 * n, 4 * n))
    if first == second == third:
        return "same"
    whole = all(isinstance(value, int) for value in (first, second, third))
    tolerance = 0.0 if whole else 1e-12  # the rounding errors of other numbers
    if math.isclose(third - second, second - first, rel_tol=tolerance):
        return f"{second - first:+g}"
    factor = 2 ** max(1, round(math.log2(second / first))) if first * second > 0 else 2
    if all(math.isclose(b, factor * a, rel_tol=tolerance) for a, b in ((first, second), (second, third))):
        return f"x{factor}"
    raise ValueError(f"at n = {n}, {2 * n}, {4 * n} it is {first:g}, {second:g}, {third:g}: no simple growth")


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
