"""A sentence in one vector: the memory of a decoder, squeezed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import Mistakes, checker, expect_close, expect_function, expect_shape, expect_unchanged
from d2lmini_exercises.gradients import expect_gradients
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.prediction import Number, prediction


@checker("squeeze", trained=True)
def check_squeeze(squeeze: Any) -> str:
    """`squeeze(memory, valid_lens)`: the mean of the real tokens, as a memory of one token."""
    expect_function(squeeze)
    for seed, shape, counts in ((1, (3, 5, 4), (3, 5, 2)), (2, (2, 7, 3), (1, 4)), (4, (4, 3, 6), (2, 1, 3, 2))):
        (memory,), draw = draw_inputs(seed, most=9, memory=shape)
        given = f"{draw}; valid_lens = torch.tensor({list(counts)})"
        memory[0, 0] = 0.0  # a real token of zeros
        _expect_mean(squeeze, memory, torch.tensor(counts), f"{given}; memory[0, 0] = 0")
    lens = torch.tensor([4, 2])
    (spoiled,), draw = draw_inputs(3, most=9, memory=(2, 5, 3))
    right, code = _average(spoiled, lens), f"{draw}; valid_lens = torch.tensor([4, 2])"
    expect_gradients(lambda X: squeeze(X, lens), lambda X: _average(X, lens), given=code, memory=spoiled)
    for value, name, hint in (
        (1e30, "1e30", "what stands at the padding has a weight of 0, no small one, and is never added and taken away"),
        (torch.nan, "torch.nan", "0 times NaN is NaN: masked_fill, or a slice"),
    ):
        spoiled[0, 4:], spoiled[1, 2:] = value, value
        expect_close(
            squeeze(spoiled, lens),
            right,
            claim="whatever stands at the padding does not count",
            given=f"{code}; memory[0, 4:] = memory[1, 2:] = {name}",
            hint=hint,
        )
    return "one vector for each sentence, the mean of its real tokens; padding counts in no way; gradients too"


def _expect_mean(squeeze: Any, memory: Tensor, lens: Tensor, given: str) -> None:
    shape = (len(memory), 1, memory.shape[2])
    claim = "it returns one vector for each sentence, (batch, 1, d)"
    hint = "the decoder takes it as a memory of one token: batch, tokens and features stay three dimensions"
    found = expect_shape(squeeze(memory, lens), shape, claim=claim, hint=hint, given=given)
    expect_unchanged("memory", memory, memory, "memory[...] = 0 changes the caller's tensor", given=given)
    expect_close(
        found,
        _average(memory, lens),
        claim="it is the mean of the first valid_lens[i] tokens of each sentence",
        given=given,
        hint="for the shortest sentence alone: which tokens are real, what is their sum, and by what is it divided?",
        mistakes={**_list_wrong_sums(memory, lens), **_list_wrong_tokens(memory, lens)},
    )


def _average(memory: Tensor, lens: Tensor) -> Tensor:
    return _add(memory, lens) / lens[:, None, None]


def _add(memory: Tensor, lens: Tensor) -> Tensor:
    hidden = torch.arange(memory.shape[1]) >= lens[:, None]
    return memory.masked_fill(hidden[..., None], 0.0).sum(dim=1, keepdim=True)


def _list_wrong_sums(memory: Tensor, lens: Tensor) -> Mistakes:
    n, total = memory.shape[1], _add(memory, lens)
    everything = memory.sum(dim=1, keepdim=True)
    hidden = (torch.arange(n) >= lens[:, None])[..., None]
    is_word = (memory != 0).any(dim=2, keepdim=True)
    words, real_words = (found.sum(dim=1, keepdim=True) for found in (is_word, is_word & ~hidden))
    return {
        "padding is no token: which rows of the memory are real?": everything / n,
        "the sum is right: how many tokens are in it?": (
            total / n,
            total / lens.max(),
            total / lens.float().mean(),
            total / (lens + 1)[:, None, None],
            total / (lens - 1)[:, None, None],
        ),
        "the number is right: which tokens belong to the sum?": everything / lens[:, None, None],
        "the mean is wanted, not the sum": total,
        "the mean is wanted, not the largest": memory.masked_fill(hidden, -torch.inf).amax(dim=1, keepdim=True),
        "the mean is wanted, not the median": torch.stack(
            [row[:length].median(dim=0).values[None] for row, length in zip(memory, lens, strict=True)]
        ),
        "a real token may be zero: only valid_lens knows what is padding": (
            everything / words,
            total / words,
            total / real_words,
        ),
    }


def _list_wrong_tokens(memory: Tensor, lens: Tensor) -> Mistakes:
    """Means of other tokens, by the hint for them."""
    n, total = memory.shape[1], _add(memory, lens)
    everything = memory.sum(dim=1, keepdim=True)
    rows = torch.arange(len(memory))
    return {
        "one token is not the sentence: all of its real tokens count": (memory[:, :1], memory[rows, lens - 1][:, None]),
        "each sentence has a length of its own": (
            memory[:, : lens[0]].mean(dim=1, keepdim=True),
            memory[:, : lens.min()].mean(dim=1, keepdim=True),
            memory[:, : lens.max()].mean(dim=1, keepdim=True),
            memory[:, : lens[-1]].mean(dim=1, keepdim=True),
        ),
        "each sentence has a vector of its own": (
            (total.sum(dim=0, keepdim=True) / lens.sum()).expand_as(total),
            _average(memory, lens).mean(dim=0, keepdim=True).expand_as(total),
        ),
        "the padding stands behind": torch.stack(
            [row[n - length :].mean(dim=0, keepdim=True) for row, length in zip(memory, lens, strict=True)]
        ),
        "those are the tokens of the padding": (everything - total) / (n - lens)[:, None, None],
        "the first valid_lens[i] tokens are real: count them": (
            _average(memory, lens + 1),
            _average(memory, lens - 1),
        ),
    }


# With one key, each weight of cross-attention is 1, whatever the query.
prediction(
    "use-squeeze",
    Number(
        "the number of vectors",
        1,
        hint="a softmax over one score: which weight can it give?",
        mistakes={
            "eleven queries: but what can a query change if there is one key?": 11,
            "a query chooses among keys: among how many?": 10,
            "what is brought is the value of the one key, projected: that is a vector, too": 0,
            "whether the step is the first or a later one is known to the query alone": 2,
        },
    ),
    right="one: whatever a step asks, the answer is the same",
)
