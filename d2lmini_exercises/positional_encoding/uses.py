"""What encodings of positions are used for: decoding token by token, and telling distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l
from d2lmini_exercises.core import WrongAnswer, checker, expect_function, expect_shape, read_number
from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.positional_encoding.sinusoids import make_table
from d2lmini_exercises.prediction import Number, prediction

Place = Callable[[Any, Tensor], Tensor]  # the tokens so far, each with its position, or with a wrong one
_RIGHT: Place = lambda encoding, Z: encoding(Z)  # noqa: E731


def decode(
    layer: Any, encoding: Any, X: Tensor,
    *, query: Place = _RIGHT, keys: Place = _RIGHT, values: Place = _RIGHT, asked: Any = lambda kept: kept,
) -> Tensor:  # fmt: skip
    """One token after the other, right unless told otherwise."""
    outputs = []
    for Z in (X[:, : i + 1] for i in range(X.shape[1])):
        kept = asked(keys(encoding, Z)), asked(values(encoding, Z))
        outputs.append(layer(query(encoding, Z)[:, -1:], *kept))
    return torch.cat(outputs, dim=1)


def use(answer: Any, layer: Any, encoding: Any, X: Tensor) -> Any:
    """The outputs, unless more is asked of `layer` and `encoding` than to be called."""
    try:
        found = answer(layer, encoding, X)
    except AttributeError as error:
        hint = "not every encoding or layer has this attribute: call it, no more"
        raise WrongAnswer("it works with anything that is called like an encoding", hint, got=error) from error
    return expect_shape(found, tuple(X.shape), claim="it returns (b, n, d)", hint="one output for each token")


_PLACES: dict[str, Place] = {
    "none": lambda encoding, Z: Z,
    "zero": lambda encoding, Z: encoding(Z.flatten(0, 1)[:, None]).view_as(Z),
    "later": lambda encoding, Z: encoding(Z, offset=1),
    "earlier": lambda encoding, Z: torch.cat([encoding(Z[:, :1]), encoding(Z[:, 1:])], 1),
    "twice": lambda encoding, Z: encoding(encoding(Z)),
    "newest": lambda encoding, Z: encoding(Z, offset=Z.shape[1] - 1),
}
_QUERY = {
    "where does the newest token stand? Its query has no position": "none",
    "where does the newest token stand? Every query stands at position 0": "zero",
    "positions count from 0: where does the first token's query stand?": "later",
    "where does the newest token stand? Its query is one place too early": "earlier",
    "the query has got its position twice": "twice",
}
_KEPT = {
    "{} have no position: what do those of the whole sequence look like?": "none",
    "{} all stand at position 0": "zero",
    "{} stand one place too far on: positions count from 0": "later",
    "{} stand one place too early": "earlier",
    "{} have got their positions twice": "twice",
    "the first of {} stands at position 0, not at the newest token's": "newest",
}
_CALLED = "for dot-product attention and sinusoids it is right: do you call encoding and layer as they are?"
exercise(
    "debug-decoding",
    decode,
    (
        f"{draw(3, X=(3, 5, 8))}; encoding, layer = d2l.PositionalEncoding(8, 0), d2l.DotProductAttention(0)",
        Case(
            f"{draw(4, X=(2, 7, 4))}; encoding, layer = d2l.LearnedPositionalEncoding(4, 0), "
            "d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0)",
            _CALLED,
        ),
        Case(
            f"{draw(5, X=(2, 12, 6))}; layer = d2l.DotProductAttention(0); encoding = lambda X, offset=0: "
            "X / 2 + torch.arange(offset, offset + X.shape[1])[:, None] / 20",
            _CALLED,
        ),
    ),
    {
        "the first output knows later tokens: which of them has the model seen by then?": (
            lambda layer, encoding, X: layer(*[encoding(X)] * 3)
        ),
        "each token asks itself alone: which tokens does the newest one ask?": {"asked": lambda kept: kept[:, -1:]},
        "the newest token asks itself, too: is it among the keys?": {
            "asked": lambda kept: kept[:, : max(kept.shape[1] - 1, 1)]
        },
        **{hint: {"query": _PLACES[place]} for hint, place in _QUERY.items()},
        **{
            hint.format(what): dict.fromkeys(parts, _PLACES[place])
            for hint, place in _KEPT.items()
            for what, parts in (
                ("the keys", ["keys"]), ("the values", ["values"]), ("the tokens that are kept", ["keys", "values"]),
            )
            if (what, place) != ("the keys", "zero")  # to a softmax that is the same as "none"
        },
        "how many tokens are kept? The newest one asks all those before it": tuple(
            partial(decode, asked=lambda kept, most=most: kept[:, -most:]) for most in range(2, 12)
        ),
        "positions come from encoding(X, offset=...): are there some of your own?": (
            lambda layer, encoding, X: decode(layer, d2l.PositionalEncoding(X.shape[2], 0), X)
        ),
        "encoding need not add a table to X: is it called with the tokens themselves?": (
            lambda layer, encoding, X: decode(layer, lambda Z: Z + encoding(0 * Z), X)
        ),
        "layer has weights of its own: where is it called?": (
            lambda layer, encoding, X: decode(d2l.DotProductAttention(0), encoding, X)
        ),
        "the first one is right: what about the others?": (
            lambda layer, encoding, X: decode(layer, encoding, X[:1].expand_as(X))
        ),
    },
    claim="one by one gives the same as all at once",
    verified=(
        "the same numbers as all at once, for each token: with sinusoids, with a learned table and weights, and with a "
        "function"
    ),
    hint="compare the first output, then the second: with which queries, keys and values was it made?",
    use=use,
    together=2,
)  # fmt: skip


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
