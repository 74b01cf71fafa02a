"""What a decoder is trained on: inputs and labels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import (
    Mistakes,
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_pair,
    expect_unchanged,
)

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
    right_inputs = F.pad(target, (1, 0), value=bos)
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
        mistakes=_list_wrong_inputs(target, lens, bos, eos),
    )


def _list_wrong_inputs(target: Tensor, lens: Tensor, bos: int, eos: int) -> Mistakes:
    right_inputs, places = F.pad(target, (1, 0), value=bos), torch.arange(target.shape[1] + 1)
    return {
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
        "the row is taken as it is, padding included: nothing is changed in it": (
            right_inputs.masked_fill(places > lens[:, None], 0),
            right_inputs.masked_fill(places > lens[:, None], eos),
            F.pad(target[:, :-1], (2, 0), value=bos),
        ),
        "first inputs, then labels": _make_labels(target, lens, eos),
    }


def _expect_labels(labels: Tensor, target: Tensor, lens: Tensor, given: str, bos: int, eos: int) -> None:
    expect_close(
        labels,
        _make_labels(target, lens, eos),
        claim="the labels are the tokens that come next",
        given=given,
        hint="at each place: what comes next? After the last token that counts: eos. Then: -100",
        mistakes=_list_wrong_labels(target, lens, bos, eos),
    )


def _list_wrong_labels(target: Tensor, lens: Tensor, bos: int, eos: int) -> Mistakes:
    right = _make_labels(target, lens, eos)
    places = torch.arange(target.shape[1] + 1)
    hidden = target.masked_fill(places[:-1] >= lens[:, None], _IGNORED)
    early = F.pad(hidden, (0, 1), value=_IGNORED)
    longest = lens.max().expand(len(lens))
    padded = F.pad(target, (0, 1))
    return {
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
        "the *next* token: at place 0 that is the first token of the row": F.pad(right[:, 1:], (0, 1), value=_IGNORED),
        "-100 after eos, not eos everywhere": right.where(right >= 0, eos),
        "eos stands behind the last token that counts, not in its place": (
            early.masked_fill(places == lens[:, None] - 1, eos),
            F.pad(target, (0, 1)).masked_fill(places == lens[:, None] - 1, eos),
            _make_labels(target, lens - 1, eos),
        ),
        "how does the decoder learn where to stop, in the longest row, too?": early,
    }


def _make_labels(target: Tensor, lens: Tensor, eos: int) -> Tensor:
    places = torch.arange(target.shape[1] + 1)
    labels = F.pad(target, (0, 1)).masked_fill(places > lens[:, None], _IGNORED)
    return labels.masked_fill(places == lens[:, None], eos)
