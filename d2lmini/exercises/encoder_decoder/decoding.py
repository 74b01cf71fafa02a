"""What a decoder is trained on, and how it attends with a cache."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini.exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_pair,
    expect_shape,
    expect_unchanged,
)
from d2lmini.exercises.inputs import draw_inputs

_INPUTS = "the inputs are bos, then the row"
_IGNORED = -100  # the label that F.cross_entropy leaves out


@checker("shifted-targets")
def check_shifted_targets(inputs_and_labels: Any) -> str:
    """`inputs_and_labels(target, valid_lens, bos, eos)`: what a decoder is given, and what it must answer."""
    expect_function(inputs_and_labels)
    for rows, counts, bos, eos in (
        ([[5, 3, 8, 2]], [4], 10, 11),
        ([[5, 3, 8, 2], [4, 0, 0, 0], [6, 1, 0, 0]], [4, 1, 2], 12, 9),
        ([[0, 3, 0, 2]], [3], 23, 20),
        ([[7, 7]], [0], 9, 40),
    ):
        target, lens = torch.tensor(rows), torch.tensor(counts)
        given = f"target = torch.tensor({rows}); valid_lens = torch.tensor({counts}); bos, eos = {bos}, {eos}"
        argument = target.clone()
        found = inputs_and_labels(argument, lens.clone(), bos, eos)
        claim, hint = "it returns two tensors", "return inputs, labels"
        inputs, labels = expect_pair(found, claim=claim, hint=hint, given=given)
        if not isinstance(inputs, Tensor) or not isinstance(labels, Tensor):
            got = " and ".join(type(part).__name__ for part in (inputs, labels))
            raise WrongAnswer(claim, hint, given=given, got=got)
        expect_unchanged("target", argument, target, "an assignment to target[...] changes the caller's tensor")
        if any(part.dtype != torch.int64 for part in (inputs, labels)):
            got = f"{inputs.dtype} and {labels.dtype}"
            raise WrongAnswer(
                "both are int64, as target is", "nn.Embedding and F.cross_entropy ask for it", given=given, got=got
            )
        _expect_inputs(inputs, labels, target, lens, given, bos, eos)
        _expect_labels(labels, target, lens, given, bos, eos)
    return "next tokens, eos after the last that counts, -100 at the padding, target unchanged"


def _expect_inputs(
    inputs: Tensor, labels: Tensor, target: Tensor, lens: Tensor, given: str, bos: int, eos: int
) -> None:
    right_inputs, places = F.pad(target, (1, 0), value=bos), torch.arange(target.shape[1] + 1)
    is_shared = inputs.untyped_storage().data_ptr() == labels.untyped_storage().data_ptr()
    if torch.equal(labels, inputs) and torch.equal(labels, right_inputs):
        hint = "label and input are the same token: what does the decoder learn from that? The loss would be 0"
        raise WrongAnswer("a label is the token that comes next", hint, given=given, got=labels)
    if is_shared and inputs.shape == right_inputs.shape and not torch.equal(inputs, right_inputs):
        hint = "inputs and labels are views of the same tensor: what you write into one is in the other, too"
        raise WrongAnswer(_INPUTS, hint, given=given, expected=right_inputs, got=inputs)
    expect_close(
        inputs,
        right_inputs,
        claim=_INPUTS,
        given=given,
        hint="bos goes in front, and nothing is left out: n + 1 tokens",
        mistakes={
            "the decoder has bos in front; eos is for the labels": F.pad(target, (1, 0), value=eos),
            "eos is an answer of the decoder, not a question to it": right_inputs.masked_fill(
                torch.arange(target.shape[1] + 1) == lens[:, None] + 1, eos
            ),
            "bos and eos are given: other sentences have other numbers for them": (
                F.pad(target, (1, 0), value=10),
                F.pad(target, (1, 0), value=eos - 1),
            ),
            "bos goes in front, not behind": F.pad(target, (0, 1), value=bos),
            "-100 is for the labels: an embedding has no row of that number": (
                right_inputs.masked_fill(places > lens[:, None], _IGNORED),
                right_inputs.masked_fill(places >= lens[:, None], _IGNORED),
            ),
            "the row is taken as it is, padding included: its last tokens count as well": (
                right_inputs.masked_fill(places > lens[:, None], 0),
                right_inputs.masked_fill(places > lens[:, None], eos),
                F.pad(target[:, :-1], (2, 0), value=bos),
            ),
            "first inputs, then labels": _make_labels(target, lens, eos),
        },
    )


def _expect_labels(labels: Tensor, target: Tensor, lens: Tensor, given: str, bos: int, eos: int) -> None:
    right = _make_labels(target, lens, eos)
    places = torch.arange(target.shape[1] + 1)
    hidden = target.masked_fill(places[:-1] >= lens[:, None], _IGNORED)
    early = F.pad(hidden, (0, 1), value=_IGNORED)
    longest = lens.max().expand(len(lens))
    padded = F.pad(target, (0, 1))
    expect_close(
        labels,
        right,
        claim="the labels are the tokens that come next",
        given=given,
        hint="at each place: what comes next? After the last token that counts: eos. Then: -100",
        mistakes={
            "0 may be a real token: only valid_lens knows what is padding": (
                right.masked_fill(right == 0, _IGNORED),
                _make_labels(target, (target != 0).sum(dim=1), eos),
            ),
            "bos and eos are given: other sentences have other numbers for them": (
                _make_labels(target, lens, 11),
                _make_labels(target, lens, bos + 1),
            ),
            "after the last token that counts, which each row has at a place of its own, not at the end of the row": (
                F.pad(hidden, (0, 1), value=eos),
                F.pad(target, (0, 1), value=eos),
                _make_labels(target, longest, eos),
            ),
            "how does the decoder learn where to stop?": right.masked_fill(right == eos, _IGNORED),
            "what does the loss ask at the padding? -100 keeps it quiet": padded.scatter(1, lens[:, None], eos),
            "the *next* token: at place 0 that is the first token of the row": F.pad(
                right[:, 1:], (0, 1), value=_IGNORED
            ),
            "-100 after eos, not eos everywhere": right.where(right >= 0, eos),
            "eos stands behind the last token that counts, not in its place": (
                early.masked_fill(places == lens[:, None] - 1, eos),
                F.pad(target, (0, 1)).masked_fill(places == lens[:, None] - 1, eos),
                _make_labels(target, lens - 1, eos),
            ),
            "how does the decoder learn where to stop, in the longest row, too?": early,
        },
    )


def _make_labels(target: Tensor, lens: Tensor, eos: int) -> Tensor:
    places = torch.arange(target.shape[1] + 1)
    labels = F.pad(target, (0, 1)).masked_fill(places > lens[:, None], _IGNORED)
    return labels.masked_fill(places == lens[:, None], eos)


@checker("cached-attention")
def check_cached_attention(attend_newest: Any) -> str:
    """`attend_newest(x, cache, P, W_q, W_k, W_v)`: causal self-attention token by token, with positions."""
    expect_function(attend_newest)
    for seed, batch, n, d in ((1, 3, 4, 5), (2, 1, 6, 3), (3, 5, 4, 2)):
        shapes = {"X": (batch, n, d), "other": (batch, d), "P": (n + 4, d)}
        (X, other, P), draw = draw_inputs(seed, most=2, **shapes)
        (*W,), draw_weights = draw_inputs(seed, most=1, W_q=(d, d), W_k=(d, d), W_v=(d, d))
        _expect_cached(attend_newest, X, other, P, torch.stack(W), f"{draw}; {draw_weights}")
    return "the same as all at once, at the right positions; old caches stay as they are"


_KEEP = "an old cache must stay as it was: append to a new one (torch.cat), not in place"


def _expect_cached(attend_newest: Any, X: Tensor, other: Tensor, P: Tensor, W: Tensor, given: str) -> None:
    def run(x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        found = attend_newest(x, cache, P, *W)
        output, kept = expect_pair(found, claim="it returns output and cache", hint="return output, cache", given=given)
        expect_unchanged("x", x, x, "x += ... changes the caller's tensor", given=given)
        expect_unchanged("cache", cache, cache, _KEEP, given=given)
        hint = "one output for the newest token of each example"
        output = expect_shape(output, x.shape, claim="the output is (batch, d)", hint=hint, given=given)
        if kept is None:
            raise WrongAnswer("the cache is returned", "None stands for an empty cache: return what is to be kept")
        return output, kept

    cache: Any = None
    outputs, caches = [], []
    for x in X.unbind(dim=1):
        caches.append(cache)
        output, cache = run(x, cache)
        outputs.append(output)
    expect_close(
        torch.stack(outputs, dim=1),
        _attend_at_once(X, P, W),
        claim="one by one gives what causal attention gives on all tokens at once",
        given=f"{given}  # tokens X[:, 0], X[:, 1], ...",
        hint="compare with causal attention on the whole sequence, row by row: scores first",
        mistakes=_list_wrong_outputs(X, P, W),
    )
    output, _ = run(other, caches[2])
    expected = _attend_at_once(torch.cat([X[:, :2], other[:, None]], dim=1), P, W)[:, -1]
    aside = f"{given}  # after all of X, other goes on from the cache of 2 tokens"
    counted = torch.cat([X[:, :2], other[:, None]], dim=1) + P[[0, 1, X.shape[1]]]
    hints = {
        "the position is a matter of this cache: how many tokens are in it, not how often you were called": (
            _attend(counted, counted, counted, W)[:, -1]
        )
    }
    expect_close(output, expected, claim="one can go on from an old cache", given=aside, hint=_KEEP, mistakes=hints)
    again, _ = run(X[:, -1], caches[-1])
    claim, given = "after that, one can go on from the first cache as before", f"{aside}, then X[:, -1] after X[:, -2]"
    expect_close(again, outputs[-1], claim=claim, given=given, hint=_KEEP)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, W: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention of a sequence, causal unless told otherwise."""
    scores = queries @ W[0].T @ (keys @ W[1].T).mT / math.sqrt(queries.shape[2])
    mask = causal_mask(queries.shape[1]) if mask is None else mask
    return F.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num() @ (values @ W[2].T)


