"""Where the costs of two layers meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import MultiHeadAttention, SelfAttention
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.instruments.layers import Convolution, SeparableConvolution
from d2lmini_exercises.core import WrongAnswer, checker, expect_function, read_number

_LONGEST = 20  # tokens that the layers of this exercise take


class _TooManyTokens(ValueError):
    """An answer gave a layer more tokens than the exercise allows."""


class _Short(nn.Module):
    """A layer that takes a few tokens only, so that what it costs for many has to be worked out.

    Args:
        layer: what it computes.
        given: both layers of the pair as code, for a report on an answer that stops.
    """

    def __init__(self, layer: Callable[[Tensor], Any], given: str) -> None:
        super().__init__()
        self.layer, self.given = layer, given

    def forward(self, X: Tensor) -> Any:
        """What the layer returns."""
        if X.shape[1] > _LONGEST:
            raise _TooManyTokens(f"this layer takes {_LONGEST} tokens at most, not {X.shape[1]}")
        return self.layer(X)


class _Cross(nn.Module):
    """Attention to a memory of so many tokens, after self-attention or some mixing if asked for."""

    def __init__(self, d: int, memory: int, *, own: bool = False, mixings: int = 0, heads: int = 2) -> None:
        super().__init__()
        self.own, self.mixings = SelfAttention(d) if own else None, mixings
        self.attend, self.memory = MultiHeadAttention(d, d, d, d, heads, 0.0), torch.zeros(1, memory, d)

    def forward(self, X: Tensor) -> Any:
        """One output for each token."""
        X = self.own(X)[0] if self.own else X
        for _ in range(self.mixings):
            X = _mix(X)
        return self.attend(X, self.memory, self.memory)


def _mix(X: Tensor) -> Any:
    return DotProductAttention(0.0)(X, X, X)


_CROSS = "lambda X: d2l.MultiHeadAttention(d, d, d, d, 2, 0)({0}, *[torch.zeros(1, {1}, d)] * 2)"
_WIDE = 49_927  # f and g cross at a number that half precision can write
# The code of a layer, as a report shows it, and what makes the layer from its width.
_LAYERS: dict[str, Callable[[int], Callable[[Tensor], Any]]] = {
    "d2l.SelfAttention(d)": SelfAttention,
    "lambda X: d2l.DotProductAttention(0)(X, X, X)": lambda d: _mix,
    "nn.RNN(d, d, batch_first=True)": lambda d: nn.RNN(d, d, batch_first=True),
    "nn.GRU(d, d, batch_first=True)": lambda d: nn.GRU(d, d, batch_first=True),
    "nn.LSTM(d, d, batch_first=True)": lambda d: nn.LSTM(d, d, batch_first=True),
    "d2l.SeparableConvolution(d, 3)": lambda d: SeparableConvolution(d, 3),
    "d2l.Convolution(d, 3)": lambda d: Convolution(d, 3),
    "d2l.Convolution(d, 9)": lambda d: Convolution(d, 9),
    f"nn.Sequential(nn.Linear(d, {_WIDE}), nn.Linear({_WIDE}, d))": lambda d: nn.Sequential(
        nn.Linear(d, _WIDE), nn.Linear(_WIDE, d)
    ),
    _CROSS.format("X", 50): lambda d: _Cross(d, 50),
    _CROSS.format("d2l.SelfAttention(d)(X)[0]", 1): lambda d: _Cross(d, 1, own=True),
    "nn.Sequential(nn.Linear(d, 27), nn.Linear(27, d))": lambda d: nn.Sequential(nn.Linear(d, 27), nn.Linear(27, d)),
    "five times X = d2l.DotProductAttention(0)(X, X, X), "
    "then d2l.MultiHeadAttention(d, d, d, d, 1, 0)(X, *[torch.zeros(1, 1, d)] * 2)": (
        lambda d: _Cross(d, 1, mixings=5, heads=1)
    ),
}
_SELF, _MIX, _RNN, _GRU, _LSTM, _SEPARABLE, _KERNEL_3, _KERNEL_9, _FEED, _MEMORY, _BOTH, _THIN, _MIXED = _LAYERS


@dataclass(frozen=True)
class _Probe:
    """Two layers, and the first n at which f costs as much as g or more.

    Args:
        f: code of one layer.
        g: code of the other.
        d: width of the tokens.
        expected: that n, or `None`.
        equal: whether f and g cost the same there.
        without_c: what comes out if c is forgotten.
    """

    f: str
    g: str
    d: int
    expected: int | None
    equal: bool = False
    without_c: tuple[int, ...] = ()


_PROBES = (
    _Probe(_SELF, _GRU, 6, 9, equal=True),
    _Probe(_SELF, _GRU, 5, 8),
    _Probe(_SELF, _KERNEL_3, 4, 1),
    _Probe(_MIX, _SEPARABLE, 9, 6, equal=True),
    _Probe(_SELF, _KERNEL_9, 13, 39, equal=True),
    _Probe(_SELF, _FEED, 5, _WIDE - 7),
    _Probe(_GRU, _LSTM, 2, None),
    _Probe(_RNN, _SELF, 4, None),
    _Probe(_KERNEL_3, _SELF, 8, None),
    _Probe(_LSTM, _SELF, 4, 1),
    _Probe(_MIX, _MIX, 3, 1, equal=True),
    _Probe(_SELF, _MEMORY, 8, 54, without_c=(4, 46, 47, 446)),
    _Probe(_GRU, _MEMORY, 32, 115, without_c=(1,)),
    _Probe(_GRU, _BOTH, 32, 3, without_c=(1,)),
    _Probe(_THIN, _MIXED, 11, None),  # f costs more between 1 and 2, at no whole number
    # Equalities, which a fit in floating point misses sometimes: a few of each kind.
    *(_Probe(_SELF, _GRU, d, 3 * d // 2, equal=True) for d in (2, 10, 12)),
    *(_Probe(_SELF, _LSTM, d, 5 * d // 2, equal=True) for d in (2, 10, 12, 14)),
    *(_Probe(_SELF, _KERNEL_9, d, 3 * d, equal=True) for d in (2, 3, 5, 7)),
)


@checker("find-crossover")
def check_find_crossover(find: Any) -> str:
    """`find(f, g, d)`: the smallest n at which f needs at least as many FLOPs as g, or None; 20 tokens at most."""
    expect_function(find)
    dtype = torch.get_default_dtype()
    for probe in _PROBES:
        torch.set_default_dtype(dtype)
        given = f"d = {probe.d}; f = {probe.f}; g = {probe.g}"
        claim = "it finds the crossover"
        try:
            got = find(*(_Short(_LAYERS[layer](probe.d), given) for layer in (probe.f, probe.g)), probe.d)
        except _TooManyTokens as error:
            hint = "a layer costs an² + bn + c FLOPs: counts at how many small n tell you a, b and c?"
            raise WrongAnswer(claim, hint, given=given, got=str(error)) from error
        if got is not None and not isinstance(got, bool):
            number = read_number(got)
            got = int(number) if number.is_integer() else number
        if got == probe.expected and not isinstance(got, bool):
            continue
        hint = _find_hint(got, probe)
        raise WrongAnswer(claim, hint, given=given, expected=str(probe.expected), got=str(got))
    return f"right for {len(_PROBES)} pairs of layers, also where c is not 0, at equalities, and far out"


def _find_hint(got: Any, probe: _Probe) -> str:
    expected = probe.expected
    if expected is None:
        hint = "f is cheaper at every length: return None then"
        return f"{hint}. A root between two lengths is none" if probe.f == _THIN else hint
    hint = "work out both at the n that you return and at n - 1, where that is possible: which is cheaper there?"
    if isinstance(got, bool):
        hint = "return n itself"
    elif got is None:
        hint = "n = 1, 2, 3, ...: at which one is f no cheaper for the first time? They need not cost exactly the same"
        if expected > _LONGEST:
            hint = f"they cross beyond {_LONGEST} tokens, where only the formula goes: how far does your search go?"
        elif expected == 1:
            hint = "at n = 1 f costs as much as g already, or more: what does your function do there?"
        elif probe.without_c:
            hint = "at n = 1 f is cheaper and for many tokens it is, too. What about the lengths between?"
    elif isinstance(got, float) and not got.is_integer():
        hint = "n is a whole number: the first at which f costs at least as much"
    elif got < 1:
        hint = "n is at least 1: which roots of the formula are lengths?"
    elif got in probe.without_c:
        hint = "part of the work here does not grow with n: have you found c, and does your search use it?"
    elif probe.equal and got == expected + 1:
        hint = "an equality counts: do you compare with >=? Then are your coefficients whole, or rounded floats?"
    elif got == 2 and expected == 1:
        hint = "begin at n = 1"
    elif got == 1:
        hint = "is f no cheaper at n = 1? Perhaps it is the other way round: f must cost at least as much as g"
    return hint
