"""Positions as distances: what is added to a score, and what turns queries and keys."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from d2lmini.positions.rotary import turn
from d2lmini_exercises.engine import Case, Number, draw, exercise, prediction

# Numbers of a clipped bias, the weight of a far key in ALiBi, the angle of the slowest rotary pair.
prediction(
    "predict-relative",
    {
        Number("(a)", 264, "how many offsets are there from -16 to 16?"): {
            "each head has its own": 33,
            "an offset of 0 has a number, too": 256,
            "offsets are negative, too, and there is an offset of 0": (136, 128),
        },
        Number(
            "(b)",
            math.exp(-1),
            "the third slope of 8 heads is 2^(-3); each place further costs a factor e^(-m)",
            tolerance=0.004,
        ): {
            "that is the slope: 8 places further the score is lower by 8 times that. And the weight?": 0.125,
            "that is by how much the score is lower: what does the softmax make of it?": (1.0, -1.0),
            "the softmax takes powers of e, not of 2": 0.5,
            "that is the near key's weight divided by the far one's: turn it over": math.e,
            "one place further: e^(-m). And 8 places further?": math.exp(-1 / 8),
            "slopes begin at 1/2, for h = 1: the third head has 1/8": (math.exp(-2), math.exp(-0.5)),
        },
        Number(
            "(c)",
            1000 * 10000 ** (-62 / 64),
            "the slowest pair has the largest 2j, which is p - 2: multiply its frequency by 1000",
            tolerance=0.004,
        ): {
            "what is the largest 2j? It is p - 2, not p": 0.1,
            "that is the fastest pair": 1000,
            "in radians, not in degrees": (7.6, 7.64),
            "the exponent is 2j/p, and the largest 2j is p - 2": (11.5, 11.55),
        },
    },
    right="264, 0.368 and 0.133: all three are right",
)


def count_keys(slope: float, share: float, *, sign: int = -1, more: int = 0) -> int:
    """How many of the nearest of 4096 keys hold that share of the weight, right unless told otherwise."""
    weights = (sign * slope * torch.arange(4096, dtype=torch.float64)).softmax(0)
    return int((weights.cumsum(0) < share).sum()) + 1 + more


def count_endless(slope: float, share: float) -> float:
    return math.log(1 - share) / -slope


ONE_KEY = "one key holds less than that: do the weights sum to 1, and is each e^(-slope) of the one before?"
ENDLESS = "more keys than there are: that is for a sequence without an end. Here the weights of 4096 keys sum to 1"
ALL_KEYS = "all keys? Do the weights of these 4096 sum to 1, and do you add them up, or look at single ones?"
exercise(
    "measure-window",
    count_keys,
    (
        *(
            f"slope, share = {1 / slope}, {share}"
            for slope, share in zip((16, 4, 16, 256, 2, 256), (0.7, 0.99, 0.99, 0.5, 0.2, 0.99), strict=True)
        ),
        # the keys beyond the first 4096 would have much of the weight of a longer sequence
        Case(
            f"slope, share = {1 / 4096}, 0.9",
            "for steeper slopes it is right: how many keys does your softmax have? There are 4096",
        ),
    ),
    {
        "does your function use share? That is the number for another one": tuple(
            lambda slope, share, own=own: count_keys(slope, own) for own in (0.5, 0.9, 0.95, 0.99)
        ),
        "these keys hold a little less than the share. Is this how far the last key is, or rounded down?": {"more": -1},
        "one key fewer already holds the share": {"more": 1},
        "return a whole number of keys": count_endless,
        "the softmax takes powers of e, not of 2": lambda slope, share: count_keys(slope * math.log(2), share),
        ONE_KEY: lambda slope, share: 1,
        "does the slope come in twice? At each place the score falls by it once": lambda slope, share: count_keys(
            2 * slope, share
        ),
        "these keys hold the rest: where is the share?": lambda slope, share: count_keys(slope, 1 - share),
        "there a single key falls to that share of the nearest one's weight: add them up": lambda slope, share: int(
            count_endless(slope, 1 - share)
        ),
        "the nearest key has the largest weight: which sign has the penalty?": {"sign": 1},
        "a share is between 0 and 1, and so are weights: how large is the share that you compare with?": (
            lambda slope, share: 4096,
            lambda slope, share: 4097,
        ),
        ENDLESS: lambda slope, share: math.ceil(count_endless(slope, share)),
        ALL_KEYS: lambda slope, share: min(math.ceil(count_endless(slope, share)), 4096),
    },
    claim="it finds the smallest number of keys",
    verified="right for 7 pairs of a slope and a share, also where the sequence ends while weights are large",
    hint="make the weights of 4096 keys with a softmax, nearest first, and add them up with cumsum",
)


prediction(
    "use-window",
    {
        Number(
            "the steepest head's",
            count_keys(1 / 2, 0.99),
            "call your function with the first slope of 8 heads, and 0.99",
        ): {
            "that is with the slope 1/4: the first slope of 8 heads is 1/2": count_keys(1 / 4, 0.99),
            "is it 99 %, and is the first slope of 8 heads 1/2, not 1? Heads are numbered from 1": (
                count_keys(1 / 2, 0.9)  # as many as with the slope 1
            ),
            "these keys hold a little less than 99 %": count_keys(1 / 2, 0.99) - 1,
        },
        Number(
            "the flattest head's",
            count_keys(1 / 256, 0.99),
            "call your function with the last slope of 8 heads, and 0.99",
        ): {
            "is it 99 %, and the last slope of 8 heads, 1/256? Heads are numbered from 1": count_keys(1 / 128, 0.99),
            "with the slope 1/512 it is so many: the last slope of 8 heads is 1/256": count_keys(1 / 512, 0.99),
            "these keys hold a little less than 99 %": count_keys(1 / 256, 0.99) - 1,
        },
    },
    right="10 keys and 1179: the heads look at very different scales",
)


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
    tuple(
        draw(seed, most=1, Q=(m, p), K=(n, p), V=(n, p))
        for seed, (m, n, p) in enumerate(((3, 5, 12), (4, 4, 8), (1, 7, 4), (2, 14, 64)))
    ),
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
