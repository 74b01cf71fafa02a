"""Counting heads, and moving, cutting and grouping them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged
from d2lmini.exercises.prediction import Number, prediction

# Right answers with two heads of five and with none; removals that twins survive, worst and best order.
prediction(
    "predict-staircase",
    Number(
        "(a)",
        0.43,
        hint="how many questions are answered, how many guessed, and how often is a guess right?",
        mistakes={
            "the other three questions are guessed: is a guess never right?": 0.4,
            "that is what the guesses add; two questions are answered": 0.03,
            "guesses are right once in 20, not once in 4": 0.55,
            "how many letters are there in this task?": 0.45,
            "that is the share of questions that are only guessed": 0.6,
            "that counts questions; the task asks for a share of all answers": 2.15,
            "a share is a number between 0 and 1": 43,
        },
        tolerance=0.001,
    ),
    Number(
        "(b)",
        0.05,
        hint="each answer is a guess among 20 letters",
        mistakes={
            "without any head it still guesses": 0.0,
            "it guesses among the letters, not the questions": 0.2,
            "a share is a number between 0 and 1": 5,
        },
        tolerance=0.001,
    ),
    Number(
        "(c)",
        1,
        hint="the worst order takes a head, and then the one that could do its work",
        mistakes={
            "who chooses the order? After one twin, the other one may be next": 5,
            "the first head to go has a twin that does its work": 0,
            "the second head to go may be the twin of the first": 2,
        },
    ),
    Number(
        "(d)",
        5,
        hint="how many heads must stay, so that each question has one?",
        mistakes={
            "who answers then?": 10,
            "one head is left: which questions can it answer?": 9,
            "that is the worst order; here you choose": 1,
        },
    ),
    right="0.43 and 0.05; one removal in the worst order, five in the best",
)


@checker("gate-importance")
def check_gate_importance(gate_importance: Any) -> str:
    """`gate_importance(loss, num_heads, examples)` returns the mean of |dL/dgate| at gates 1, `(num_heads,)`."""
    expect_function(gate_importance)
    cases = (([3.0, -3.0, 0.0], [1.0, 2.0, 0.0], [-2.0, -5.0, 0.0]), ([1.0, -4.0], [-1.0, 3.0], [2.0, 2.0]))
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
            mistakes=_list_wrong_means(slopes),
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


def _list_wrong_means(slopes: Tensor) -> dict[str, Tensor]:
    return {
        "a gradient of 3 and one of -3 are two strong effects: do they cancel?": slopes.mean(dim=0),
        "the absolute value comes before the mean: 3 and -3 must not cancel": slopes.mean(dim=0).abs(),
        "the mean over the examples, not their sum": slopes.abs().sum(dim=0),
        "the sum of the gradients cancels, and a mean is asked for": slopes.sum(dim=0).abs(),
        "where is the trained model? At which gates is the gradient to be taken?": -slopes.mean(dim=0),
        "absolute values, not squares": slopes.square().mean(dim=0),
        "divide by the number of examples, not of heads": slopes.abs().sum(dim=0) / slopes.shape[1],
        "the largest example is not the mean": slopes.abs().amax(dim=0),
        "removing the head is ablation; here the gate is moved only a little": torch.zeros(slopes.shape[1]),
        "does each example begin with a gradient of 0, or does it add to that of the one before?": (
            slopes.cumsum(dim=0).abs().mean(dim=0)
        ),
    }


@checker("debug-cut")
def check_debug_cut(cut: Any) -> str:
    """`cut(W_q, W_k, W_v, W_o, num_heads, keep)`: rows of three matrices, columns of the last one."""
    expect_function(cut)
    for d, num_heads, keep in ((8, 4, [1, 3]), (6, 3, [2]), (8, 2, [0, 1]), (8, 4, [3, 1])):
        i = torch.arange(d)
        # readable: 203.1 is in row 3, column 1 of the third matrix
        W = 100.0 * torch.arange(4)[:, None, None] + i[:, None] + i / 10
        width = d // num_heads
        rows = [head * width + j for head in keep for j in range(width)]
        given = f"d = {d}, {num_heads} heads, keep {keep}"
        arguments = [matrix.clone() for matrix in W]
        found = cut(*arguments, num_heads, list(keep))
        if not isinstance(found, (tuple, list)) or len(found) != 4:
            raise WrongAnswer("it returns four matrices", "return W_q, W_k, W_v, W_o", given=given)
        for name, now, before in zip(("W_q", "W_k", "W_v", "W_o"), arguments, W, strict=True):
            expect_unchanged(name, now, before, "an assignment into a matrix changes the caller's matrix")
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


@checker("share-keys")
def check_share_keys(share_keys: Any) -> str:
    """`share_keys(W_k, num_heads, num_groups)` returns the mean projection of each group of heads."""
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
