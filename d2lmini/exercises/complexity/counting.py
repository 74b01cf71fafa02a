"""Formulas of layers: what is in them, and where two of them meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import SelfAttention
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.exercises.core import WrongAnswer, checker, expect_function, expect_measured, read_number
from d2lmini.instruments.layers import Convolution, SeparableConvolution

# What is wrong if so many projections work on the n queries and so many on the m keys; right is (2, 2).
_PROJECTIONS = {
    "and after the concatenation? W_o is a projection, too": (1, 2),
    "queries, keys, values, and W_o: one of the four is missing, and it is not W_o": (2, 1),
    "which tokens meet W_k and W_v? And there is a fourth projection": (3, 0),
    "which tokens meet W_q? And there is a fourth projection": (0, 3),
    "the keys and the values are made from the other m tokens": (4, 0),
    "the queries are made from n tokens, and W_o works on n outputs": (0, 4),
    "two of the four projections work on n tokens and two on m: which are which?": (3, 1),
    "W_o works on what comes out: how many outputs are there?": (1, 3),
}


def _list_mixings(n: int, m: int, h: int) -> dict[str, tuple[float, ...]]:
    """What is wrong if scores and mixture together cost so many times n m d, with h heads; right is 4."""
    return {
        "scores and mixture are half of what they should be: is one of them missing, or the unit 2?": (2,),
        "one of scores and mixture has not got the unit 2": (3,),
        "scores and mixture are two products, and the unit 2 belongs to both": (1,),
        "how wide is a head? All heads together compare d features": (4 * h, 3 * h, 2 * h, h),
        "how wide is a head? One of scores and mixture has heads of width d": (2 + 2 * h, 2 + h, 1 + 2 * h, 1 + h),
        "that is a single head: there are num_heads of them": (4 / h, 3 / h, 2 / h, 1 / h),
        "one of scores and mixture counts a single head": (2 + 2 / h, 2 + 1 / h, 1 + 2 / h, 1 + 1 / h),
        "where are the scores, and where is the mixture?": (0,),
        "each of n queries meets each of m keys: how many scores are these?": (4 * m / n, 4 * n / m),
        "n queries meet m keys, and so do the weights: one of scores and mixture is of another size": (
            2 + 2 * m / n,
            2 + 2 * n / m,
        ),
    }


def _list_wrong_counts(n: int, m: int, d: int, h: int) -> dict[str, tuple[float, ...]]:
    by_hint: dict[str, tuple[float, ...]] = {}
    for hint, mixings in {"": (4,), **_list_mixings(n, m, h)}.items():
        for other, (queries, keys) in {"": (2, 2), **_PROJECTIONS}.items():
            projections = 2 * d * d * (queries * n + keys * m)
            clue = f"{other} (this is not the only fault)" if hint and other else hint or other
            by_hint[clue] = by_hint.get(clue, ()) + tuple(projections + mixing * n * m * d for mixing in mixings)
    right, half = by_hint.pop("")[0], 2 * d * d * (n + m)
    unit = "our unit is 2: a multiplication and an addition. Where is it missing?"
    return by_hint | {unit: (right / 2, half + 4 * n * m * d)}


@checker("debug-counter")
def check_debug_counter(count: Any) -> str:
    """`count(n, m, d, num_heads)`: FLOPs of multi-head attention of n queries to m keys."""
    expect_function(count)
    mistakes = _list_wrong_counts(5, 11, 14, 7)  # no two give the same number there
    for n, m, d, h in ((5, 11, 14, 7), (9, 4, 8, 1), (6, 10, 12, 4)):
        expect_measured(
            count(n, m, d, h),
            4 * (n + m) * d * d + 4 * n * m * d,
            claim="it counts four projections, the scores and the mixture",
            given=f"n = {n}, m = {m}, d = {d}, num_heads = {h}",
            hint="count the parts one by one: what is the product of an a×b and a b×c matrix?",
            mistakes=mistakes if d == 14 else {},
        )
    return "right for seven heads, one head and four, with more keys than queries and with fewer"


@checker("measure-additive")
def check_measure_additive(formula: Any) -> str:
    """`formula(n, d, h)`: the FLOPs of additive self-attention with num_hiddens = h."""
    expect_function(formula)
    mistakes = _list_wrong_formulas(9, 14, 20)  # no two give the same number there
    for n, d, h in ((9, 14, 20), (7, 4, 3), (3, 16, 16), (20, 1, 3)):
        expect_measured(
            formula(n, d, h),
            4 * n * d * h + 2 * n * n * (d + h),
            claim="the formula gives what the instrument counts",
            given=f"n = {n}, d = {d}, num_hiddens = {h}",
            hint=_compare_growth(formula, n, d, h),
            mistakes=mistakes if n == 9 else {},
        )
    return "right at four sizes"


def _compare_growth(formula: Any, n: int, d: int, h: int) -> str:
    """Which part of a wrong formula is right: the part with n², or the rest."""
    first, second, third = (read_number(formula(n + i, d, h)) for i in range(3))
    square = (third - 2 * second + first) / 2
    if square == 2 * (d + h):
        return "the part that grows with n² is right. Take it away from a measured number: what is left, divided by n?"
    if first - square * n * n == 4 * n * d * h:
        return "the part that grows with n is right. The other part is half the second difference, times n²"
    return "take the second difference in n first, then look at what is left. Vary one of n, d and h at a time"


def _list_wrong_formulas(n: int, d: int, h: int) -> dict[str, float | tuple[float, ...]]:
    projections, pairs = 4 * n * d * h, 2 * n * n * (d + h)
    return {
        "that is the dot product's layer: additive attention has no projection of the values, and no W_o": (
            8 * n * d * d + 4 * n * n * d
        ),
        "additive attention does not project the values": (
            6 * n * d * d + 4 * n * n * d,
            projections + pairs + 2 * n * d * h,
            projections + pairs + 2 * n * d * d,
        ),
        "where does w_v come in? It meets num_hiddens numbers for each pair of tokens": projections + 2 * n * n * d,
        "the weights meet the values: where is the mixture?": projections + 2 * n * n * h,
        "the queries and the keys have a projection each": projections / 2 + pairs,
        "the projections work on n tokens, not on n² pairs": n * projections + pairs,
        "that is the part that grows with n²: what is left when you take it away?": pairs,
        "that is the projections only": projections,
        "the second difference is twice the factor of n²: halve it": projections + 2 * pairs,
        "w_v meets num_hiddens numbers for each pair of tokens, not one": projections + 2 * n * n * d + 2 * n * n,
        "a multiply-add is 2 FLOPs": (projections + pairs) / 2,
        "num_hiddens need not be d: measure a layer where they differ": (
            4 * n * d * d + 4 * n * n * d,
            4 * n * h * h + 4 * n * n * h,
        ),
        "the values are d wide, whatever num_hiddens is": projections + 4 * n * n * h,
        "w_v meets num_hiddens numbers, not d": projections + 4 * n * n * d,
        "the projections lead from d to num_hiddens features": (4 * n * d * d + pairs, 4 * n * h * h + pairs),
        "n tokens meet n tokens: the scores are n², not n": projections + 2 * n * (d + h),
    }


_LONGEST = 20  # tokens that the layers of this exercise take


class _TooManyTokens(ValueError):
    """An answer gave a layer more tokens than the exercise allows."""


class _Short(nn.Module):
    """A layer that takes a few tokens only, so that what it costs for many has to be worked out."""

    def __init__(self, layer: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, X: Tensor) -> Any:
        """What the layer returns."""
        if X.shape[1] > _LONGEST:
            raise _TooManyTokens(f"this layer takes {_LONGEST} tokens at most, not {X.shape[1]}")
        return self.layer(X)


def _mix(X: Tensor) -> Any:
    return DotProductAttention(0.0)(X, X, X)


_LAYERS: dict[str, Callable[[int], Callable[[Tensor], Any]]] = {
    "self-attention": SelfAttention,
    "mixing": lambda d: _mix,
    "a GRU": lambda d: nn.GRU(d, d, batch_first=True),
    "an LSTM": lambda d: nn.LSTM(d, d, batch_first=True),
    "a separable convolution": lambda d: SeparableConvolution(d, 3),
    **{f"a convolution with kernel {k}": lambda d, k=k: Convolution(d, k) for k in (3, 9, 131)},  # type: ignore[misc]
}
# f, g, d, the first n at which f costs as much as g or more, and whether it is as much there.
_PROBES: tuple[tuple[str, str, int, int | None, bool], ...] = (
    ("self-attention", "a GRU", 6, 9, True),
    ("self-attention", "a GRU", 5, 8, False),
    ("self-attention", "a convolution with kernel 3", 4, 1, False),
    ("mixing", "a separable convolution", 9, 6, True),
    ("self-attention", "a convolution with kernel 9", 13, 39, True),
    ("self-attention", "a convolution with kernel 131", 9, 576, True),
    ("a GRU", "an LSTM", 2, None, False),
    ("an LSTM", "self-attention", 4, 1, False),
    ("mixing", "mixing", 3, 1, True),
)


@checker("find-crossover")
def check_find_crossover(find: Any) -> str:
    """`find(f, g, d)`: the smallest n at which f needs at least as many FLOPs as g, or None; 20 tokens at most."""
    expect_function(find)
    dtype = torch.get_default_dtype()
    for f, g, d, expected, equal in _PROBES:
        torch.set_default_dtype(dtype)
        given = f"f is {f}, g is {g}, d = {d}"
        claim = "it finds the crossover"
        try:
            got = find(_Short(_LAYERS[f](d)), _Short(_LAYERS[g](d)), d)
        except _TooManyTokens as error:
            hint = "a layer costs an² + bn + c FLOPs: counts at how many small n tell you a, b and c?"
            raise WrongAnswer(claim, hint, given=given, got=str(error)) from error
        if got is not None and not isinstance(got, bool):
            number = read_number(got)
            got = int(number) if number.is_integer() else number
        if got == expected and not isinstance(got, bool):
            continue
        hint = _find_crossover_hint(got, expected, equal)
        raise WrongAnswer(claim, hint, given=given, expected=str(expected), got=str(got))
    return "right for nine pairs of layers"


def _find_crossover_hint(got: Any, expected: int | None, equal: bool) -> str:
    if expected is None:
        return "f is cheaper at every length: return None then"
    hint = "count both at the n that you return and at n - 1, where that is possible: which one is cheaper there?"
    if isinstance(got, bool):
        hint = "return n itself"
    elif got is None:
        hint = "n = 1, 2, 3, ...: at which one is f no cheaper for the first time? They need not cost exactly the same"
        if expected > _LONGEST:
            hint = f"go on beyond {_LONGEST}: the layers take no more tokens, but the formula an² + bn + c does"
        elif expected == 1:
            hint = "at n = 1 f costs as much already: does your search begin there?"
    elif isinstance(got, float) and not got.is_integer():
        hint = "n is a whole number: the first at which f costs at least as much"
    elif equal and got == expected + 1:
        hint = "at least as many: an equality counts"
    elif got == 2 and expected == 1:
        hint = "begin at n = 1"
    elif got == 1:
        hint = "is f no cheaper at n = 1? Perhaps it is the other way round: f must cost at least as much as g"
    return hint
