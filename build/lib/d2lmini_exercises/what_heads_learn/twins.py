"""Twins: two heads of which one can do the other's work."""

from __future__ import annotations

from typing import Any

import torch

from d2lmini_exercises.core import WrongAnswer, checker, expect_function
from d2lmini_exercises.prediction import Number, prediction
from d2lmini_exercises.what_heads_learn.pruning import Counted, Loss, read_heads

_Pairs = dict[tuple[int, int], float]

# For each loss the code that a report shows, and the pair that is expected. An open gate is 1.
_TWINS: dict[str, tuple[Loss, int, tuple[int, int]]] = {
    "5 * (1 - g[0]) + 4 * (1 - g[1]) + 1 - max(g[2], g[3]) + 3 * (1 - g[4] * g[5])": (
        lambda g: 5 * (1 - g[0]) + 4 * (1 - g[1]) + 1 - max(g[2], g[3]) + 3 * (1 - g[4] * g[5]),
        6,
        (2, 3),
    ),
    # 1 and 2 are the twins if some pairs are left out, and for no other reason
    "2 * (1 - max(g[0], g[5])) + 6 * (2 - g[0] - g[5]) + 1 - max(g[1], g[2]) + 4 * (2 - g[1] - g[2])": (
        lambda g: 2 * (1 - max(g[0], g[5])) + 6 * (2 - g[0] - g[5]) + 1 - max(g[1], g[2]) + 4 * (2 - g[1] - g[2]),
        6,
        (0, 5),
    ),
    # of 0, 1 and 2 one is enough
    "5 * (1 - max(g[0], g[1], g[2])) + 2 * (1 - max(g[3], g[4]))": (
        lambda g: 5 * (1 - max(g[0], g[1], g[2])) + 2 * (1 - max(g[3], g[4])),
        5,
        (3, 4),
    ),
    "6 * (1 - g[0] * g[1]) + 2 * (1 - max(g[2], g[3]))": (
        lambda g: 6 * (1 - g[0] * g[1]) + 2 * (1 - max(g[2], g[3])),
        4,
        (2, 3),
    ),
    # 0 and 1 are small exact twins, 2 and 3 large ones that stand in for each other only in part
    "0.1 * (1 - max(g[0], g[1])) + 8 * (1 - max(g[2], g[3])) + 3 * (2 - g[2] - g[3])": (
        lambda g: 0.1 * (1 - max(g[0], g[1])) + 8 * (1 - max(g[2], g[3])) + 3 * (2 - g[2] - g[3]),
        4,
        (2, 3),
    ),
    # 0 and 1 stand in for each other, and each has much to do besides; 2 and 3 are small twins
    "6 * (1 - max(g[0], g[1])) + 9 * (1 - g[0]) + 5 * (1 - g[1]) + 3 * (1 - max(g[2], g[3])) + 20 * (1 - g[4])": (
        lambda g: (
            6 * (1 - max(g[0], g[1])) + 9 * (1 - g[0]) + 5 * (1 - g[1]) + 3 * (1 - max(g[2], g[3])) + 20 * (1 - g[4])
        ),
        5,
        (0, 1),
    ),
    "0.5 + 2 * (1 - max(g[0], g[3])) + 3 * (1 - g[1])": (
        lambda g: 0.5 + 2 * (1 - max(g[0], g[3])) + 3 * (1 - g[1]),
        4,
        (0, 3),
    ),
    "0.5 + 1 - max(g[0], g[1]) + 1.5 * (1 - max(g[2], g[5])) + 3 * (1 - g[3])": (
        lambda g: 0.5 + 1 - max(g[0], g[1]) + 1.5 * (1 - max(g[2], g[5])) + 3 * (1 - g[3]),
        6,
        (2, 5),
    ),
    "1 - max(g[0], g[1])": (lambda g: 1 - max(g[0], g[1]), 2, (0, 1)),
    # removing head 2 helps
    "1 - max(g[0], g[1]) + 3 * g[2]": (lambda g: 1 - max(g[0], g[1]) + 3 * g[2], 3, (0, 1)),
    # removing 2 and 3 together helps
    "max(g[0], g[1]) + 0.5 * (1 - max(g[2], g[3]))": (
        lambda g: max(g[0], g[1]) + 0.5 * (1 - max(g[2], g[3])),
        4,
        (2, 3),
    ),
    "[1, -2, -1, -2, 3, -3, 1, 3][int(4 * g[0] + 2 * g[1] + g[2])]": (
        lambda g: [1, -2, -1, -2, 3, -3, 1, 3][int(4 * g[0] + 2 * g[1] + g[2])],
        3,
        (1, 2),
    ),
    # no difference is positive, whichever pair a search begins with and however low
    "1e7 * (1 - g[0] * g[1]) + 1e7 * (1 - g[0] * g[2]) + 2e6 * (1 - g[1] * g[2])": (
        lambda g: 1e7 * (1 - g[0] * g[1]) + 1e7 * (1 - g[0] * g[2]) + 2e6 * (1 - g[1] * g[2]),
        3,
        (1, 2),
    ),
    "1e7 * (1 - g[0] * g[1]) + 2e6 * (1 - g[0] * g[2]) + 1e7 * (1 - g[1] * g[2])": (
        lambda g: 1e7 * (1 - g[0] * g[1]) + 2e6 * (1 - g[0] * g[2]) + 1e7 * (1 - g[1] * g[2]),
        3,
        (0, 2),
    ),
    "1 - g[0] * g[1]": (lambda g: 1 - g[0] * g[1], 2, (0, 1)),
    # removing 0 or 1 alone helps
    "3 * g[0] + 3 * g[1] - 5 * max(g[0], g[1]) + 0.5 * (1 - max(g[2], g[3])) + 10": (
        lambda g: 3 * g[0] + 3 * g[1] - 5 * max(g[0], g[1]) + 0.5 * (1 - max(g[2], g[3])) + 10,
        4,
        (0, 1),
    ),
    # head 2 has two lesser twins
    "3 * (1 - max(g[0], g[1])) + 2 * (1 - max(g[2], g[3])) + 2 * (1 - max(g[2], g[4]))": (
        lambda g: 3 * (1 - max(g[0], g[1])) + 2 * (1 - max(g[2], g[3])) + 2 * (1 - max(g[2], g[4])),
        5,
        (0, 1),
    ),
    "2 * (1 - g[0] * g[1]) + 2 * (1 - g[0] * g[2]) + 0.5 * (1 - g[1] * g[2])": (
        lambda g: 2 * (1 - g[0] * g[1]) + 2 * (1 - g[0] * g[2]) + 0.5 * (1 - g[1] * g[2]),
        3,
        (1, 2),
    ),
    # more heads than the models of the chapter have
    "4 * (1 - g[0]) + 2 * (1 - max(g[3], g[9])) + 1 - max(g[1], g[2])": (
        lambda g: 4 * (1 - g[0]) + 2 * (1 - max(g[3], g[9])) + 1 - max(g[1], g[2]),
        10,
        (3, 9),
    ),
}


