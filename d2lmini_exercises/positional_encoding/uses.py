"""What encodings of positions are used for: decoding token by token, and telling distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l
from d2lmini_exercises.core import WrongAnswer, expect_shape
from d2lmini_exercises.engine import Case, draw, exercise

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
