"""Twins: two heads of which one can do the other's work."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import WrongAnswer
from d2lmini_exercises.engine import Case, exercise
from d2lmini_exercises.prediction import Number, prediction
from d2lmini_exercises.what_heads_learn.pruning import Loss, look, loss_without, read_heads


def every(num_heads: int) -> list[tuple[int, int]]:
    return [*combinations(range(num_heads), 2)]


def find(
    loss: Loss, num_heads: int,
    *, excess: Callable[[float, float, float], float] = lambda both, a, b: both - a - b, best: Any = max,
    skip: Callable[[int, int, int], bool] = lambda i, j, n: False,
    off: Callable[[int, int], tuple[int, ...]] = lambda i, j: (i, j),
    start: float = -float("inf"), nothing: tuple[int, int] = (0, 1),
) -> tuple[int, int]:  # fmt: skip
    """The twins, right unless told otherwise: the best pair of those that are not skipped, if beyond `start`."""
    cost = {
        some: loss_without(loss, num_heads, some) - loss_without(loss, num_heads, ())
        for some in (*((i,) for i in range(num_heads)), *(off(i, j) for i, j in every(num_heads)))
    }
    found = {(i, j): excess(cost[off(i, j)], cost[i,], cost[j,]) for i, j in every(num_heads)}
    pairs = [pair for pair in found if not skip(*pair, num_heads)] or [*found]
    pair: tuple[int, int] = best(pairs, key=found.__getitem__)
    return pair if found[pair] > start else nothing


def use(answer: Any, loss: Loss, num_heads: int) -> Tensor:
    """The pair that an answer finds, the smaller number first."""
    found = answer(look(loss, num_heads), num_heads)
    heads = read_heads(found)
    hint = ""
    if found is None:
        hint = "a pair is returned in any case: no difference needs to be positive, the largest one counts"
    elif heads is None or len(heads) != 2:
        hint = "return i, j"
    elif heads[0] == heads[1]:
        hint = "a head is no twin of itself"
    elif not 0 <= min(heads) < max(heads) < num_heads:
        hint = "the heads have the numbers 0 to num_heads - 1"
    if heads is None or hint:
        raise WrongAnswer("it returns two heads", hint, got=found)
    return torch.tensor(sorted(heads))


def bound(cost: float) -> float:
    return max(0.0, cost)


LOSSES = (
    "5 * (1 - g[0]) + 4 * (1 - g[1]) + 1 - max(g[2], g[3]) + 3 * (1 - g[4] * g[5])",
    # 1 and 2 are the twins if some pairs are left out, and for no other reason
    "2 * (1 - max(g[0], g[5])) + 6 * (2 - g[0] - g[5]) + 1 - max(g[1], g[2]) + 4 * (1 - g[1]) + 5 * (1 - g[2])",
    "5 * (1 - max(g[0], g[1], g[2])) + 2 * (1 - max(g[3], g[4])) + 1 - g[0]",  # of 0, 1 and 2 one is enough
    "6 * (1 - g[0] * g[1]) + 2 * (1 - max(g[2], g[3]))",
    # 0 and 1 are small exact twins, 2 and 3 large ones that stand in for each other only in part
    "0.1 * (1 - max(g[0], g[1])) + 8 * (1 - max(g[2], g[3])) + 3 * (2 - g[2] - g[3])",
    # 0 and 1 stand in for each other, and each has much to do besides; 2 and 3 are small twins
    "6 * (1 - max(g[0], g[1])) + 9 * (1 - g[0]) + 5 * (1 - g[1]) + 3 * (1 - max(g[2], g[3])) + 20 * (1 - g[4])",
    "0.5 + 2 * (1 - max(g[0], g[3])) + 3 * (1 - g[1])",
    "0.5 + 1 - max(g[0], g[1]) + 1.5 * (1 - max(g[2], g[5])) + 3 * (1 - g[3])",
    "1 - max(g[0], g[1])",
    "1 - max(g[0], g[1]) + 3 * g[2]",  # removing head 2 helps
    "max(g[0], g[1]) + 0.5 * (1 - max(g[2], g[3]))",  # removing 0 and 1 together helps
    "[1, -2, -1, -2, 3, -3, 1, 3][int(4 * g[0] + 2 * g[1] + g[2])]",
    # no difference is positive, whichever pair a search begins with and however low
    "1e7 * (1 - g[0] * g[1]) + 1e7 * (1 - g[0] * g[2]) + 2e6 * (1 - g[1] * g[2])",
    "1e7 * (1 - g[0] * g[1]) + 2e6 * (1 - g[0] * g[2]) + 1e7 * (1 - g[1] * g[2])",
    "1 - g[0] * g[1]",
    # removing 0 or 1 alone helps
    "3 * g[0] + 3 * g[1] - 5 * max(g[0], g[1]) + 0.5 * (1 - max(g[2], g[3])) + 10",
    # head 2 has two lesser twins
    "3 * (1 - max(g[0], g[1])) + 2 * (1 - max(g[2], g[3])) + 2 * (1 - max(g[2], g[4]))",
    "2 * (1 - g[0] * g[1]) + 2 * (1 - g[0] * g[2]) + 0.5 * (1 - g[1] * g[2])",
    "4 * (1 - g[0]) + 2 * (1 - max(g[3], g[9])) + 1 - max(g[1], g[2])",  # more heads than a model of the chapter
)
SIZES = (6, 6, 5, 4, 4, 5, 4, 6, 2, 3, 4, 3, 3, 3, 2, 4, 5, 3, 10)
exercise(
    "find-twins",
    find,
    tuple(Case(f"num_heads = {n}; loss = lambda g: {code}") for code, n in zip(LOSSES, SIZES, strict=True)),
    {
        "no difference is positive here: the largest one counts all the same, the one that is least below 0": (
            *({"start": -start, "nothing": pair} for start in (0, 1, 10, 100, 1e6) for pair in ((0, 1), (1, 2))),
            {"excess": lambda both, a, b: bound(both - a - b)},
        ),
        "a removal may help: its cost is then negative. Keep the sign": tuple(
            {"excess": lambda both, a, b, whole=whole, cut=cut: whole(both) - cut(a) - cut(b)}
            for cut in (abs, bound) for whole in (cut, float)
        ),
        "these two cost less together than the sum: the right difference, but the wrong end of it": (
            {"best": min}, {"excess": lambda both, a, b: abs(both - a - b)}
        ),
        "of these two the ratio is largest; a difference counts: cost of both minus the single costs, each once": tuple(
            {"excess": lambda both, a, b, eps=eps: both / (a + b + eps)} for eps in (1e-6, 1e-9)
        ),
        "these two cost most together, as heads with different tasks may: what do they cost beyond the sum?": {
            "excess": lambda both, a, b: both
        },
        "begin with the whole model, where all gates are 1, and remove": lambda loss, n: find(lambda g: loss(1 - g), n),
        "two differences may differ by less than 1: do you round them?": tuple(
            {"excess": lambda both, a, b, cut=cut: cut(both - a - b)} for cut in (round, int)
        ),
        "the first and the last head count, too, and twins need not be neighbours: which pairs do you try?": (
            {"skip": lambda i, j, n: i == 0}, {"skip": lambda i, j, n: j == n - 1}, {"skip": lambda i, j, n: j > i + 1}
        ),
        "open the gates again before you close those of the next pair": {"off": lambda i, j: (*range(i, j + 1),)},
        "these two cost least together; what is left beyond the single costs, each once?": {
            "best": min, "excess": lambda both, a, b: both
        },
    },
    claim="the removal of both costs most beyond the sum",
    verified="the two heads that can stand in for each other, not the two that cost most",
    hint="cost of both, minus cost of the first alone, minus cost of the second alone; the largest one",
    use=use,
)  # fmt: skip

prediction(
    "use-twins",
    Number(
        "the number of models",
        3,
        hint="take the twins of each model; for each of the two, find the question on whose place it looks",
        mistakes={
            "print the shares of the two heads: where does each of them look?": (0, 1, 2),
            "there are three models": (6, 8),
        },
    ),
    right="in all three models the twins look for one answer, so one can do the other's work",
)