@checker("find-twins")
def check_find_twins(find_twins: Any) -> str:
    """`find_twins(loss, num_heads)` returns the pair that costs most beyond the sum of the two."""
    expect_function(find_twins)
    for code, (loss, num_heads, expected) in _TWINS.items():
        given = f"num_heads = {num_heads}; loss = lambda g: {code}"
        counted = Counted(loss, num_heads, given)
        found = find_twins(counted, num_heads)
        heads = read_heads(found)
        if heads is None or len(heads) != 2:
            hint = "return i, j"
            if found is None and max(_measure_pairs(loss, num_heads, closed=False)[1].values()) < 0:
                hint = "a pair is returned in any case: no difference needs to be positive, the largest one counts"
            raise WrongAnswer("it returns two heads", hint, given=given, got=found)
        pair = (min(heads), max(heads))
        if pair != expected:
            claim = "the removal of both costs most beyond the sum"
            hint = _find_twin_hint(counted, num_heads, pair)
            raise WrongAnswer(claim, hint, given=given, expected=expected, got=pair)
    return "the two heads that can stand in for each other, not the two that cost most"


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


def _skips_pairs(seen: set[tuple[float, ...]], excess: _Pairs, pair: tuple[int, int]) -> bool:
    """Whether this is the best pair of those without the first head, without the last one, or of neighbours."""
    if not any(gates.count(0.0) == 2 for gates in seen):
        return False
    last = max(max(two) for two in excess)
    kept = ([two for two in excess if skip not in two] for skip in (0, last))
    neighbours = [two for two in excess if two[1] - two[0] == 1]
    return any(pair == max(pairs, key=excess.__getitem__) for pairs in (*kept, neighbours) if pairs)


