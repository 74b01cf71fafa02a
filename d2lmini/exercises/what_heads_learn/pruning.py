"""Twins, and careful pruning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.core import WrongAnswer, checker, expect_function
from d2lmini.exercises.prediction import Number, prediction

_Loss = Callable[[Any], Any]
_MOST = 100  # heads that are read
_Choices = tuple[list[int], ...]  # sets of heads, each of them right


def _open_to_any(loss: _Loss) -> _Loss:
    """The loss as a tensor of one number, for gates of any dtype: an open gate may be True, too."""
    return lambda gates: torch.tensor(loss([float(gate) for gate in gates]), dtype=torch.float64)


# For each loss the code that a report shows, and the pair that is expected. An open gate is 1.
_TWINS: dict[str, tuple[_Loss, int, tuple[int, int]]] = {
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
}


@checker("find-twins")
def check_find_twins(find_twins: Any) -> str:
    """`find_twins(loss, num_heads)` returns the pair that costs most beyond the sum of the two."""
    expect_function(find_twins)
    for code, (loss, num_heads, expected) in _TWINS.items():
        given = f"{num_heads} heads, loss = lambda g: {code}"
        found = find_twins(_open_to_any(loss), num_heads)
        heads = _read_heads(found)
        if heads is None or len(heads) != 2:
            raise WrongAnswer("it returns two heads", "return i, j", given=given, got=found)
        pair = (min(heads), max(heads))
        if pair != expected:
            claim = "the removal of both costs most beyond the sum"
            hint = _find_twin_hint(_open_to_any(loss), num_heads, pair)
            if (expected, pair) == ((0, 5), (1, 2)):
                hint = (
                    "the first and the last head count, too, and twins need not be neighbours: which pairs do you try?"
                )
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


def _read_heads(found: Any) -> list[int] | None:
    """The heads that an answer names, whatever holds them; `None` if it names something else."""
    if isinstance(found, Tensor):
        found = found[:_MOST].tolist() if found.dim() == 1 else None
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        return None
    found = islice(found, _MOST)
    heads = [head.item() if hasattr(head, "item") else head for head in found]
    if not all(isinstance(head, (int, float)) and float(head).is_integer() for head in heads):
        return None
    return [int(head) for head in heads]


def _find_twin_hint(loss: _Loss, num_heads: int, pair: tuple[int, int]) -> str:
    if pair[0] == pair[1]:
        return "a head is no twin of itself"
    pairs = [(i, j) for j in range(num_heads) for i in range(j)]
    if pair not in pairs:
        return "the heads have the numbers 0 to num_heads - 1"
    both, excess = _measure_pairs(loss, num_heads, closed=False)
    _, from_nothing = _measure_pairs(loss, num_heads, closed=True)
    share = {two: both[two] / (both[two] - excess[two] + 1e-6) for two in pairs}
    hints = {
        "these two cost less together than the sum: the right difference, but the wrong end of it": (
            excess[pair] == min(excess.values()) < 0
        ),
        "cost of both minus the two single costs, each once; not a ratio, which is large where both are tiny": (
            share[pair] == max(share.values())
        ),
        "two heads with different tasks cost much together; subtract what each of them costs alone": (
            both[pair] == max(both.values())
        ),
        "begin with the whole model, where all gates are 1, and remove": from_nothing[pair]
        == max(from_nothing.values()),
        "two heads that do nothing cost nothing together either: subtract what each costs alone, each once": both[pair]
        == min(both.values()),
    }
    otherwise = "cost of both, minus cost of the first alone, minus cost of the second alone; the largest one"
    return next((hint for hint, fits in hints.items() if fits), otherwise)


_Pairs = dict[tuple[int, int], float]


def _measure_pairs(loss: _Loss, num_heads: int, *, closed: bool) -> tuple[_Pairs, _Pairs]:
    """What two gates cost together, and by how much that is more than the sum; they are opened if all are closed."""
    gates = 1 - torch.eye(num_heads) if not closed else torch.eye(num_heads)
    start = torch.zeros(num_heads) if closed else torch.ones(num_heads)
    whole = float(loss(start))
    alone = [float(loss(row)) - whole for row in gates]
    both = {
        (i, j): float(loss(start + gates[i] - start + gates[j] - start)) - whole
        for j in range(num_heads)
        for i in range(j)
    }
    return both, {(i, j): joint - alone[i] - alone[j] for (i, j), joint in both.items()}


def _twins(g: Any) -> float:
    return 0.5 + 5 * (1 - max(g[0], g[4])) + 3 * (1 - g[2]) + 4 * (1 - g[3]) + 0.5 * (1 - g[1])


def _greedy_trap(g: Any) -> float:
    """Head 0 alone is better than 1 or 2 alone, but it is the one that is missed least while both are there."""
    return 9.0 - 4 * (g[1] + g[2]) - g[0] * (5 - 3 * (g[1] + g[2]) + 1.1 * g[1] * g[2])


_CODE = {
    "0.5 + 5 * (1 - max(g[0], g[4])) + 3 * (1 - g[2]) + 4 * (1 - g[3]) + 0.5 * (1 - g[1])": _twins,
    "9 - 4 * (g[1] + g[2]) - g[0] * (5 - 3 * (g[1] + g[2]) + 1.1 * g[1] * g[2])": _greedy_trap,
    # head 2 does harm
    "5 - g[0] - 2 * g[1] + 3 * g[2]": lambda g: 5 - g[0] - 2 * g[1] + 3 * g[2],
    # 1 and 2 are worth 4 together and nothing alone
    "7 - g[0] - 4 * g[1] * g[2] - g[3] - g[4] / 2": lambda g: 7 - g[0] - 4 * g[1] * g[2] - g[3] - g[4] / 2,
    "g[0]": lambda g: g[0],
}


@checker("prune-carefully")
def check_prune_carefully(prune: Any) -> str:
    """`prune(loss, num_heads, keep)` returns the heads that are left when the least missed one goes each time."""
    expect_function(prune)
    twins, trap, harmful, together, single = _CODE
    cases: list[tuple[str, int, int, _Choices]] = [
        (twins, 5, 3, ([0, 2, 3], [2, 3, 4])),
        (twins, 5, 5, ([0, 1, 2, 3, 4],)),
        (twins, 5, 1, ([0], [4])),
        (harmful, 3, 2, ([0, 1],)),
        (trap, 3, 1, ([1], [2])),
        (together, 5, 2, ([1, 2],)),
        (twins, 5, 4, ([1, 2, 3, 4], [0, 1, 2, 3])),
        (single, 1, 1, ([0],)),
    ]
    for code, num_heads, keep, expected in cases:
        given = f"{num_heads} heads, keep {keep}, loss = lambda g: {code}"
        loss = _open_to_any(_CODE[code])
        found = prune(loss, num_heads, keep)
        heads = _read_heads(found)
        if heads is None:
            raise WrongAnswer("it returns the heads that are left", "return a list", given=given, got=found)
        if sorted(heads) not in expected:
            hint = _find_pruning_hint(loss, num_heads, keep, sorted(heads), expected)
            if code == trap and heads == [0]:
                hint = "if you try all sets of heads, you find this one; here one head goes at a time, from those left"
            claim = "at each step the least missed head goes"
            raise WrongAnswer(claim, hint, given=given, expected=expected[0], got=heads)
        if heads != sorted(heads):
            raise WrongAnswer("they come in increasing order", "sort them", given=given, got=heads)
    return "measured again after each removal: one of two twins stays"


def _find_pruning_hint(
    loss: _Loss, num_heads: int, keep: int, found: list[int], expected: tuple[list[int], ...]
) -> str:
    if any(sorted({*found, *right}) == list(range(num_heads)) and not {*found} & {*right} for right in expected):
        return "return the heads that stay, not those that go"
    if len(found) != keep:
        return f"{keep} heads are to be left: how often does your loop run?"
    alone = []
    for head in range(num_heads):
        gates = torch.ones(num_heads)
        gates[head] = 0
        alone.append(float(loss(gates)))
    ranked = sorted(range(num_heads), key=alone.__getitem__)
    if found == sorted(ranked[-keep:]):
        return "that list was made once: after one twin has gone, how important is the other?"
    if found == sorted(ranked[:keep]):
        return "those are the least missed ones: they go, the others stay"
    return "for each head that is left: the loss without it and without those that went before. Remove the smallest"
