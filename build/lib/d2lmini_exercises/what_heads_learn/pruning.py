"""Careful pruning, and what its losses and answers are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import WrongAnswer, checker, expect_function

Loss = Callable[[Any], Any]
_MOST = 100  # heads that are read
_Choices = tuple[list[int], ...]  # sets of heads, each of them right


class Counted:
    """The loss of a model for gates that are 1 or 0, of any dtype; it notes which gates it was given."""

    def __init__(self, loss: Loss, num_heads: int, given: str) -> None:
        self.loss, self.num_heads, self.given, self.seen = loss, num_heads, given, set[tuple[float, ...]]()

    def __call__(self, gates: Any) -> Tensor:
        """The loss as a tensor of one number."""
        shape = tuple(gates.shape) if hasattr(gates, "shape") else (len(gates),)
        if shape != (self.num_heads,):
            hint = "a gate for each head: num_heads gates, whatever num_heads is"
            claim = "loss is given gates (num_heads,)"
            raise WrongAnswer(claim, hint, given=self.given, expected=(self.num_heads,), got=shape)
        numbers = tuple(float(gate) for gate in gates)
        if not {*numbers} <= {0.0, 1.0}:
            hint = "1 leaves a head as it is, 0 removes a head: nothing between them, nothing beyond"
            raise WrongAnswer("each gate is 0 or 1", hint, given=self.given, got=list(numbers))
        self.seen.add(numbers)
        return torch.tensor(self.loss(numbers), dtype=torch.float64)


def read_heads(found: Any) -> list[int] | None:
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


def _twins(g: Any) -> float:
    return 0.5 + 5 * (1 - max(g[1], g[4])) + 3 * (1 - g[0]) + 4 * (1 - g[2]) + 0.5 * (1 - g[3]) + 3.5 * (1 - g[5])


def _greedy_trap(g: Any) -> float:
    """Head 0 alone is better than 1 or 2 alone, but it is the one that is missed least while both are there."""
    return 9.0 - 4 * (g[1] + g[2]) - g[0] * (5 - 3 * (g[1] + g[2]) + 1.1 * g[1] * g[2])


_CODE = {
    "0.5 + 5 * (1 - max(g[1], g[4])) + 3 * (1 - g[0]) + 4 * (1 - g[2]) + 0.5 * (1 - g[3]) + 3.5 * (1 - g[5])": _twins,
    "9 - 4 * (g[1] + g[2]) - g[0] * (5 - 3 * (g[1] + g[2]) + 1.1 * g[1] * g[2])": _greedy_trap,
    # head 2 does harm
    "0.05 - 0.01 * g[0] - 0.02 * g[1] + 0.03 * g[2]": lambda g: 0.05 - 0.01 * g[0] - 0.02 * g[1] + 0.03 * g[2],
    # 1 and 2 are worth 4 together and nothing alone
    "7 - g[0] - 4 * g[1] * g[2] - g[3] - g[4] / 2": lambda g: 7 - g[0] - 4 * g[1] * g[2] - g[3] - g[4] / 2,
    "g[0]": lambda g: g[0],
    # a score below 0 is a loss as well
    "2 - 4 * g[0] - 3 * g[1] - g[2]": lambda g: 2 - 4 * g[0] - 3 * g[1] - g[2],
    # neither the first head nor the last one goes first, nor the one that takes the place of 1
    "2e7 - 5e6 * g[0] - 1e4 * g[1] - 4e6 * g[2] - 3e6 * g[3]": lambda g: (
        2e7 - 5e6 * g[0] - 1e4 * g[1] - 4e6 * g[2] - 3e6 * g[3]
    ),
    # more heads than the models of the chapter have
    "60 - sum((10 - i) * g[i] for i in range(10))": lambda g: 60 - sum((10 - i) * g[i] for i in range(10)),
}


@checker("prune-carefully")
def check_prune_carefully(prune: Any) -> str:
    """`prune(loss, num_heads, keep)` returns the heads that are left when the least missed one goes each time."""
    expect_function(prune)
    twins, trap, harmful, together, single, negative, large, many = _CODE
    cases: list[tuple[str, int, int, _Choices]] = [
        (twins, 6, 4, ([0, 2, 4, 5], [0, 1, 2, 5])),
        (twins, 6, 6, ([0, 1, 2, 3, 4, 5],)),
        (large, 4, 2, ([0, 2],)),
        (twins, 6, 1, ([4], [1])),
        (harmful, 3, 2, ([0, 1],)),
        (trap, 3, 1, ([1], [2])),
        (together, 5, 2, ([1, 2],)),
        (twins, 6, 5, ([0, 2, 3, 4, 5], [0, 1, 2, 3, 5])),
        (single, 1, 1, ([0],)),
        (negative, 3, 2, ([0, 1],)),
        (many, 10, 9, ([0, 1, 2, 3, 4, 5, 6, 7, 8],)),
    ]
    for code, num_heads, keep, expected in cases:
        given = f"num_heads, keep = {num_heads}, {keep}; loss = lambda g: {code}"
        loss = Counted(_CODE[code], num_heads, given)
        found = prune(loss, num_heads, keep)
        heads = read_heads(found)
        if heads is None or isinstance(found, (set, frozenset)):  # a set has no order
            raise WrongAnswer("it returns the heads that are left", "return a list", given=given, got=found)
        if sorted(heads) not in expected:
            hint = _find_pruning_hint(loss, num_heads, keep, sorted(heads), expected)
            if code == trap and heads == [0]:
                hint = "begin with all heads: which set with one head fewer has the lowest loss? Go on from there"
            if code == negative:
                hint = "losses are below 0 here, and -5 is smaller than -2: which head goes first?"
            if code == large:
                hint = "losses may be as large as you like: what is the first of them compared with?"
            claim = "at each step the least missed head goes"
            raise WrongAnswer(claim, hint, given=given, expected=expected[0], got=heads)
        if heads != sorted(heads):
            raise WrongAnswer("they come in increasing order", "sort them", given=given, got=heads)
    return "measured again after each removal: one of two twins stays"


def _find_pruning_hint(loss: Counted, num_heads: int, keep: int, found: list[int], expected: _Choices) -> str:
    if any(sorted({*found, *right}) == list(range(num_heads)) and not {*found} & {*right} for right in expected):
        return "return the heads that stay, not those that go"
    if len(found) != keep:
        return f"{keep} heads are to be left: how often does your loop run?"
    alone, asked = [], bool(loss.seen)
    for head in range(num_heads):
        gates = torch.ones(num_heads)
        gates[head] = 0
        alone.append(float(loss(gates)))
    if asked and found in [_prune_once(loss, num_heads, keep, place) for place in (0, 1, -1)]:
        return "does each round begin with a fresh comparison? Its losses may all be larger than those of the last one"
    ranked = sorted(range(num_heads), key=alone.__getitem__)
    if found == sorted(ranked[-keep:]):
        return "is each choice made afresh? After one twin has gone, how important is the other?"
    if found == sorted(ranked[:keep]):
        return "those are the least missed ones: they go, the others stay"
    return "for each head that is left: the loss without it and without those that went before. Remove the smallest"


def _prune_once(loss: Loss, num_heads: int, keep: int, place: int) -> list[int]:
    """What is left where the smallest loss so far is never forgotten, and the head at this place goes in its stead."""
    left, least = list(range(num_heads)), float("inf")
    while len(left) > keep:
        goes = left[place]
        for head in left:
            gates = torch.zeros(num_heads)
            gates[[other for other in left if other != head]] = 1
            if float(loss(gates)) < least:
                least, goes = float(loss(gates)), head
        left.remove(goes)
    return left
