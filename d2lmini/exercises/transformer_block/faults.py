"""An encoder block with faults: every set of faults is tried, and the hint is for one that is really there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.pooling import DotProductAttention
from d2lmini.exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_shape,
    expect_unchanged,
    is_near,
)
from d2lmini.exercises.gradients import expect_gradients
from d2lmini.exercises.inputs import draw_inputs

_CODE = (
    "import d2lmini as d2l; look = d2l.DotProductAttention(0); ffn = lambda X: X.cumsum(dim=-1).sin(); "
    "attention = lambda *inputs, **others: 2 * look(*inputs, **others)"
)
_LOOK = DotProductAttention(0.0)
_MOST = 4  # faults at once

# The hint for a fault, by its name.
_HINTS = {
    "norm of batch": "the norm of a token has nothing to do with other sequences",
    "norm of all": "the norm of a token: which numbers does yours take together?",
    "norm of features": "the norm of a token takes its features together, not the tokens of a sequence",
    "bare reading": "in pre-norm, attention reads the stream through the norm: queries, keys and values",
    "bare values": "queries, keys and values are three looks at the same normed tokens",
    "bare queries": "queries, keys and values: all three come from the normed tokens",
    "bare keys": "the keys, too, come from the normed tokens",
    "no lengths": "change a token beyond valid_lens: which outputs move?",
    "first to normed": "what does attention add to: the stream, or what the norm has made of it?",
    "first alone": "attention writes into the stream, it does not replace it",
    "first normed": "what does the feed-forward network add to: the stream, or a normed copy of it?",
    "bare ffn": "the feed-forward network reads the stream through a norm, too",
    "old ffn": "the feed-forward network reads the stream as it is after attention",
    "second alone": "the feed-forward network adds to the stream",
    "second normed": "pre-norm: no norm stands at the end of a block",
    "no ffn": "where is the feed-forward network?",
}
_CLASHES = [  # faults of the same line
    {"norm of batch", "norm of all", "norm of features"},
    {"bare reading", "bare values", "bare queries", "bare keys"},
    {"first to normed", "first alone"},
    {"bare ffn", "old ffn", "no ffn"},
    {"second alone", "no ffn"},
]


def _attend(*inputs: Any, **others: Any) -> Any:
    return 2 * _LOOK(*inputs, **others)


def _compute(X: Tensor) -> Tensor:
    return X.cumsum(dim=-1).sin()


def _run(X: Tensor, lens: Tensor, faults: Iterable[str] = ()) -> Tensor:
    """The encoder block in pre-norm, with these faults."""
    has = set(faults)
    whole = {"norm of batch": (0, 1, 2), "norm of all": (1, 2), "norm of features": (1,)}
    dims = next((whole[name] for name in whole if name in has), (2,))
    Y = _norm(X, dims)
    reads = [X if {"bare reading", f"bare {role}"} & has else Y for role in ("queries", "keys", "values")]
    found = _attend(*reads, None if "no lengths" in has else lens)
    Z = found if "first alone" in has else (Y if "first to normed" in has else X) + found
    Z = _norm(Z, dims) if "first normed" in has else Z
    if "no ffn" not in has:
        read = Y if "old ffn" in has else Z if "bare ffn" in has else _norm(Z, dims)
        start = torch.zeros_like(Z) if "second alone" in has else Z
        Z = start + _compute(read)
    return _norm(Z, dims) if "second normed" in has else Z


def _norm(X: Tensor, dims: tuple[int, ...]) -> Tensor:
    if dims == (1,):
        return F.layer_norm(X.mT, X.shape[1:2]).mT
    return F.layer_norm(X, X.shape[min(dims) :])


def _find_fault(runs: list[tuple[Tensor, Tensor, Tensor]]) -> str:
    """The hint for the smallest set of faults that gives these outputs."""
    real = [torch.arange(X.shape[1]) < lens[:, None] for X, lens, _ in runs]
    if all(is_near(got[seen], _run(X, lens)[seen], 1e-4) for (X, lens, got), seen in zip(runs, real, strict=True)):
        return "the real tokens are right: at the padding leave what the layers give, since nobody looks there"
    for size in range(1, _MOST + 1):
        for faults in combinations(_HINTS, size):
            if any(len(clash & set(faults)) > 1 for clash in _CLASHES):
                continue
            if all(is_near(got, _run(X, lens, faults), 1e-4) for X, lens, got in runs):
                return _HINTS[faults[0]]
    return "print the stream after each of the two layers: what did the layer read, and what was its output added to?"


@checker("debug-block", trained=True)
def check_debug_block(block: Any) -> str:
    """An encoder block in pre-norm: both layers read through a norm and add to the stream; padding is hidden."""
    expect_function(block)
    runs, givens = [], []
    for seed, shape, lens in ((7, (2, 3, 4), (2, 3)), (2, (3, 5, 6), (1, 5, 3)), (4, (1, 4, 8), (3,))):
        (X,), draw = draw_inputs(seed, most=9, X=shape)
        valid_lens = torch.tensor(lens)
        givens.append(f"{draw}; valid_lens = torch.tensor({list(lens)}); {_CODE}")
        vars(valid_lens)["given"] = givens[-1]  # for a report on an answer that stops
        found = _run_answer(block, X, valid_lens, givens[-1])
        expect_unchanged("X", X, X, "X += ... changes the caller's tensor", given=givens[-1])
        runs.append((X, valid_lens, expect_shape(found, X.shape, claim="it returns the stream", hint="of what shape?")))
    for (X, lens_of, got), given in zip(runs, givens, strict=True):
        expected = _run(X, lens_of)
        hint = "" if is_near(got, expected, 1e-4) else _find_fault(runs)
        expect_close(got, expected, claim="it is a pre-norm encoder block", given=given, hint=hint)
    X, lens_of, _ = runs[0]
    _expect_epsilon(block, X / 1000, lens_of, f"{givens[0]}; X = X / 1000; X[0, 1] = 0")
    expect_gradients(_fix(block, lens_of), lambda X: _run(X, lens_of), given=givens[0], X=X)
    return "both layers read through a norm of each token and add to the stream, padding is hidden; gradients too"


def _expect_epsilon(block: Any, X: Tensor, lens: Tensor, given: str) -> None:
    """Small tokens, and one of equal features, are where the norm's epsilon shows."""
    X[0, 1] = 0
    lens = lens.clone()
    vars(lens)["given"] = given
    hint = "(7.2) has an epsilon, under the root: 1e-5, as nn.LayerNorm has"
    found = _run_answer(block, X, lens, given)
    expect_close(
        found, _run(X, lens), claim="a token of small or equal features has a norm, too", given=given, hint=hint
    )


def _fix(block: Any, lens: Tensor) -> Callable[[Tensor], Any]:
    return lambda X: block(X, lens, _attend, _compute)


def _run_answer(block: Any, X: Tensor, lens: Tensor, given: str) -> Any:
    try:
        return block(X, lens, _attend, _compute)
    except (ValueError, RuntimeError) as error:
        if "valid_lens" in str(error):
            hint = "the lengths come last, as they are: attention(queries, keys, values, valid_lens)"
            raise WrongAnswer("the block runs", hint, given=given, got=error) from error
        raise
