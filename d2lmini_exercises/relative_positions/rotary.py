"""Rotary embedding."""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from d2lmini.positions.rotary import turn
from d2lmini_exercises.engine import Case, draw, exercise


def attend(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    *,
    query: Any = lambda m, n: torch.arange(n - m, n),
    key: Any = torch.arange,
    value: Any = torch.zeros,
    exponents: Any = lambda p: torch.arange(0, p, 2) / p,
    scale: Any = math.sqrt,
    weigh: Any = lambda scores: scores.softmax(1),
) -> Tensor:
    """Attention with rotary embedding, right unless told otherwise."""
    m, n, p = len(Q), *K.shape
    Q, K, V = (
        turn(X.double(), at[:, None] * 10000 ** -exponents(p).double(), "adjacent")
        for X, at in ((Q, query(m, n)), (K, key(n)), (V, value(n)))
    )
    return weigh(Q @ K.T / scale(p)) @ V


def hide(scores: Tensor, diagonal: int) -> Tensor:
    return scores.masked_fill(torch.ones_like(scores).triu(diagonal).bool(), -math.inf).softmax(1)


FIRST: Any = {"query": lambda m, n: torch.arange(m)}
KEYS: Any = {"key": lambda n: -torch.arange(n)}
SLOW: Any = {"exponents": lambda p: torch.arange(p // 2) / p}
VALUES: Any = {"value": torch.arange}
exercise(
    "debug-rotary",
    attend,
    [
        *(
            draw(seed, most=1, Q=(m, p), K=(n, p), V=(n, p))
            for seed, (m, n, p) in enumerate(((3, 5, 12), (4, 4, 8), (1, 7, 4), (2, 14, 64)))
        ),
        Case(f"{draw(4, Q=(4, 4), K=(5, 4), V=(5, 4))}; Q[0] *= 3000", edge="rows far apart", tolerance=1e-3),
        Case(draw(5, most=1, Q=(1, 4), K=(1, 4), V=(1, 4)), edge="one token"),
        Case(draw(6, most=1, Q=(3, 2), K=(4, 2), V=(4, 2)), edge="one key")
        if False
        else Case(draw(6, most=1, Q=(3, 2), K=(4, 2), V=(4, 2))),
    ],
    {
        "the queries are the last tokens: where does the first of them stand?": (
            FIRST,
            *(FIRST | a | b for a, b in ((KEYS, SLOW), (KEYS, VALUES), (SLOW, VALUES), (KEYS, SLOW | VALUES))),
        ),
        "the last query stands at the last key: which position is that?": tuple(
            {"query": lambda m, n, more=more: torch.arange(n - m, n) + more} for more in (1, -1)
        ),
        "the queries are the last of the n tokens, not the ones after them": {
            "query": lambda m, n: torch.arange(n, n + m)
        },
        "both turn by +iω, as in the starter's turn: now both turn the other way": {
            "query": lambda m, n: -torch.arange(n - m, n),
            **KEYS,
        },
        "both turn by +iω, as in the starter's turn: the query turns the other way": {
            "query": lambda m, n: -torch.arange(n - m, n)
        },
        "the first query stands at 0 and turns the other way": {"query": lambda m, n: -torch.arange(m)},
        "the queries do not turn at all": {"query": lambda m, n: torch.zeros(m)},
        "queries and keys turn the same way: what is left of i and j in the score?": (KEYS, KEYS | SLOW | VALUES),
        "the keys do not turn at all": {"key": torch.zeros},
        "what is the frequency of the second pair? 10000^(-2j/p), with 2j = 2": SLOW,
        "the largest exponent is (p - 2)/p, not 1": {"exponents": lambda p: torch.linspace(0, 1, p // 2)},
        "the exponent is 2j/p: the first pair has 0, not 1/p": {"exponents": lambda p: torch.arange(1, p, 2) / p},
        "the exponent is 2j/p: is 2j doubled again?": {"exponents": lambda p: 2 * torch.arange(0, p, 2) / p},
        "the exponent is 2j/p: with p itself, not with p = 4": {"exponents": lambda p: torch.arange(p // 2) / 2},
        "move everything by 100 places: does the output turn, too? A value does not stand anywhere": VALUES,
        "a value does not stand anywhere: it is not turned, not even back": {"value": lambda n: -torch.arange(n)},
        "which number are the scores divided by? It is √p": tuple(
            {"scale": scale} for scale in (lambda p: p, lambda p: p // 2, lambda p: math.sqrt(p // 2), lambda p: 1)
        ),
        "the last tokens ask all n tokens: no key is hidden here": (
            {"weigh": lambda scores: hide(scores, scores.shape[1] - len(scores) + 1)},
            {"weigh": partial(hide, diagonal=1)},
        ),
        "the weights of one query sum to 1: along which dimension do yours?": {
            "weigh": lambda scores: scores.softmax(0)
        },
        "scores become weights with a softmax: where is it?": {"weigh": lambda scores: scores},
    },
    claim="it is attention with turned queries and keys",
    verified="queries at the end and all keys are turned alike, values are not, and all three learn; at four widths",
    hint="compare turned queries and keys with those of d2l.apply_rotary, then the scores, then the output",
    trained=True,
    together=2,
)
