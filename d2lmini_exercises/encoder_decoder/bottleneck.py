"""What a decoder computes and keeps, counted; and its memory, squeezed into one vector."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.prediction import Number, prediction


def squeeze(
    memory: Tensor, valid_lens: Tensor,
    *, real: Any = lambda places, lens, memory: places < lens, divide: Any = lambda lens, memory: lens,
    pool: Any = lambda tokens, count: tokens.sum(1, keepdim=True) / count,
) -> Tensor:  # fmt: skip
    """The mean of the real tokens, as a memory of one token, right unless told otherwise."""
    lens = valid_lens[:, None, None]
    seen = real(torch.arange(memory.shape[1])[:, None], lens, memory)  # (b, n, 1)
    return pool(memory.where(seen, 0.0), divide(lens, memory))


def squeeze_rows(pool: Any) -> Any:
    """Each sentence by itself."""
    return lambda memory, lens: torch.stack([pool(row, n)[None] for row, n in zip(memory, lens.tolist(), strict=True)])


def see_all(places: Tensor, lens: Tensor, memory: Tensor) -> Tensor:
    return lens > 0


def count_words(lens: Tensor, memory: Tensor) -> Tensor:
    return (memory != 0).any(dim=2, keepdim=True).sum(dim=1, keepdim=True)


def count_real_words(lens: Tensor, memory: Tensor) -> Tensor:
    return count_words(lens, memory.where(torch.arange(memory.shape[1])[:, None] < lens, 0.0))


_SPOILED = f"{draw(3, most=9, memory=(2, 5, 3))}; valid_lens = torch.tensor([4, 2])"
_NAN = "0 times NaN is NaN: masked_fill, or a slice"
_CLAIM = "whatever stands at the padding does not count"
exercise(
    "squeeze",
    squeeze,
    (
        *(
            Case(f"{draw(seed, most=9, memory=shape)}; valid_lens = torch.tensor({lens}); memory[0, 0] = 0")
            for seed, shape, lens in ((1, (3, 5, 4), [3, 5, 2]), (2, (2, 7, 3), [1, 4]), (4, (4, 3, 6), [2, 1, 3, 2]))
        ),
        Case(
            f"{_SPOILED}; memory[0, 4:] = memory[1, 2:] = 1e30",
            "what stands at the padding has a weight of 0, no small one, and is never added and taken away",
            _CLAIM,
        ),
        Case(f"{_SPOILED}; memory[0, 4:] = memory[1, 2:] = torch.nan", _NAN, _CLAIM),
    ),
    {
        "padding is no token: which rows of the memory are real?": {
            "real": see_all, "divide": lambda lens, memory: memory.shape[1]
        },
        "the sum is right: how many tokens are in it?": tuple(
            {"divide": divide}
            for divide in (
                lambda lens, memory: memory.shape[1],
                lambda lens, memory: lens.max(),
                lambda lens, memory: lens.float().mean(),
                lambda lens, memory: lens + 1,
                lambda lens, memory: lens - 1,
            )
        ),
        "the number is right: which tokens belong to the sum?": {"real": see_all},
        "the mean is wanted, not the sum": {"divide": lambda lens, memory: 1},
        "the mean is wanted, not the largest": squeeze_rows(lambda row, n: row[:n].amax(dim=0)),
        "the mean is wanted, not the median": squeeze_rows(lambda row, n: row[:n].median(dim=0).values),
        "a real token may be zero: only valid_lens knows what is padding": (
            {"real": see_all, "divide": count_words}, {"divide": count_words}, {"divide": count_real_words}
        ),
        "one token is not the sentence: all of its real tokens count": (
            squeeze_rows(lambda row, n: row[0]), squeeze_rows(lambda row, n: row[n - 1])
        ),
        "each sentence has a length of its own": tuple(
            lambda memory, lens, choose=choose: squeeze(memory, choose(lens).expand_as(lens))
            for choose in (lambda lens: lens[0], torch.min, lambda lens: lens[-1])
        ),
        "each sentence has a vector of its own": (
            {"pool": lambda tokens, count: (tokens.sum((0, 1)) / count.sum()).expand_as(tokens[:, :1])},
            {"pool": lambda tokens, count: (tokens.sum(1) / count[:, 0]).mean(0).expand_as(tokens[:, :1])},
        ),
        "the padding stands behind": squeeze_rows(lambda row, n: row[len(row) - n :].mean(dim=0)),
        "those are the tokens of the padding": squeeze_rows(lambda row, n: row[n:].mean(dim=0)),
        "the first valid_lens[i] tokens are real: count them": (
            lambda memory, lens: squeeze(memory, lens + 1), lambda memory, lens: squeeze(memory, lens - 1)
        ),
        "the decoder takes it as a memory of one token: batch, tokens and features stay three dimensions": (
            lambda memory, lens: squeeze(memory, lens)[:, 0],
            lambda memory, lens: squeeze(memory, lens).expand_as(memory),
            lambda memory, lens: squeeze(memory, lens).mT,
        ),
    },
    claim="it is the mean of the first valid_lens[i] tokens of each sentence",
    verified="one vector for each sentence, the mean of its real tokens; padding counts in no way; gradients too",
    hint="for the shortest sentence alone: which tokens are real, what is their sum, and by what is it divided?",
    trained=True,
)  # fmt: skip

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

# Weights of cross-attention, numbers in a key-value cache.
prediction(
    "predict-decoder",
    Number(
        "(a)",
        35,
        hint="a row for each query, a column for each key: who asks, and who is asked?",
        mistakes={
            "the keys come from the encoder: how wide is the matrix?": 25,
            "the queries come from the decoder: how many rows has the matrix?": 49,
            "what is hidden by a causal mask? The source sentence is known from the beginning": 15,
            "each query has a weight for each key": 12,
            "one block, not both": 70,
        },
    ),
    Number(
        "(b)",
        3072,
        hint="how many vectors are kept for each token, in each block? And which tokens are there?",
        mistakes={
            "a key and a value, in each of the two blocks: what did you leave out?": 1536,
            "a key and a value, in each of the two blocks": 768,
            "the memory has keys and values, too, and they are kept": 1280,
            "those of the decoder's own tokens are kept, too": 1792,
            "<bos> is one of the five tokens": 3328,
            "<bos> has a key and a value, too": 2816,
            "nobody asks an old query again: it is not kept": 4608,
            "each key and each value is a vector of 64 numbers": 48,
        },
    ),
    right="35 and 3072: both are right",
)
