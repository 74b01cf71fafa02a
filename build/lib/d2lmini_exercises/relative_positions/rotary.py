"""Rotary embedding: attention with it, and its base."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import Mistakes, checker, expect_close, expect_function, expect_measured, expect_unchanged
from d2lmini_exercises.gradients import expect_gradients
from d2lmini_exercises.inputs import draw_inputs


def _turn(X: Tensor, positions: Tensor, exponents: Tensor) -> Tensor:
    angles = positions[:, None] * 10000**-exponents  # (n, p / 2)
    x, y = X[:, 0::2], X[:, 1::2]
    pairs = [x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()]
    return torch.stack(pairs, dim=-1).flatten(1)


_QUERIES: dict[str, Callable[[int, int], Tensor]] = {
    "": lambda m, n: torch.arange(n - m, n),
    "the queries are the last tokens: where does the first of them stand?": lambda m, n: torch.arange(m),
    "the last query stands at the last key: which position is that?": lambda m, n: torch.arange(n - m, n) + 1,
    "the last query stands at the last key, not one place before it": lambda m, n: torch.arange(n - m, n) - 1,
    "the queries are the last of the n tokens, not the ones after them": lambda m, n: torch.arange(n, n + m),
    "both turn by +iω, as in the starter's turn: the query turns the other way": lambda m, n: -torch.arange(n - m, n),
    "the first query stands at 0 and turns the other way": lambda m, n: -torch.arange(m),
    "the queries do not turn at all": lambda m, n: torch.zeros(m),
}
_KEYS: dict[str, Callable[[int], Tensor]] = {
    "": torch.arange,
    "queries and keys turn the same way: what is left of i and j in the score?": lambda n: -torch.arange(n),
    "the keys do not turn at all": torch.zeros,
}
_EXPONENTS: dict[str, Callable[[int], Tensor]] = {
    "": lambda p: torch.arange(0, p, 2, dtype=torch.float64) / p,
    "what is the frequency of the second pair? 10000^(-2j/p), with 2j = 2": lambda p: torch.arange(p // 2) / p,
    "the largest exponent is (p - 2)/p, not 1": lambda p: torch.linspace(0, 1, p // 2),
    "the exponent is 2j/p: the first pair has 0, not 1/p": lambda p: torch.arange(1, p, 2) / p,
    "the exponent is 2j/p: is 2j doubled again?": lambda p: 2 * torch.arange(0, p, 2) / p,
    "the exponent is 2j/p: with p itself, not with p = 4": lambda p: torch.arange(p // 2) / 2,
    "the largest exponent is (p - 2)/p, not 1/2": lambda p: torch.linspace(0, 0.5, p // 2),
}
_VALUES: dict[str, Callable[[int], Tensor]] = {
    "": torch.zeros,
    "move everything by 100 places: does the output turn, too? A value does not stand anywhere": torch.arange,
    "a value does not stand anywhere: it is not turned, not even back": lambda n: -torch.arange(n),
}
_SCALES: dict[str, Callable[[int], float]] = {
    "": math.sqrt,
    "which number are the scores divided by? It is √p": lambda p: p,
    "the scores are divided by √p, not by the number of pairs": lambda p: p // 2,
    "the scores are divided by √p: p is the width of a head, not the number of its pairs": lambda p: math.sqrt(p // 2),
    "the scores are divided by √p": lambda p: 1,
}


# The faults of the starter, which are looked for all together; of the others, one or two at a time.
_STARTED = {*list(_QUERIES)[:2], *list(_KEYS)[:2], *list(_EXPONENTS)[:2], *list(_VALUES)[:2]}


def _attend(Q: Tensor, K: Tensor, V: Tensor, faults: tuple[str, ...]) -> Tensor:
    m, n, p = len(Q), *K.shape
    queries, keys, exponents, values, scale = faults
    angles = _EXPONENTS[exponents](p)
    scores = _turn(Q, _QUERIES[queries](m, n), angles) @ _turn(K, _KEYS[keys](n), angles).T / _SCALES[scale](p)
    return scores.softmax(1) @ _turn(V, _VALUES[values](n), angles)


def _attend_turned(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    return _attend(Q.double(), K.double(), V.double(), faults=("",) * 5)


def _list_wrong_outputs(Q: Tensor, K: Tensor, V: Tensor) -> Mistakes:
    found: dict[str, tuple[Tensor, ...]] = {}
    both_back = "both turn by +iω, as in the starter's turn: now both turn the other way"
    parts = list(itertools.product(_QUERIES, _KEYS, _EXPONENTS, _VALUES, _SCALES))
    for faults in sorted(parts, key=lambda faults: sum(map(bool, faults))):
        named = [fault for fault in faults if fault]
        if not named or len(named) > (4 if _STARTED.issuperset(named) else 2):
            continue
        back = faults[0].startswith("both turn") and faults[1].startswith("queries and keys")
        hint = both_back if back else named[0]
        if len(named) > 1 + back:
            hint += " (this is not the only fault)"
        found[hint] = (*found.get(hint, ()), _attend(Q, K, V, faults))
    return {**found, **_list_wrong_weights(Q, K, V)}


def _list_wrong_weights(Q: Tensor, K: Tensor, V: Tensor) -> Mistakes:
    """Right scores, and something wrong after them."""
    (m, p), n = Q.shape, len(K)
    exponents = _EXPONENTS[""](p)
    queries, keys = _turn(Q, torch.arange(n - m, n), exponents), _turn(K, torch.arange(n), exponents)
    scores = queries @ keys.T / math.sqrt(p)
    later = [torch.ones(m, n).triu(diagonal).bool() for diagonal in (n - m + 1, 1)]
    return {
        "the last tokens ask all n tokens: no key is hidden here": tuple(
            scores.masked_fill(mask, -math.inf).softmax(1) @ V for mask in later
        ),
        "the weights of one query sum to 1: along which dimension do yours?": scores.softmax(0) @ V,
        "scores become weights with a softmax: where is it?": scores @ V,
    }


@checker("debug-rotary", trained=True)
def check_debug_rotary(attend: Any) -> str:
    """`attend(Q, K, V)`: attention with rotary embedding, for one head, from the last tokens of a sequence to all."""
    expect_function(attend)
    for seed, (m, n, p) in enumerate(((3, 5, 12), (4, 4, 8), (1, 7, 4), (2, 14, 64))):
        (Q, K, V), given = draw_inputs(seed, most=1, Q=(m, p), K=(n, p), V=(n, p))
        handed = [part.clone() for part in (Q, K, V)]
        wide = (Q.double(), K.double(), V.double())
        got = attend(*handed)
        expect_close(
            got,
            _attend_turned(*wide),
            claim="it is attention with turned queries and keys",
            given=given,
            hint="compare turned queries and keys with those of d2l.apply_rotary, then the scores, then the output",
            mistakes=_list_wrong_outputs(*wide) if seed == 0 else {},
        )
        for name, now, before in zip(("Q", "K", "V"), handed, (Q, K, V), strict=True):
            expect_unchanged(name, now, before, "write the turned ones into new tensors", given=given)
        expect_gradients(attend, _attend_turned, given=given, Q=Q, K=K, V=V)
    return "queries at the end and all keys are turned alike, values are not, and all three learn; at four widths"


_STEPS: dict[str, Callable[[int], float]] = {
    "": lambda length: length - 1,
    "from the first to the last position there are length - 1 steps": lambda length: length,
    "from the first to the last position there are length - 1 steps, no more": lambda length: length + 1,
}
_ANGLES: dict[str, Callable[[float], float]] = {
    "": lambda steps: steps / math.pi,
    "half a turn is π, not 2π": lambda steps: steps / (2 * math.pi),
    "half a turn is π radians, not 180": lambda steps: steps / 180,
    "half a turn is π: where is it?": lambda steps: steps,
    "a half turn in all the steps: divide by π, do not multiply": lambda steps: steps * math.pi,
    "a wavelength is a whole turn: how far is half a turn?": lambda steps: 2 * steps / math.pi,
}
_POWERS: dict[str, Callable[[int], float]] = {
    "": lambda p: p / (p - 2),
    "the slowest pair has the exponent (p - 2)/p, not 1": lambda p: 1,
    "the largest 2j is p - 2, not p - 1": lambda p: p / (p - 1),
    "solve for the base: the exponent goes to the other side as p/(p - 2)": lambda p: (p - 2) / p,
    "that is the inverse of a base: its exponent has a minus in ω": lambda p: -p / (p - 2),
    "the exponent is 2j/p, not j/p": lambda p: 2 * p / (p - 2),
    "a head has p/2 pairs, and the exponent of the slowest is (p - 2)/p": lambda p: p / (p / 2 - 2) if p > 4 else 1,
    "which pair is the slowest? Not the second one": lambda p: p / 2,
}


def _list_wrong_bases(length: int, p: int) -> dict[str, float | tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    parts = list(itertools.product(_POWERS, _ANGLES, _STEPS))
    for faults in sorted(parts, key=lambda faults: sum(map(bool, faults))):
        if named := [fault for fault in faults if fault]:
            power, angle, steps = faults
            hint = named[0] + (" (this is not the only fault)" if len(named) > 1 else "")
            found[hint] = (*found.get(hint, ()), _ANGLES[angle](_STEPS[steps](length)) ** _POWERS[power](p))
    right = ((length - 1) / math.pi) ** (p / (p - 2))
    return {"do not round": (math.floor(right), math.ceil(right)), **found}


@checker("rotary-base")
def check_rotary_base(base: Any) -> str:
    """`base(length, p)`: with which the slowest pair turns by π between the first and the last position."""
    expect_function(base)
    for length, p in ((100, 10), (33, 4), (4096, 64), (2, 6)):
        expected = ((length - 1) / math.pi) ** (p / (p - 2))
        expect_measured(
            base(length, p),
            expected,
            claim="the slowest pair turns by half a turn, no more",
            given=f"length, p = {length}, {p}",
            hint="write the angle of the slowest pair after length - 1 steps, set it to π, and solve for the base",
            mistakes=_list_wrong_bases(length, p) if p == 10 else {},
            tolerance=2e-5 * expected,
        )
    return "right for four lengths and widths"