def _attend_at_once(X: Tensor, P: Tensor, W: Tensor) -> Tensor:
    """Causal self-attention on a whole sequence that stands at the first positions."""
    placed = X + P[: X.shape[1]]
    return _attend(placed, placed, placed, W)


def _attend_over_batch(X: Tensor, W: Tensor) -> Tensor:
    """A softmax over the examples in place of the keys, which a causal mask leaves alone."""
    scores = X @ W[0].T @ (X @ W[1].T).mT / math.sqrt(X.shape[2])
    return F.softmax(scores, dim=0).tril() @ (X @ W[2].T)


def _list_wrong_outputs(X: Tensor, P: Tensor, W: Tensor) -> dict[str, Tensor | tuple[Tensor, ...]]:
    """What a well-known mistake makes of the sequence, by the hint for it."""
    n = X.shape[1]
    placed = X + P[:n]
    root, places = math.sqrt(X.shape[2]), torch.arange(n)[:, None]
    by_d, unscaled = (torch.stack([W[0] * factor, W[1], W[2]]) for factor in (1 / root, root))
    by_keys = root / torch.arange(1.0, n + 1).sqrt()[:, None]  # the root of the number of keys, not of d
    width = [0, *[X.shape[2]] * (n - 1)]
    one_late, batch_size, of_pair = [0, *range(2, n + 1)], [0, *[len(X)] * (n - 1)], [0, *[2] * (n - 1)]
    again = [X[:, : i + 1] + P[: i + 1] * torch.arange(i + 1, 0, -1.0)[:, None] for i in range(n)]
    return {
        "the newest token does not stand at position 0: how many are in the cache?": _attend_at_once(
            X, P[:1].expand(n, -1), W
        ),
        "add the token's row of P": _attend(X, X, X, W),
        "the first token stands at position 0": _attend_at_once(X, P[1:], W),
        "the second token stands at position 1: how many were there before it?": _attend_at_once(X, P[one_late], W),
        "the position is the number of tokens in the cache, not the batch size": _attend_at_once(X, P[batch_size], W),
        "a pair of keys and values has the length 2: how many tokens are in the cache?": (
            _attend_at_once(X, P[of_pair], W)
        ),
        "the position is the number of keys in the cache, not the width of a key": _attend_at_once(X, P[width], W),
        "the softmax runs over the keys, not over the batch": _attend_over_batch(placed, W),
        "the root of d, not d": _attend_at_once(X, P, by_d),
        "the root of d, not of the number of keys": _attend(placed * by_keys, placed, placed, W),
        "the softmax runs over the keys: its weights add up to 1": (placed @ W[2].T).cumsum(dim=1),
        "add the row of P once": _attend_at_once(X, 2 * P, W),
        "divide the scores by the root of d": _attend_at_once(X, P, unscaled),
        "the newest token sees the cache as well": placed @ W[2].T,
        "the newest token sees itself, too: append first, then ask": (
            _attend(placed, placed, placed, W, causal_mask(n).tril(-1)),
            _attend(placed, placed, placed, W, causal_mask(n).tril(-1) | (torch.arange(n) + places == 0)),
        ),
        "x @ W.T, not x @ W": _attend_at_once(X, P, W.mT),
        "values have a projection of their own": _attend_at_once(X, P, W[[0, 1, 1]]),
        "a token's position is added once, when it comes": torch.stack(
            [_attend(tokens, tokens, tokens, W)[:, -1] for tokens in again], dim=1
        ),
        "keys and values have their positions, too": _attend(placed, X, X, W),
        "values have their positions, too": _attend(placed, placed, X, W),
    }
