"""What encodings of positions are used for: decoding token by token, and telling distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.attention.masks import causal_mask
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.positions.added import LearnedPositionalEncoding, PositionalEncoding
from d2lmini_exercises.core import (
    Mistakes,
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_shape,
    expect_unchanged,
    read_number,
)
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.positional_encoding.sinusoids import make_table
from d2lmini_exercises.prediction import Number, prediction

_CODES = (
    "encoding, layer = d2l.PositionalEncoding(8, 0), d2l.DotProductAttention(0)",
    "encoding, layer = d2l.LearnedPositionalEncoding(4, 0), d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0)",
    "layer = d2l.DotProductAttention(0); encoding = lambda X, offset=0: "
    "X / 2 + torch.arange(offset, offset + X.shape[1])[:, None] / 20",
)


def _make_parts(which: int) -> tuple[Callable[..., Tensor], Callable[..., Any]]:
    """An encoding and a layer, as their code says; an answer may call them and nothing more."""
    if which == 0:
        return PositionalEncoding(8, 0.0), DotProductAttention(0.0)
    if which == 1:
        return LearnedPositionalEncoding(4, 0.0), MultiHeadAttention(4, 4, 4, 4, 2, 0.0)
    return lambda X, offset=0: X / 2 + torch.arange(offset, offset + X.shape[1])[:, None] / 20, DotProductAttention(0.0)


@checker("debug-decoding")
def check_debug_decoding(decode: Any) -> str:
    """`decode(layer, encoding, X)`: a causal layer, one token at a time."""
    expect_function(decode)
    for which, (shape, name) in enumerate(
        (((3, 5, 8), "sinusoids"), ((2, 7, 4), "weights"), ((2, 12, 6), "a function"))
    ):
        (X,), given = draw_inputs(which + 3, X=shape)
        encoding, layer = _make_parts(which)  # draws what the code in the report draws
        given = f"{given}; {_CODES[which]}"
        placed = encoding(X)
        right = layer(placed, placed, placed, mask=causal_mask(shape[1])).detach()
        hint = "compare the first output, then the second: with which queries, keys and values was it made?"
        mistakes = _list_wrong_outputs(encoding(torch.zeros(1, 2 * shape[1], shape[2]))[0].detach(), X[0])
        if which:
            hint = "for dot-product attention and sinusoids it is right: do you call encoding and layer as they are?"
            mistakes = _list_short_cuts(layer, encoding, X)
        forgotten = "how many tokens are kept? The newest one asks all those before it"
        mistakes = {**mistakes, forgotten: _forget(layer, placed)}
        try:
            found = decode(layer, encoding, handed := X.clone())
        except AttributeError as error:
            claim, hint = f"it works with {name}", "not every encoding or layer has this attribute: call it, no more"
            raise WrongAnswer(claim, hint, given=given, got=f"AttributeError: {error}") from error
        got = expect_shape(found, shape, claim="it returns (b, n, d)", hint="one output for each token", given=given)
        claim = "one by one gives the same as all at once"
        expect_close(got[0], right[0], claim=claim, given=given, hint=hint, mistakes=mistakes)
        claim, hint = "so it does for each example of the batch", "the first one is right: what about the others?"
        expect_close(got, right, claim=claim, given=given, hint=hint)
        expect_unchanged("X", handed, X, "X += ... changes the caller's tensor")
    return (
        "the same numbers as all at once, for each token: with sinusoids, with a learned table and weights, and with a "
        "function"
    )


def _list_short_cuts(layer: Callable[..., Any], encoding: Callable[..., Tensor], X: Tensor) -> dict[str, Any]:
    """The outputs for the first sequence where encoding or layer is taken for another one."""
    n, d = X.shape[1:]
    taken: dict[str, tuple[Callable[..., Any], Tensor]] = {
        "positions come from encoding(X, offset=...): are there some of your own?": (layer, X + make_table(0, n, d)),
        "encoding need not add a table to X: is it called with the tokens themselves?": (
            layer,
            X + encoding(torch.zeros_like(X)),
        ),
        "layer has weights of its own: where is it called?": (DotProductAttention(0.0), encoding(X)),
    }
    mask = causal_mask(n)
    return {hint: mix(*[Z.float()] * 3, mask=mask)[0].detach() for hint, (mix, Z) in taken.items()}


def _forget(layer: Callable[..., Any], placed: Tensor) -> tuple[Tensor, ...]:
    """The outputs for the first sequence where only the last tokens are kept: two of them, or more, but not all."""
    n = placed.shape[1]
    masks = [causal_mask(n).triu(1 - kept) for kept in range(2, n)]
    return tuple(layer(placed, placed, placed, mask=mask)[0].detach() for mask in masks)


_PLACES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "right": lambda P, n: P[:n],
    "none": lambda P, n: 0 * P[:n],
    "zero": lambda P, n: P[:1].expand(n, -1),
    "later": lambda P, n: P[1 : n + 1],
    "earlier": lambda P, n: P[[0, *range(n - 1)]],
    "twice": lambda P, n: 2 * P[:n],
}
_QUERY = {
    "none": "where does the newest token stand? Its query has no position",
    "zero": "where does the newest token stand? Every query stands at position 0",
    "later": "positions count from 0: where does the first token's query stand?",
    "earlier": "where does the newest token stand? Its query is one place too early",
    "twice": "the query has got its position twice",
}
_KEPT = {
    "none": "{} have no position: what do those of the whole sequence look like?",
    "zero": "{} all stand at position 0",
    "later": "{} stand one place too far on: positions count from 0",
    "earlier": "{} stand one place too early",
    "twice": "{} have got their positions twice",
    "newest": "the first of {} stands at position 0, not at the newest token's",
}


def _list_wrong_outputs(P: Tensor, X: Tensor) -> Mistakes:
    """The outputs for one sequence, with queries, keys and values at wrong places, and what is wrong first."""
    n = len(X)

    def attend(query: str, key: str, value: str) -> Tensor:
        queries, outputs = X + _PLACES[query](P, n), []
        for i in range(n):
            kept = [
                X[: i + 1] + (P[i : 2 * i + 1] if kind == "newest" else _PLACES[kind](P, n)[: i + 1])
                for kind in (key, value)
            ]
            weights = (queries[i] @ kept[0].T / X.shape[1] ** 0.5).softmax(0)
            outputs.append(weights @ kept[1])
        return torch.stack(outputs)

    placed = X + P[:n]
    scores = placed @ placed.T / X.shape[1] ** 0.5
    mistakes: dict[str, Tensor | tuple[Tensor, ...]] = {
        "the first output knows later tokens: which of them has the model seen by then?": scores.softmax(1) @ placed,
        "each token asks itself alone: which tokens does the newest one ask?": placed,
        "the newest token asks itself, too: is it among the keys?": torch.stack(
            [scores[i, : max(i, 1)].softmax(0) @ placed[: max(i, 1)] for i in range(n)]
        ),
    }
    for kind, fault in _KEPT.items():
        mistakes[fault.format("the keys")] = attend("right", kind, "right")
        mistakes[fault.format("the values")] = attend("right", "right", kind)
        mistakes[fault.format("the tokens that are kept")] = attend("right", kind, kind)
    for query, hint in _QUERY.items():
        mistakes[hint] = attend(query, "right", "right")
        mistakes[f"{hint} (this is not the only fault)"] = tuple(attend(query, kind, kind) for kind in _KEPT)
    return mistakes


@checker("measure-trust")
def check_measure_trust(measure: Any) -> str:
    """`measure(P)`: the first distance at which a position further away has a larger product with row 0, or None."""
    expect_function(measure)
    probes = [
        ("the sinusoids of width 32", make_table(0, 60, 32)),
        ("the sinusoids of width 16", make_table(0, 60, 16)),
        ("60 rows of width 32, with 10 in (5.2) instead of 10000", make_table(0, 60, 32, width=128)),
        ("200 rows of width 6, with 100 in (5.2) instead of 10000", make_table(0, 200, 6, width=12)),
        *(
            (f"P = {rows}", torch.tensor(rows, dtype=torch.float64))
            for rows in (
                [[2, 0], [4, 0], [2, 9], [1, 0], [3, 1]],
                [[2, 1], [1, 0], [0, 1], [1, -1], [-3, 4]],
                [[1, 0], [2, 1], [0, 1], [1, 5]],
                [[2, 0], [1, 7], [3, 0], [-1, 0], [-2, 8]],
                [[3, 0], [-1, 1], [-4, 1], [-2, 1], [-2, 5]],
                [[1, 0], [5, 0], [4, 0], [4.5, 0], [2, 0], [6, 0]],
                [[1, 0], [1.001, 0], [1, 0], [1.002, 0]],
            )
        ),
    ]
    found = [_read_distance(measure, given, P) for given, P in probes]
    expected = [_first_beaten(P) for _, P in probes]
    for got, right, (given, _) in zip(found, expected, probes, strict=True):
        if got != right:
            hint = "print the products of row 0 with rows 1, 2, 3, ...: which of them is exceeded by a later one?"
            for mistake, wrong in _WRONG_DISTANCES.items():
                if found == [wrong(P) for _, P in probes]:
                    hint = mistake
            raise WrongAnswer(
                "it finds the first distance that a larger one beats",
                hint,
                given=given,
                expected=str(right),
                got=str(got),
            )
    return "right for sinusoids of four kinds and for seven other tables"


def _read_distance(measure: Any, given: str, P: Tensor) -> float | None:
    try:
        got = measure(P.clone())
    except (IndexError, StopIteration, ValueError) as error:
        if _first_beaten(P) is not None:
            raise
        hint = "no distance is beaten: return None then. After the last row there is nothing to compare with"
        raise WrongAnswer("it finds nothing", hint, given=given, got=type(error).__name__) from error
    return got if got is None else read_number(got)


def _find_first(products: Tensor, *, begin: int = 1, equal: bool = False) -> int | None:
    later = products.flip(0).cummax(0).values.flip(0)  # the largest from here on
    beaten = later[1:] >= products[:-1] if equal else later[1:] > products[:-1]
    return next((k for k in range(begin, len(beaten)) if beaten[k]), None)


def _first_beaten(P: Tensor) -> int | None:
    return _find_first(P @ P[0])


def _first_rise(P: Tensor, begin: int = 1) -> int | None:
    products = (P @ P[0]).tolist()
    return next((k for k in range(begin, len(products)) if products[k] > products[k - 1]), None)


def _add(number: int | None, more: int) -> int | None:
    return None if number is None else number + more


_WRONG_DISTANCES: dict[str, Callable[[Tensor], float | None]] = {
    "an equal product is not larger": lambda P: _find_first(P @ P[0], equal=True),
    "the distance is at least 1: row 0 itself is not asked": lambda P: _find_first(P @ P[0], begin=0),
    "that is where the product rises: which distance is beaten, and may the larger one be further away?": _first_rise,
    "the first distance after 1 is 2: may the larger product be further away than the next?": (
        lambda P: _first_rise(P, 2)
    ),
    "the larger product may be further away than the next position's": lambda P: _add(_first_rise(P, 2), -1),
    "row 1 of P is at distance 1: count from there": lambda P: _add(_first_beaten(P), -1),
    "row 0 of P is at distance 0: count from there": lambda P: _add(_first_beaten(P), 1),
    "products as they are, with their signs": lambda P: _find_first((P @ P[0]).abs()),
    "products as they are, with the lengths of the rows": lambda P: _find_first(P @ P[0] / P.norm(dim=1)),
    "where nothing is beaten, return None": lambda P: _first_beaten(P) or 0,
}

prediction(
    "use-trust",
    Number(
        "with 100",
        18,
        hint="10000 in (5.2) becomes 100: call your function with that table, 60 rows of width 128",
        mistakes={
            "that is 10000, as before": 11,
            "the width is 128, not 32": 5,
            "that is the distance at which the product rises": 19,
            "the exponent is -2j/d: with -j/d the waves are those of 10": 4,
        },
    ),
    Number(
        "with 10",
        4,
        hint="10000 in (5.2) becomes 10: call your function with that table, 60 rows of width 128",
        mistakes={
            "that is 10000, as before": 11,
            "that is 100": 18,
            "that is where the product rises": 7,
            "is your function right? A larger product may be many places further away": 6,
        },
    ),
    right="18 and 4: at this width 100 is better than both 10000 and 10",
)
