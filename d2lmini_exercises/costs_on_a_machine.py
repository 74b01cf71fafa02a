"""Checkers of the chapter "What a machine makes of it"."""

import math

from d2lmini_exercises.engine import Number, Task, list_in_order, prediction


def fill(bytes_per_pair: float) -> float:
    """The length at which so many bytes for each pair of tokens are 24 GiB."""
    return math.sqrt(24 * 2**30 / bytes_per_pair)


# Sixteen heads that store float32 in 24 GiB; the cache of 32 layers of width 4096 for 8192 tokens, 2 bytes each.
prediction(
    "predict-memory",
    {
        Number(
            "the length", fill(3 * 16 * 4), "how many bytes does one pair of tokens take, in all heads?", tolerance=10
        ): {
            "that is what is kept: how many matrices are there at the peak?": fill(16 * 4),
            "that is the peak of the forward pass: the backward pass needs one more": fill(2 * 16 * 4),
            "that is one head: there are 16": fill(3 * 4),
            "a number in float32 has 4 bytes": fill(3 * 16),
            "a GiB is 2 to the power of 30 bytes": math.sqrt(24e9 / 192),
            "the bytes grow with the square of the length: take the root": 24 * 2**30 / 192,
        },
        Number("the cache", 4.0, "keys and values, layers, tokens, width, bytes: multiply them"): {
            "keys and values are kept, not one of the two": 2.0,
            "a number has 2 bytes here": (8.0, 16.0),
            "there are 32 layers, each with a cache of its own": 1 / 8,
        },
    },
    right="11585 tokens, and 4 GiB for each text that is written",
)

list_in_order(
    "What a machine makes of it",
    Task(
        "Exercise 12.1",
        "predict-memory",
        "how many numbers are there for each pair of tokens, and how many for each token?",
        '"What must fit into memory" and "Writing, one token at a time"',
    ),
)
