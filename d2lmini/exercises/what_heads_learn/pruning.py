"""Twins, and careful pruning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.core import WrongAnswer, checker, expect_function

_Loss = Callable[[Tensor], float]
_MOST = 100  # heads that are read
_Choices = tuple[list[int], ...]  # sets of heads, each of them right


def _make_loss(weights: Tensor, groups: list[list[int]]) -> _Loss:
    """The loss of a model whose tasks are each done by the strongest open gate of a group."""

    def loss(gates: Tensor) -> float:
        return sum(
            (w * (1 - gates[group].max().item()) for w, group in zip(weights.tolist(), groups, strict=True)), 0.5
        )

    return loss


def _open_to_any(loss: _Loss) -> _Loss:
    """The loss for gates of any dtype: an open gate may be True, too."""
    return lambda gates: loss(gates.float())


@checker("find-twins")
def check_find_twins(find_twins: Any) -> str:
    """`find_twins(loss, num_heads)` returns the pair that costs most beyond the sum of the two."""
    expect_function(find_twins)
    mixed = _make_loss(torch.tensor([5.0, 4.0, 1.0]), [[0], [1], [2, 4]])
    cases: list[tuple[_Loss, int, tuple[int, int]]] = [
        (lambda gates: mixed(gates) + 3 * float(1 - gates[5] * gates[6]), 7, (2, 4)),
        (lambda gates: float(6 * (1 - gates[0] * gates[1]) + 2 * (1 - gates[2:].max())), 4, (2, 3)),
        (_half_twins, 4, (2, 3)),
        (_strong_twins, 7, (0, 1)),
        (_make_loss(torch.tensor([2.0, 3.0]), [[0, 3], [1]]), 4, (0, 3)),
        (_make_loss(torch.tensor([1.0, 1.5, 3.0]), [[0, 1], [2, 5], [3]]), 6, (2, 5)),
    ]
    for loss, num_heads, expected in cases:
        given = f"{num_heads} heads"
        found = find_twins(_open_to_any(loss), num_heads)
        heads = _read_heads(found)
        if heads is None or len(heads) != 2:
            raise WrongAnswer("it returns two heads", "return i, j", given=given, got=found)
        pair = (min(heads), max(heads))
        if pair != expected:
            raise WrongAnswer(
                "the removal of both costs most beyond the sum",
                _find_twin_hint(loss, num_heads, pair),
                given=given,
                expected=expected,
                got=pair,
            )
    return "the two heads that can stand in for each other, not the two that cost most"


def _strong_twins(gates: Tensor) -> float:
    """Heads 0 and 1 stand in for each other, and each has much to do besides; 2 and 3 are small twins."""
    a, b, c, d, *rest = gates.tolist()
    return 6 * (1 - max(a, b)) ** 4 + 9 * (1 - a) + 5 * (1 - b) + 3 * (1 - max(c, d)) + 10 * (1 - max(rest))


def _half_twins(gates: Tensor) -> float:
    """Heads 0 and 1 are small exact twins, 2 and 3 large ones that stand in for each other only in part."""
    a, b, c, d = gates.tolist()
    return 0.1 * (1 - max(a, b)) + 8 * (1 - max(c, d)) + 3 * (2 - c - d)


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
    whole = loss(torch.ones(num_heads))

    def cost(*off: int) -> float:
        gates = torch.ones(num_heads)
        gates[list(off)] = 0
        return loss(gates) - whole

    if pair[0] == pair[1]:
        return "a head is no twin of itself"
    both = {(i, j): cost(i, j) for j in range(num_heads) for i in range(j)}
    excess = {(i, j): joint - cost(i) - cost(j) for (i, j), joint in both.items()}
    share = {(i, j): joint / (cost(i) + cost(j) + 1e-6) for (i, j), joint in both.items()}
    if excess.get(pair) == min(excess.values()) < 0:
        return "these two cost less together than the sum: the right difference, but the wrong end of it"
    if share.get(pair) == max(share.values()):
        return "cost of both minus the two single costs, each once; not a ratio, which is large where both are tiny"
    if both.get(pair) == max(both.values()):
        return "two heads with different tasks cost much together; subtract what each of them costs alone"
    if both.get(pair) == min(both.values()):
        return "two heads that do nothing cost nothing together either"
    return "cost of both, minus cost of the first alone, minus cost of the second alone; the largest one"


@checker("prune-carefully")
def check_prune_carefully(prune: Any) -> str:
    """`prune(loss, num_heads, keep)` returns the heads that are left when the least missed one goes each time."""
    expect_function(prune)
    twins = _make_loss(torch.tensor([5.0, 3.0, 4.0, 0.5]), [[0, 4], [2], [3], [1]])
    cases: list[tuple[str, _Loss, int, int, _Choices]] = [
        ("heads 0 and 4 are twins, 1 is hardly needed", twins, 5, 3, ([0, 2, 3], [2, 3, 4])),
        ("all heads stay", twins, 5, 5, ([0, 1, 2, 3, 4],)),
        ("one stays", twins, 5, 1, ([0], [4])),
        ("head 2 does harm", _harmful, 3, 2, ([0, 1],)),
        ("head 0 does a little of what 1 and 2 do", _greedy_trap, 3, 1, ([1], [2])),
        ("two that work only together", _together, 5, 2, ([1, 2],)),
    ]
    for about, loss, num_heads, keep, expected in cases:
        given = f"{num_heads} heads, keep {keep}: {about}"
        found = prune(_open_to_any(loss), num_heads, keep)
        heads = _read_heads(found)
        if heads is None:
            raise WrongAnswer("it returns the heads that are left", "return a list", given=given, got=found)
        if sorted(heads) not in expected:
            hint = _find_pruning_hint(loss, num_heads, keep, sorted(heads), expected)
            raise WrongAnswer(
                "at each step the least missed head goes", hint, given=given, expected=expected[0], got=heads
            )
        if heads != sorted(heads):
            raise WrongAnswer("they come in increasing order", "sort them", given=given, got=heads)
    return "measured again after each removal: one of two twins stays"


def _together(gates: Tensor) -> float:
    """Heads 1 and 2 are worth 4 together and nothing alone; 0, 3 and 4 are worth a little each."""
    a, b, c, d, e = gates.tolist()
    return 7.0 - a - 4 * b * c - d - e / 2


def _harmful(gates: Tensor) -> float:
    a, b, c = gates.tolist()
    return 5.0 - a - 2 * b + 3 * c


def _greedy_trap(gates: Tensor) -> float:
    """Head 0 alone is better than 1 or 2 alone, but it is the one that is missed least while both are there."""
    a, b, c = gates.tolist()
    return 9.0 - 4 * (b + c) - a * (5.0, 2.0, 0.1)[int(b + c)]


def _find_pruning_hint(
    loss: _Loss, num_heads: int, keep: int, found: list[int], expected: tuple[list[int], ...]
) -> str:
    if loss is _greedy_trap and found == [0]:
        return "who tries all sets of heads finds this one; here one head goes at a time, from those that are left"
    if any(sorted({*found, *right}) == list(range(num_heads)) and not {*found} & {*right} for right in expected):
        return "return the heads that stay, not those that go"
    if len(found) != keep:
        return f"{keep} heads are to be left: how often does your loop run?"
    alone = []
    for head in range(num_heads):
        gates = torch.ones(num_heads)
        gates[head] = 0
        alone.append(loss(gates))
    ranked = sorted(range(num_heads), key=alone.__getitem__)
    if found == sorted(ranked[-keep:]):
        return "that list was made once: after one twin has gone, how important is the other?"
    if found == sorted(ranked[:keep]):
        return "those are the least missed ones: they go, the others stay"
    return "for each head that is left: the loss without it and without those that went before. Remove the smallest"