_OTHERWISE = "cost of both, minus cost of the first alone, minus cost of the second alone; the largest one"


def _find_twin_hint(loss: Counted, num_heads: int, pair: tuple[int, int]) -> str:
    seen, from_open = {*loss.seen}, (1.0,) * num_heads in loss.seen
    if pair[0] == pair[1]:
        return "a head is no twin of itself"
    if not 0 <= pair[0] < pair[1] < num_heads:
        return "the heads have the numbers 0 to num_heads - 1"
    both, excess = _measure_pairs(loss, num_heads, closed=False)
    _, from_nothing = _measure_pairs(loss, num_heads, closed=True)
    share = {two: both[two] / (both[two] - excess[two] + 1e-6) for two in excess}
    alone = _measure_heads(loss, num_heads, closed=False)
    helps = min(*both.values(), *alone) < 0
    left_closed = _leave_closed(loss, num_heads)
    hints = {
        "no difference is positive here: the largest one counts all the same, the one that is least below 0": (
            max(excess.values()) < 0
        ),
        "a removal may help: its cost is then negative. Keep the sign": helps and pair in _ignore_signs(both, alone),
        "these two cost less together than the sum: the right difference, but the wrong end of it": (
            excess[pair] == min(excess.values()) < 0
        ),
        "of these two the ratio is largest; a difference counts: cost of both minus the single costs, each once": (
            share[pair] == max(share.values())
        ),
        "these two cost most together, as heads with different tasks may: what do they cost beyond the sum?": (
            both[pair] == max(both.values())
        ),
        "begin with the whole model, where all gates are 1, and remove": not from_open
        and from_nothing[pair] == max(from_nothing.values()),
        "two differences may differ by less than 1: do you round them?": excess[pair] >= 0
        and any(cut(excess[pair]) == cut(max(excess.values())) for cut in (round, int)),
        "the first and the last head count, too, and twins need not be neighbours: which pairs do you try?": (
            _skips_pairs(seen, excess, pair)
        ),
        "open the gates again before you close those of the next pair": pair
        == max(left_closed, key=left_closed.__getitem__),
        "these two cost least together; what is left beyond the single costs, each once?": both[pair]
        == min(both.values()),
    }
    return next((hint for hint, fits in hints.items() if fits), _OTHERWISE)


def _measure_pairs(loss: Loss, num_heads: int, *, closed: bool) -> tuple[_Pairs, _Pairs]:
    """What two gates cost together, and by how much that is more than the sum; they are opened if all are closed."""
    gates = 1 - torch.eye(num_heads) if not closed else torch.eye(num_heads)
    start = torch.zeros(num_heads) if closed else torch.ones(num_heads)
    whole, alone = float(loss(start)), _measure_heads(loss, num_heads, closed=closed)
    both = {
        (i, j): float(loss(start + gates[i] - start + gates[j] - start)) - whole
        for j in range(num_heads)
        for i in range(j)
    }
    return both, {(i, j): joint - alone[i] - alone[j] for (i, j), joint in both.items()}


def _measure_heads(loss: Loss, num_heads: int, *, closed: bool) -> list[float]:
    gates = torch.eye(num_heads) if closed else 1 - torch.eye(num_heads)
    whole = float(loss(torch.full((num_heads,), float(not closed))))
    return [float(loss(row)) - whole for row in gates]


def _ignore_signs(both: _Pairs, alone: list[float]) -> list[tuple[int, int]]:
    """The pairs that are found where a cost below 0 counts as 0, or as its size: alone, or for both heads as well."""
    return [
        max(both, key=lambda two: whole(both[two]) - cut(alone[two[0]]) - cut(alone[two[1]]))
        for cut in (abs, _bound)
        for whole in (cut, float)
    ]


def _bound(cost: float) -> float:
    return max(0.0, cost)


def _leave_closed(loss: Loss, num_heads: int) -> _Pairs:
    """The excess of each pair if the gates are opened again for the first head of a pair only."""
    alone, found = _measure_heads(loss, num_heads, closed=False), _Pairs()
    whole = float(loss(torch.ones(num_heads)))
    for i in range(num_heads):
        gates = torch.ones(num_heads)
        gates[i] = 0
        for j in range(i + 1, num_heads):
            gates[j] = 0
            found[i, j] = float(loss(gates)) - whole - alone[i] - alone[j]
    return found
