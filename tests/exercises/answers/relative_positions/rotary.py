"""Answers to the exercises: rotary embedding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import d2lmini as d2l


def rotary(
    *faults: str,
    exponents: Callable[[int], Tensor] = lambda p: torch.arange(0, p, 2) / p,
    scale: Callable[[int], float] = math.sqrt,
    first_query: Callable[[int, int], int] | None = None,
    weigh: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(1),
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attention with rotary embedding, with none, some or all of the faults of the exercise."""

    def answer(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        m, n, p = len(Q), *K.shape
        omega = 10000 ** -(torch.arange(p // 2) / p if "slow" in faults else exponents(p)).double()

        def turn(X: Tensor, first: int, sign: int = 1) -> Tensor:
            angles = torch.arange(first, first + len(X))[:, None] * omega
            pairs = torch.view_as_complex(X.double().unflatten(-1, (-1, 2)).contiguous())
            return torch.view_as_real(pairs * torch.exp(1j * sign * angles)).flatten(1)

        back = -1 if "backwards" in faults else 1
        first = first_query(m, n) if first_query else 0 if "queries" in faults else n - m
        queries = Q.double() if "plain queries" in faults else turn(Q, first, back)
        keys = K.double() if "plain keys" in faults else turn(K, 0, -1 if "keys" in faults else back)
        scores = queries @ keys.T / scale(p)
        return weigh(scores) @ (turn(V, 0) if "values" in faults else V.double())

    return answer


FAULTS = {
    "queries": "the queries are the last tokens",
    "keys": "what is left of i and j",
    "slow": "what is the frequency of the second pair?",
    "values": "A value does not stand anywhere",
}


def list_faults() -> list[tuple[str, Any, str]]:
    """Each choice of the starter's faults, and the hint for the first of them."""
    found: list[tuple[str, Any, str]] = []
    for count in range(1, 5):
        for faults in itertools.combinations(FAULTS, count):
            more = " (this is not the only fault)" if count > 1 else "\n"
            hint = FAULTS[faults[0]]
            found.append(("debug-rotary", rotary(*faults), hint))
            found.append(("debug-rotary", rotary(*faults), more))
    return found


def with_package(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    turned = d2l.apply_rotary(Q, offset=len(K) - len(Q)), d2l.apply_rotary(K)
    return (turned[0] @ turned[1].T / math.sqrt(K.shape[1])).softmax(1) @ V


def hide(scores: Tensor, diagonal: int) -> Tensor:
    later = torch.ones_like(scores).triu(diagonal).bool()
    return scores.masked_fill(later, -math.inf).softmax(1)


def causal(scores: Tensor) -> Tensor:
    return hide(scores, scores.shape[1] - len(scores) + 1)


def by_offsets(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Right: only keys are turned, by how far they stand from the query."""
    outputs = []
    for i, q in enumerate(Q, start=len(K) - len(Q)):
        turned = [d2l.apply_rotary(k[None], offset=abs(j - i))[0] for j, k in enumerate(K)]
        back = [d2l.apply_rotary(q[None], offset=abs(j - i))[0] for j in range(len(K))]
        scores = torch.stack([q @ t if j >= i else b @ K[j] for j, (t, b) in enumerate(zip(turned, back, strict=True))])
        outputs.append((scores / math.sqrt(len(q))).softmax(0) @ V)
    return torch.stack(outputs)


def moved_on(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Right: everything stands a hundred places later."""
    queries, keys = d2l.apply_rotary(Q, offset=100 + len(K) - len(Q)), d2l.apply_rotary(K, offset=100)
    return (queries @ keys.T / math.sqrt(K.shape[1])).softmax(1) @ V


def rotary_in_place(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    result = rotary()(Q, K, V)
    Q += 1
    return result


def base(
    *, turn: float = math.pi, steps: int = -1, exponent: Callable[[int], float] = lambda p: p / (p - 2)
) -> Callable[[int, int], float]:
    return lambda length, p: ((length + steps) / turn) ** exponent(p)


def by_bisection(length: int, p: int) -> float:
    """Right: the angle falls with the base."""
    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        if (length - 1) * math.exp(-middle * (p - 2) / p) > math.pi:
            low = middle
        else:
            high = middle
    return math.exp(low)


RIGHT: dict[str, list[Any]] = {
    "debug-rotary": [rotary(), with_package, by_offsets, moved_on, lambda *QKV: rotary()(*QKV).float()],
    "rotary-base": [
        base(),
        by_bisection,
        lambda length, p: torch.tensor(base()(length, p)),
        lambda length, p: np.float64(math.exp(math.log((length - 1) / math.pi) * p / (p - 2))),
        lambda length, p: (math.pi / (length - 1)) ** (-p / (p - 2)),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    *list_faults(),
    ("debug-rotary", rotary("backwards"), "both turn by +iω"),
    ("debug-rotary", rotary("plain queries"), "the queries do not turn at all"),
    ("debug-rotary", rotary("plain keys"), "the keys do not turn at all"),
    ("debug-rotary", rotary("plain queries", "plain keys"), "the queries do not turn at all (this"),
    ("debug-rotary", rotary(exponents=lambda p: torch.arange(p // 2) / 2), "with p itself, not with p = 4"),
    ("debug-rotary", rotary(exponents=lambda p: torch.linspace(0, 0.5, p // 2)), "(p - 2)/p, not 1/2"),
    ("debug-rotary", rotary(exponents=lambda p: torch.linspace(0, 1, p // 2)), "(p - 2)/p, not 1\n"),
    ("debug-rotary", rotary(exponents=lambda p: torch.arange(p // 2) / 2.0 * (p != 12)), "compare turned queries"),
    ("debug-rotary", rotary(scale=lambda p: p), "which number are the scores divided by?"),
    ("debug-rotary", rotary(scale=lambda p: p // 2), "not by the number of pairs"),
    ("debug-rotary", rotary(scale=lambda p: math.sqrt(p // 2)), "not the number of its pairs"),
    ("debug-rotary", rotary(scale=lambda p: 1), "the scores are divided by √p\n"),
    ("debug-rotary", rotary(scale=lambda p: math.sqrt(12)), "compare turned queries"),
    ("debug-rotary", rotary(exponents=lambda p: torch.arange(0, p, 2) / 12), "compare turned queries"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, K, V.flip(0)), "compare turned queries"),
    ("debug-rotary", lambda Q, K, V: V[: len(Q)], "compare turned queries"),
    ("debug-rotary", rotary(first_query=lambda m, n: n - m - 1), "not one place before it\n"),
    ("debug-rotary", rotary(first_query=lambda m, n: n), "not the ones after them\n"),
    ("debug-rotary", rotary("values", first_query=lambda m, n: n), "not the ones after them (this is not the only"),
    ("debug-rotary", rotary("keys", exponents=lambda p: torch.arange(1, p, 2) / p), "(this is not the only fault)"),
    ("debug-rotary", rotary(exponents=lambda p: torch.arange(1, p, 2) / p), "the first pair has 0, not 1/p"),
    ("debug-rotary", rotary(exponents=lambda p: 2 * torch.arange(0, p, 2) / p), "is 2j doubled again?"),
    ("debug-rotary", rotary(weigh=causal), "no key is hidden here"),
    ("debug-rotary", rotary(weigh=lambda scores: hide(scores, 1)), "no key is hidden here"),
    ("debug-rotary", rotary(weigh=lambda scores: scores.softmax(0)), "along which dimension do yours?"),
    ("debug-rotary", rotary(weigh=lambda scores: scores), "with a softmax: where is it?"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, K[-10:], V[-10:]), "compare turned queries"),
    ("debug-rotary", rotary_in_place, "into new tensors"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, K, V).detach(), "what cuts the result off?"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, 2 * K - K.detach(), V), "is a part of the way cut off?"),
    ("debug-rotary", torch.no_grad()(rotary()), "what cuts the result off?"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q.detach(), K, V), "what cuts the result off?"),
    ("debug-rotary", lambda Q, K, V: rotary()(Q, K.data, V), "what cuts the result off?"),
    ("debug-rotary", rotary(weigh=lambda scores: scores.softmax(1).detach()), "what cuts the result off?"),
    ("debug-rotary", lambda Q, K, V: torch.from_numpy(rotary()(Q, K, V).numpy()), "NumPy knows no gradients"),
    ("rotary-base", base(exponent=lambda p: 1), "the exponent (p - 2)/p, not 1"),
    ("rotary-base", base(turn=2 * math.pi), "not 2π"),
    ("rotary-base", base(turn=math.pi / 2), "how far is half a turn?"),
    ("rotary-base", base(turn=1), "half a turn is π: where is it?"),
    ("rotary-base", base(steps=0), "length - 1 steps"),
    ("rotary-base", base(steps=1), "length - 1 steps, no more"),
    ("rotary-base", base(exponent=lambda p: (p - 2) / p), "to the other side"),
    ("rotary-base", base(exponent=lambda p: -p / (p - 2)), "the inverse"),
    ("rotary-base", base(exponent=lambda p: 2 * p / (p - 2)), "not j/p"),
    ("rotary-base", base(exponent=lambda p: p / 2), "Not the second one"),
    ("rotary-base", base(exponent=lambda p: p / (p / 2 - 2 + (p == 4))), "a head has p/2 pairs"),
    ("rotary-base", base(turn=1 / math.pi), "do not multiply"),
    ("rotary-base", base(steps=0, exponent=lambda p: 1), "not 1 (this is not the only fault)"),
    ("rotary-base", base(steps=0, turn=2 * math.pi), "not 2π (this is not the only fault)"),
    ("rotary-base", base(turn=2 * math.pi, exponent=lambda p: p / (p - 1)), "not p - 1 (this is not the only fault)"),
    ("rotary-base", base(turn=1, exponent=lambda p: (p - 2) / p), "to the other side as p/(p - 2) (this"),
    ("rotary-base", lambda length, p: round(base()(length, p)), "do not round"),
    ("rotary-base", base(turn=180), "π radians"),
    ("rotary-base", base(exponent=lambda p: p / (p - 1)), "not p - 1"),
    ("rotary-base", lambda length, p: base()(length, 10), "solve for the base"),
    ("rotary-base", lambda length, p: max(1, base()(length, p)), "solve for the base"),
    ("rotary-base", lambda length, p: 10000, "solve for the base"),
]
