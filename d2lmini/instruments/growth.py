"""How a measurement grows with n: doubled, or step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise

from d2lmini.arguments import check_size

__all__ = ["describe_growth", "take_differences"]


def describe_growth(measure: Callable[[int], float], n: int) -> str:
    """How a measurement grows when n is doubled twice: `"same"`, `"+c"` (logarithmic), `"x2"` or `"x4"`.

    Chapter: CNN, RNN, self-attention.

    Args:
        measure: a function of n.
        n: the first size, at least 1; `2 n` and `4 n` are measured as well.

    Returns:
        `"same"` if all three are equal, `"+7"` if each doubling adds 7, `"x2"` and `"x4"` if each doubling multiplies
        by exactly that.

    Raises:
        ValueError: if n is not an integer of at least 1, `measure` returns no number, or it grows in another way, as a
            sum of different powers of n does: then try `take_differences`.
    """
    first, second, third = _measure_at(measure, (n, 2 * n, 4 * n))
    if first == second == third:
        return "same"
    if third - second == second - first:
        return f"{second - first:+g}"
    for factor in (2, 4):
        if all(math.isclose(b, factor * a, rel_tol=1e-12) for a, b in ((first, second), (second, third))):
            return f"x{factor}"
    raise ValueError(f"at n = {n}, {2 * n}, {4 * n} it is {first:g}, {second:g}, {third:g}: no simple growth")


def take_differences(measure: Callable[[int], float], n: int, order: int) -> float:
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
        ValueError: if n or `order` is not an integer of at least 1, or `measure` returns no number.
    """
    check_size("order", order)
    values = _measure_at(measure, range(n, n + order + 1))
    for _ in range(order):
        values = [after - before for before, after in pairwise(values)]
    return values[0]


def _measure_at(measure: Callable[[int], float], sizes: Iterable[int]) -> list[float]:
    values = []
    for size in sizes:
        check_size("n", size)
        values.append(measure(size))
        if isinstance(values[-1], bool) or not isinstance(values[-1], (int, float)):
            raise ValueError(f"measure must return a number, got {values[-1]!r} at n = {size}")
    return values
