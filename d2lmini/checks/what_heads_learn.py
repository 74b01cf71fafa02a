"""Checkers of the chapter "What heads learn, and which matter"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini.checks.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_number,
    expect_unchanged,
    numbers,
)

_Loss = Callable[[Tensor], float]


@checker("predict-staircase")
def check_predict_staircase(answer: Any) -> str:
    """Right answers with two heads of five and with none; removals that twins survive, worst and best order."""
    two, none, worst, best = numbers(answer, 4)
    expect_number(
        "(a)",
        two,
        0.43,
        mistakes={
            0.4: "the other three questions are guessed: is a guess never right?",
            0.03: "that is what the guesses add; two questions are answered",
            0.55: "guesses are right once in 20, not once in 4",
            0.45: "how many letters are there in this task?",
            0.6: "that is the share of questions that are only guessed",
            2.15: "that counts questions; the task asks for a share of all answers",
            43: "a share is a number between 0 and 1",
        },
        hint="how many questions are answered, how many guessed, and how often is a guess right?",
        tolerance=0.004,
    )
    expect_number(
        "(b)",
        none,
        0.05,
        mistakes={
            0.0: "without any head it still guesses",
            0.2: "it guesses among the letters, not the questions",
            5: "a share is a number between 0 and 1",
        },
        hint="each answer is a guess among 20 letters",
        tolerance=0.004,
    )
    expect_number(
        "(c)",
        worst,
        1,
        mistakes={
            5: "who chooses the order? After one twin, the other one may be next",
            0: "the first head to go has a twin that does its work",
            2: "the second head to go may be the twin of the first",
        },
        hint="the worst order takes a head, and then the one that could do its work",
    )
    expect_number(
        "(d)",
        best,
        5,
        mistakes={
            10: "who answers then?",
            9: "one head is left: which questions can it answer?",
            1: "that is the worst order; here you choose",
        },
        hint="how many heads must stay, so that each question has one?",
    )
    return "0.43 and 0.05; one removal in the worst order, five in the best"


@checker("gate-importance")
def check_gate_importance(gate_importance: Any) -> str:
    """``gate_importance(loss, num_heads, examples)`` returns the mean of |dL/dgate| at gates 1, ``(num_heads,)``."""
    expect_function(gate_importance)
    cases = (([3.0, -3.0, 0.0], [1.0, 2.0, 0.0], [-2.0, -5.0, 0.0]), ([1.0, -4.0], [-1.0, 3.0]))
    for rows in cases:
        slopes = torch.tensor(rows)  # the gradient at gates 1, an example a row

        def loss(gates: Tensor, example: Tensor) -> Tensor:
            # d/dg of s (g² - g) is s at 1 and -s at 0
            return (example * (gates**2 - gates)).sum()

        given = f"examples with the gradients {rows} at gates 1"
        found = gate_importance(loss, slopes.shape[1], list(slopes.clone()))
        expect_close(
            found,
            slopes.abs().mean(dim=0),
            claim="it is the mean of the absolute gradients",
            given=given,
            hint="one gradient an example, at gates 1; then absolute values; then their mean",
            mistakes={
                "a gradient of 3 and one of -3 are two strong effects: do they cancel?": slopes.mean(dim=0),
                "the absolute value comes before the mean: 3 and -3 must not cancel": slopes.mean(dim=0).abs(),
                "the mean over the examples, not their sum": slopes.abs().sum(dim=0),
                "the sum of the gradients cancels, and a mean is asked for": slopes.sum(dim=0).abs(),
                "where is the trained model? At which gates is the gradient to be taken?": -slopes.mean(dim=0),
                "absolute values, not squares": slopes.square().mean(dim=0),
                "the largest example is not the mean": slopes.abs().amax(dim=0),
                "removing the head is ablation; here the gate is moved only a little": torch.zeros(slopes.shape[1]),
                "does each example begin with a gradient of 0, or does it add to that of the one before?": (
                    slopes.cumsum(dim=0).abs().mean(dim=0)
                ),
            },
        )

    def at_gates(gates: Tensor, example: Tensor) -> Tensor:
        return (example * gates**3).sum()

    found = gate_importance(at_gates, 2, [torch.tensor([1.0, 2.0])])
    expect_close(
        found,
        torch.tensor([3.0, 6.0]),
        claim="the gradient is taken at gates 1",
        given="the loss gates[0]³ + 2 gates[1]³",
        hint="all gates are 1, as in the trained model",
    )
    return "the mean of absolute gradients at gates 1, without cancelling"


@checker("debug-cut")
def check_debug_cut(cut: Any) -> str:
    """``cut(W_q, W_k, W_v, W_o, num_heads, keep)``: rows of three matrices, columns of the last one."""
    expect_function(cut)
    for d, num_heads, keep in ((8, 4, [1, 3]), (6, 3, [2]), (8, 2, [0, 1])):
        i = torch.arange(d)
        # readable: 203.1 is in row 3, column 1 of the third matrix
        W = 100.0 * torch.arange(4)[:, None, None] + i[:, None] + i / 10
        width = d // num_heads
        rows = [head * width + j for head in keep for j in range(width)]
        given = f"d = {d}, {num_heads} heads, keep {keep}"
        argument = W.clone()
        found = cut(*argument, num_heads, list(keep))
        if not isinstance(found, (tuple, list)) or len(found) != 4:
            raise WrongAnswer("it returns four matrices", "return W_q, W_k, W_v, W_o", given=given)
        expect_unchanged("W", argument, W, "an assignment into W changes the caller's matrix")
        by_turns = [row for row in range(d) if row % num_heads in keep]
        for name, got, matrix in zip(("W_q", "W_k"), found[:2], W[:2], strict=True):
            expect_close(
                got,
                matrix[rows],
                claim=f"{name} keeps the rows of the heads in keep",
                given=given,
                hint="which rows belong to head 0?",
                mistakes={"row 1 and row 0 belong to the same head: a head's rows are neighbours": matrix[by_turns]},
            )
        _expect_values_and_output(found[2], found[3], W[2], W[3], rows, num_heads / len(keep), given)
    return "rows and columns of the same heads, and no other factor"


def _expect_values_and_output(
    values: Any, output: Any, W_v: Tensor, W_o: Tensor, rows: list[int], factor: float, given: str
) -> None:
    expect_close(
        output,
        W_o[:, rows],
        claim="W_o keeps the columns of the heads in keep",
        given=given,
        hint="which columns of W_o meet the numbers of these heads?",
        mistakes={
            "the first columns belong to the first heads, not to those that are kept": W_o[:, : len(rows)],
            "with the columns scaled, the heads would write more than before": W_o[:, rows] * factor,
        },
    )
    expect_close(
        values,
        W_v[rows],
        claim="W_v keeps the rows of the heads in keep",
        given=given,
        hint="the same rows as in W_q",
        mistakes={"a head that stays must write what it wrote; who would undo the factor?": W_v[rows] * factor},
    )


def _model_loss(weights: Tensor, groups: list[list[int]]) -> _Loss:
    """The loss of a model whose tasks are each done by the strongest open gate of a group."""

    def loss(gates: Tensor) -> float:
        return sum(
            (w * (1 - gates[group].max().item()) for w, group in zip(weights.tolist(), groups, strict=True)), 0.5
        )

    return loss


@checker("find-twins")
def check_find_twins(find_twins: Any) -> str:
    """``find_twins(loss, num_heads)`` returns the pair that costs most beyond the sum of the two."""
    expect_function(find_twins)
    mixed = _model_loss(torch.tensor([5.0, 4.0, 1.0]), [[0], [1], [2, 4]])
    cases: list[tuple[_Loss, int, tuple[int, int]]] = [
        (lambda gates: mixed(gates) + 3 * float(1 - gates[5] * gates[6]), 7, (2, 4)),
        (lambda gates: float(6 * (1 - gates[0] * gates[1]) + 2 * (1 - gates[2:].max())), 4, (2, 3)),
        (_half_twins, 4, (2, 3)),
        (_model_loss(torch.tensor([2.0, 3.0]), [[0, 3], [1]]), 4, (0, 3)),
        (_model_loss(torch.tensor([1.0, 1.5, 3.0]), [[0, 1], [2, 5], [3]]), 6, (2, 5)),
    ]
    for loss, num_heads, expected in cases:
        given = f"{num_heads} heads"
        found = find_twins(loss, num_heads)
        heads = _heads(found)
        if heads is None or len(heads) != 2:
            raise WrongAnswer("it returns two heads", "return i, j", given=given, got=found)
        pair = (min(heads), max(heads))
        if pair != expected:
            raise WrongAnswer(
                "the removal of both costs most beyond the sum",
                _twin_hint(loss, num_heads, pair),
                given=given,
                expected=expected,
                got=pair,
            )
    return "the two heads that can stand in for each other, not the two that cost most"


def _half_twins(gates: Tensor) -> float:
    """Heads 0 and 1 are small exact twins, 2 and 3 large ones that stand in for each other only in part."""
    a, b, c, d = gates.tolist()
    return 0.1 * (1 - max(a, b)) + 8 * (1 - max(c, d)) + 3 * (2 - c - d)


def _heads(found: Any) -> list[int] | None:
    """The heads that an answer names, whatever holds them; ``None`` if it names something else."""
    found = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(found, (tuple, list, set, frozenset)):
        return None
    heads = [head.item() if hasattr(head, "item") else head for head in found]
    return heads if all(isinstance(head, int) for head in heads) else None


def _twin_hint(loss: _Loss, num_heads: int, pair: tuple[int, int]) -> str:
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
        return "the difference of the costs, not their ratio: a ratio is large where both are tiny"
    if both.get(pair) == max(both.values()):
        return "two heads with different tasks cost much together; subtract what each of them costs alone"
    if both.get(pair) == min(both.values()):
        return "two heads that do nothing cost nothing together either"
    return "cost of both, minus cost of the first alone, minus cost of the second alone; the largest one"


@checker("prune-carefully")
def check_prune_carefully(prune: Any) -> str:
    """``prune(loss, num_heads, keep)`` returns the heads that are left when the least missed one goes each time."""
    expect_function(prune)
    twins = _model_loss(torch.tensor([5.0, 3.0, 4.0, 0.5]), [[0, 4], [2], [3], [1]])
    cases: list[tuple[str, _Loss, int, int, tuple[list[int], ...]]] = [
        ("heads 0 and 4 are twins, 1 is hardly needed", twins, 5, 3, ([0, 2, 3], [2, 3, 4])),
        ("all heads stay", twins, 5, 5, ([0, 1, 2, 3, 4],)),
        ("one stays", twins, 5, 1, ([0], [4])),
        ("head 0 does a little of what 1 and 2 do", _greedy_trap, 3, 1, ([1], [2])),
        ("two that work only together", _together, 5, 2, ([1, 2],)),
    ]
    for about, loss, num_heads, keep, expected in cases:
        given = f"{num_heads} heads, keep {keep}: {about}"
        found = prune(loss, num_heads, keep)
        heads = _heads(found)
        if heads is None:
            raise WrongAnswer("it returns the heads that are left", "return a list", given=given, got=found)
        if sorted(heads) not in expected:
            hint = _pruning_hint(loss, num_heads, keep, sorted(heads), expected)
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


def _greedy_trap(gates: Tensor) -> float:
    """Head 0 alone is better than 1 or 2 alone, but it is the one that is missed least while both are there."""
    a, b, c = gates.tolist()
    return 9.0 - 4 * (b + c) - a * (5.0, 2.0, 0.1)[int(b + c)]


def _pruning_hint(loss: _Loss, num_heads: int, keep: int, found: list[int], expected: tuple[list[int], ...]) -> str:
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


@checker("share-keys")
def check_share_keys(share_keys: Any) -> str:
    """``share_keys(W_k, num_heads, num_groups)`` returns the mean projection of each group of heads."""
    expect_function(share_keys)
    for d, num_heads, num_groups in ((8, 4, 2), (12, 4, 1), (6, 3, 3), (16, 8, 2)):
        W = torch.randn(d, d)
        argument = W.clone()
        heads = W.unflatten(0, (num_heads, -1))  # (heads, d/h, d)
        in_group = num_heads // num_groups
        right = heads.unflatten(0, (num_groups, in_group))
        expect_close(
            share_keys(argument, num_heads, num_groups),
            right.mean(dim=1).flatten(0, 1),
            claim="each group has the mean of its heads' projections",
            given=f"d = {d}, {num_heads} heads, {num_groups} groups",
            hint="cut the rows into heads, and the heads into groups",
            mistakes={
                "the first head of a group is not their mean": right[:, 0].flatten(0, 1),
                "the mean of the heads, not their sum": right.sum(dim=1).flatten(0, 1),
                "the first heads form the first group: heads 0 and 1, not heads 0 and 2": heads.unflatten(
                    0, (in_group, num_groups)
                )
                .mean(dim=0)
                .flatten(0, 1),
                "the mean is over heads, not over neighbouring rows of a head": W.unflatten(0, (-1, in_group)).mean(
                    dim=1
                ),
            },
        )
        expect_unchanged("W_k", argument, W)
    return "means over the heads of a group, neighbours together"
