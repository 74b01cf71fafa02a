"""Checkers of the chapter "What a machine makes of it"."""

import math
from collections.abc import Callable

from d2lmini_exercises.engine import Case, Number, Task, exercise, list_in_order, prediction


def fill(matrices: int, heads: int = 16, size: int = 4, memory: float = 80 * 2**30) -> float:
    """The length at which so many matrices for each head fill the memory."""
    return math.sqrt(memory / (matrices * heads * size))


HEADS = "keys and values, layers, heads of keys, numbers, tokens, bytes: multiply them"
prediction(
    "predict-memory",
    {
        Number("the length", fill(26), "how many bytes does one pair of tokens take, in all heads?", tolerance=10): {
            "that is what is kept: how much more is there at the peak?": fill(24),
            "that is the peak of the forward pass: the backward pass needs one more": fill(25),
            "in a stack only what is kept adds up: each layer does not have the peak for itself": fill(3 * 24),
            "that is one layer: there are 24": fill(3),
            "that is one head: there are 16": fill(26, heads=1),
            "a number in float32 has 4 bytes": fill(26, size=1),
            "a GiB is 2 to the power of 30 bytes": fill(26, memory=80e9),
            "the bytes grow with the square of the length: take the root": fill(26) ** 2,
        },
        **{
            Number(name, right, HEADS): {
                "keys and values are kept, not one of the two": right / 2,
                "a number has 2 bytes here": (2 * right, right / 4),
                "a GiB is 2 to the power of 30 bytes": right * 2**30 / 1e9,
                "there are 80 layers, each with a cache of its own": right / 80,
            }
            for name, right in (("the cache with 8 heads of keys", 2.5), ("the cache with 64 heads of keys", 20.0))
        },
    },
    right="7184 tokens, and 2.5 GiB for each text that is written where 64 heads of keys would keep 20",
)

prediction(
    "predict-decoding",
    {
        Number("the speed of one text", 1e3 / 7, "how long does it take to fetch all weights once?", tolerance=1): {
            "a weight has 2 bytes": 2e3 / 7,
            "that is the time of the arithmetic: which of the two takes longer?": 4e5 / 14,
            "that is milliseconds for a token, not tokens per second": 7.0,
        },
        Number("the number of texts", 200.0, "at which intensity has the roof its edge?"): {
            "a weight serves a multiplication and an addition: that is 2 FLOPs for its 2 bytes": (100.0, 400.0),
        },
        Number(
            "the number of texts with 4 bits", 50.0, "how many FLOPs does a byte of weights serve, for each text?"
        ): {
            "the intensity depends on the bytes of a weight: it has half a byte now": (200.0, 100.0),
            "fewer bytes are fetched sooner, so fewer texts are enough": 800.0,
        },
    },
    right="at best 143 tokens a second for one text; 200 texts keep the arithmetic busy, or 50 if weights have 4 bits",
)


def find_batch(
    flops: float,
    weights: float,
    cache: float,
    peak: float,
    bandwidth: float,
    *,
    per_text: float = 1,
    once: float = 0,
    turn: Callable[[float], float] = math.ceil,
    always: bool = False,
) -> float:
    """The fewest texts whose operations take at least as long as what is fetched, right unless told otherwise."""
    gain = flops / peak - per_text * cache / bandwidth
    if gain == 0 or (gain < 0 and not always):
        return math.inf
    return turn((weights + once * cache) / bandwidth / gain)


def give(*numbers: float) -> str:
    """The line that defines the five numbers."""
    return f"flops, weights, cache, peak, bandwidth = {', '.join(f'{number:g}' for number in numbers)}"


NEVER = "each text brings its cache: what if that takes longer to fetch than its operations take?"
exercise(
    "find-batch",
    find_batch,
    (
        give(2, 1000, 0, 8, 1),
        give(4, 1001, 3, 16, 32),
        Case(give(8, 100, 16, 32, 128), "compare the times of one text first", "it is a whole number"),
        Case(give(2, 1000, 64, 8, 64), NEVER, "no number of texts is enough"),
        Case(give(2, 1000, 16, 8, 64), NEVER, "no number of texts is enough"),
        Case(give(64, 16, 0, 8, 32), "one text may be enough", "one text is enough"),
        Case(give(2, 200000, 0, 8, 1), "does a search end too soon? Solve for b", "it may take very many texts"),
    ),
    {
        "each text has a cache of its own, and all of them are fetched": ({"per_text": 0}, {"per_text": 0, "once": 1}),
        "it must be enough: a number of texts is whole, so which way is it rounded?": (
            {"turn": math.floor},
            {"turn": round},
            {"turn": float},
        ),
        "where both take equally long it is enough": {"turn": lambda number: math.floor(number) + 1},
        "a negative number of texts means that no number is enough: then return math.inf": {"always": True},
        "the weights are fetched once for all texts": lambda flops, weights, cache, peak, bandwidth: (
            1 if flops / peak >= (weights + cache) / bandwidth else math.inf
        ),
        "operations are done at the peak, and bytes come at the bandwidth: are they exchanged?": (
            lambda flops, weights, cache, peak, bandwidth: find_batch(flops, weights, cache, bandwidth, peak)
        ),
    },
    claim="it is the fewest texts whose operations take at least as long as their bytes",
    verified="right with caches and without, and where no number of texts is enough",
    hint="write down both times for b texts, and ask when the first is at least the second",
)

list_in_order(
    "What a machine makes of it",
    Task(
        "Exercise 13.1",
        "predict-memory",
        "how many matrices does a pair of tokens need in a stack, and how many numbers does a token leave in a cache?",
        '"What must fit into memory" and "A cache for each text"',
    ),
    Task(
        "Exercise 13.2",
        "predict-decoding",
        "what is fetched in one pass, and how often is each byte of it used?",
        '"Two speeds" and "Reading a prompt, writing an answer"',
    ),
    Task(
        "Exercise 13.3",
        "find-batch",
        "how long do the operations of b texts take, and how long the bytes?",
        '"Two speeds" and "A cache for each text"',
    ),
)
