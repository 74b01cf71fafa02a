"""Which heads can go, and what two that do the same thing are worth."""

import itertools
import math
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import Case, WrongAnswer, exercise

Loss = Callable[[Any], Any]
_MOST = 100  # heads that are read


def look(loss: Loss, num_heads: int) -> Loss:
    """The loss for gates that are 1 or 0, of any dtype, as a tensor of one number; it looks at what it is given."""

    def measure(gates: Any) -> Tensor:
        shape = tuple(gates.shape) if hasattr(gates, "shape") else (len(gates),)
        if shape != (num_heads,):
            hint = "a gate for each head: num_heads gates, whatever num_heads is"
            raise WrongAnswer("loss is given gates (num_heads,)", hint, expected=(num_heads,), got=shape)
        numbers = tuple(float(gate) for gate in gates)
        if not {*numbers} <= {0.0, 1.0}:
            hint = "1 leaves a head as it is, 0 removes a head: nothing between them, nothing beyond"
            raise WrongAnswer("each gate is 0 or 1", hint, got=[*numbers])
        return torch.tensor(loss(numbers), dtype=torch.float64)

    return measure


def loss_without(loss: Loss, num_heads: int, off: Iterable[int]) -> float:
    gates = torch.ones(num_heads)
    gates[[*off]] = 0
    return float(loss(gates))


def read_heads(found: Any) -> list[int] | None:
    """The heads that an answer names, whatever holds them; `None` if it names something else."""
    if isinstance(found, Tensor):
        found = found[:_MOST].tolist() if found.dim() == 1 else None
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        return None
    heads = [head.item() if hasattr(head, "item") else head for head in itertools.islice(found, _MOST)]
    if not all(isinstance(head, (int, float)) and float(head).is_integer() for head in heads):
        return None
    return [int(head) for head in heads]


def prune(
    loss: Loss,
    num_heads: int,
    keep: int,
    *,
    change: Callable[[float], float] = float,
    start: float = math.inf,
    index: int = 0,
    fresh: bool = True,
    reopen: bool = False,
) -> list[int]:
    """The heads that stay, right unless told otherwise.

    Each round looks for the smallest loss below `start`, or, if it is not `fresh`, below that of the last round; where
    it finds none, the head at this index goes.
    """
    left, least = [*range(num_heads)], start
    while len(left) > keep:
        least, goes = start if fresh else least, left[index]
        for head in left:
            gone = {*range(num_heads)} - {*left}
            found = change(loss_without(loss, num_heads, [head] if reopen else [*gone, head]))
            if found < least:
                least, goes = found, head
        left.remove(goes)
    return left


def prune_forward(loss: Loss, num_heads: int, keep: int) -> list[int]:
    left = [*range(num_heads)]
    while len(left) > num_heads - keep:
        left.remove(min(left, key=lambda head: loss_without(loss, num_heads, {*left} - {head})))
    return sorted({*range(num_heads)} - {*left})


def prune_best(loss: Loss, num_heads: int, keep: int) -> list[int]:
    every = itertools.combinations(range(num_heads), keep)
    return [*min(every, key=lambda stay: loss_without(loss, num_heads, {*range(num_heads)} - {*stay}))]


def use(answer: Any, loss: Loss, num_heads: int, keep: int) -> Tensor:
    """The heads that an answer keeps."""
    found = answer(look(loss, num_heads), num_heads, keep)
    heads = read_heads(found)
    if heads is None or isinstance(found, (set, frozenset)):  # a set has no order
        raise WrongAnswer("it returns the heads that are left", "return a list", got=found)
    if heads != sorted(heads):
        raise WrongAnswer("they come in increasing order", "sort them", got=heads)
    return torch.tensor(heads)


