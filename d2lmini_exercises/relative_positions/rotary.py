"""Rotary embedding, and how its angles are stretched."""

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


def stretch(
    positions: Tensor,
    p: int,
    L: int,
    s: float,
    window: int | None = None,
    *,
    keeps: Any = lambda window, L: window is not None and window <= L,
    width: Any = lambda p: p,
    turns: Any = lambda omega, L, s: L * omega / (2 * math.pi),
    ramp: Any = lambda r: ((r - 1) / 31).clamp(0, 1),
    join: Any = lambda gamma, omega, s: gamma * omega + (1 - gamma) * omega / s,
    scaled: Any = lambda i, s: i,
) -> Tensor:
    """The angles of YaRN, right unless told otherwise."""
    omega = 10000 ** -(torch.arange(0, p, 2, dtype=torch.float64) / width(p))
    if not keeps(window, L):
        omega = join(ramp(turns(omega, L, s)), omega, s)
        positions = scaled(positions, s)
    return positions[:, None] * omega


TURNS: Any = {"turns": lambda omega, L, s: s * L * omega / (2 * math.pi)}
SCALED: Any = {"scaled": lambda i, s: i / s}
WINDOW: Any = {"keeps": lambda window, L: False}
exercise(
    "debug-stretching",
    stretch,
    tuple(
        f"positions, p, L, s, window = torch.arange({n}), {p}, {L}, {s}, {window}"
        for n, p, L, s, window in (
            (9, 8, 1000, 4, None),
            (5, 16, 512, 8, 32),
            (12, 64, 2048, 2.5, 4096),
            (7, 8, 100, 4, 100),
            (7, 8, 100, 4, 101),
            (1, 4, 100, 4, None),
            (3, 2, 100, 4, None),
        )
    ),
    {
        "YaRN changes frequencies: are the positions divided as well?": (
            SCALED,
            SCALED | TURNS,
            SCALED | WINDOW,
            SCALED | TURNS | WINDOW,
        ),
        "which turns count: those that the pair makes in training, or those in the longer text?": (
            TURNS,
            TURNS | WINDOW,
        ),
        "a layer with a window of at most L positions: does it ever meet an offset that is new?": (
            WINDOW,
            {"keeps": lambda window, L: window is not None and window < L},
        ),
        "a window of more than L positions: does it meet no offset that is new?": (
            {"keeps": lambda window, L: window is not None},
            {"keeps": lambda window, L: window is not None and window <= L + 1},
        ),
        "without a window, a layer must be stretched: which of its frequencies change?": (
            {"join": lambda gamma, omega, s: omega},
            {"keeps": lambda window, L: window is None or window > L},
        ),
        "a pair that turns often keeps its frequency, a slow one is slowed: yours has it the other way round": {
            "join": lambda gamma, omega, s: (1 - gamma) * omega + gamma * omega / s
        },
        "that is position interpolation: which pairs must keep their frequency?": {
            "join": lambda gamma, omega, s: omega / s
        },
        "slower pairs are divided by s, not multiplied": {
            "join": lambda gamma, omega, s: gamma * omega + (1 - gamma) * omega * s
        },
        "blend the frequencies, not the wavelengths": {
            "join": lambda gamma, omega, s: 1 / (gamma / omega + (1 - gamma) * s / omega)
        },
        "a turn is 2π radians": tuple(
            {"turns": lambda omega, L, s, turn=turn: L * omega / turn} for turn in (1, math.pi)
        ),
        "the first position is 0, and a pair turns by ω in each of L steps: count the turns of L": {
            "turns": lambda omega, L, s: (L - 1) * omega / (2 * math.pi)
        },
        "a part of at least 0 and at most 1: where is it clamped?": {"ramp": lambda r: (r - 1) / 31},
        "α is 1 and β is 32": tuple(
            {"ramp": lambda r, a=a, b=b: ((r - a) / (b - a)).clamp(0, 1)}
            for a, b in ((0, 32), (1, 33), (1, 2), (0, 31))
        ),
        "between 1 and 32 turns a part is blended in, in a straight line": (
            {"ramp": lambda r: (r > 1).double()},
            {"ramp": lambda r: (r >= 32).double()},
        ),
        "the exponent of pair j is 2j/p": ({"width": lambda p: p - 2}, {"width": lambda p: 2 * p}),
    },
    claim="these are the angles that YaRN gives",
    verified="right for five layers, with small, large and no windows",
    hint="print γ and the frequency of each pair, for a layer without a window first",
)