TWINS = (  # the second of the twins 2 and 4 is worth a little more
    "0.5 + 5 * (1 - max(g[2], g[4])) + 3 * (1 - g[0]) + 4 * (1 - g[1]) + 0.5 * (1 - g[3]) + 3.5 * (1 - g[5]) "
    "- 0.01 * g[4]"
)
LOSSES: tuple[tuple[str, int, int], ...] = (
    (TWINS, 6, 4),
    (TWINS, 6, 6),
    # neither the first head nor the last one goes first, nor the one that takes the place of 1
    ("2e7 - 5e6 * g[0] - 1e4 * g[1] - 4e6 * g[2] - 3e6 * g[3]", 4, 2),
    (TWINS, 6, 1),
    ("0.05 - 0.01 * g[0] - 0.02 * g[1] + 0.03 * g[2]", 3, 2),  # head 2 does harm
    # head 0 alone is better than 1 or 2 alone, but it is the one that is missed least while both are there
    ("9 - 4.1 * g[1] - 4 * g[2] - g[0] * (5 - 3 * (g[1] + g[2]) + 1.1 * g[1] * g[2])", 3, 1),
    ("7 - g[0] - 4 * g[1] * g[2] - g[3] - g[4] / 2", 5, 2),  # 1 and 2 are worth 4 together and nothing alone
    (TWINS, 6, 5),
    ("g[0]", 1, 1),
    (TWINS, 6, 0),
    ("2 - 4 * g[0] - 3 * g[1] - g[2]", 3, 2),  # a score below 0 is a loss as well
    ("60 - sum((10 - i) * g[i] for i in range(10))", 10, 9),  # more heads than the models of the chapter have
)
FEW = "keep heads are to be left: how often does your loop run?"
exercise(
    "prune-carefully",
    prune,
    tuple(Case(f"num_heads, keep = {n}, {keep}; loss = lambda g: {code}") for code, n, keep in LOSSES),
    {
        "return the heads that stay, not those that go": lambda loss, n, keep: sorted(
            {*range(n)} - {*prune(loss, n, keep)}
        ),
        FEW: tuple(lambda loss, n, keep, by=by: prune(loss, n, max(keep + by, 0)) for by in (-1, 1)),
        "does each round begin with a fresh comparison? Its losses may all be larger than those of the last one": tuple(
            {"fresh": False, "index": index} for index in (0, 1, -1)
        ),
        "is each choice made afresh? After one twin has gone, how important is the other?": {"reopen": True},
        "those are the least missed ones: they go, the others stay": (
            {"change": lambda loss: -loss},
            {"change": lambda loss: -loss, "reopen": True},
        ),
        "losses may be as large as you like: what is the first of them compared with?": (
            *({"start": start, "index": index} for start in (10, 100, 1e4, 1e6) for index in (0, 1, -1)),
            {"change": lambda loss: min(loss, 100.0)},
        ),
        "begin with all heads: which set with one head fewer has the lowest loss? Go on from there": (
            prune_forward,
            prune_best,
        ),
        "losses are below 0 here, and -5 is smaller than -2: which head goes first?": (
            {"change": abs},
            {"change": lambda loss: max(0.0, loss)},
        ),
    },
    claim="at each step the least missed head goes",
    verified="measured again after each removal: one of two twins stays",
    hint="for each head that is left: the loss without it and without those that went before. Remove the smallest",
    use=use,
)


def every(num_heads: int) -> list[tuple[int, int]]:
    return [*combinations(range(num_heads), 2)]


def find(
    loss: Loss,
    num_heads: int,
    *,
    excess: Callable[[float, float, float], float] = lambda both, a, b: both - a - b,
    best: Any = max,
    skip: Callable[[int, int, int], bool] = lambda i, j, n: False,
    off: Callable[[int, int], tuple[int, ...]] = lambda i, j: (i, j),
    start: float = -float("inf"),
    nothing: tuple[int, int] = (0, 1),
) -> tuple[int, int]:
    """The twins, right unless told otherwise: the best pair of those that are not skipped, if beyond `start`."""
    cost = {
        some: loss_without(loss, num_heads, some) - loss_without(loss, num_heads, ())
        for some in (*((i,) for i in range(num_heads)), *(off(i, j) for i, j in every(num_heads)))
    }
    found = {(i, j): excess(cost[off(i, j)], cost[i,], cost[j,]) for i, j in every(num_heads)}
    pairs = [pair for pair in found if not skip(*pair, num_heads)] or [*found]
    pair: tuple[int, int] = best(pairs, key=found.__getitem__)
    return pair if found[pair] > start else nothing


def use_twins(answer: Any, loss: Loss, num_heads: int) -> Tensor:
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


MODELS = (
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
    tuple(Case(f"num_heads = {n}; loss = lambda g: {code}") for code, n in zip(MODELS, SIZES, strict=True)),
    {
        "no difference is positive here: the largest one counts all the same, the one that is least below 0": (
            *({"start": -start, "nothing": pair} for start in (0, 1, 10, 100, 1e6) for pair in ((0, 1), (1, 2))),
            {"excess": lambda both, a, b: bound(both - a - b)},
        ),
        "a removal may help: its cost is then negative. Keep the sign": tuple(
            {"excess": lambda both, a, b, whole=whole, cut=cut: whole(both) - cut(a) - cut(b)}
            for cut in (abs, bound)
            for whole in (cut, float)
        ),
        "these two cost less together than the sum: the right difference, but the wrong end of it": (
            {"best": min},
            {"excess": lambda both, a, b: abs(both - a - b)},
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
            {"skip": lambda i, j, n: i == 0},
            {"skip": lambda i, j, n: j == n - 1},
            {"skip": lambda i, j, n: j > i + 1},
        ),
        "open the gates again before you close those of the next pair": {"off": lambda i, j: (*range(i, j + 1),)},
        "these two cost least together; what is left beyond the single costs, each once?": {
            "best": min,
            "excess": lambda both, a, b: both,
        },
    },
    claim="the removal of both costs most beyond the sum",
    verified="the two heads that can stand in for each other, not the two that cost most",
    hint="cost of both, minus cost of the first alone, minus cost of the second alone; the largest one",
    use=use_twins,
)
