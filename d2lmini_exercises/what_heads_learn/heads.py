"""Counting heads, and cutting them out."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import exercise
from d2lmini_exercises.prediction import Number, prediction

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


def take(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return [head * (d // num_heads) + j for head in keep for j in range(d // num_heads)]


def stack(whole: Tensor, rows: list[int], heads: int, order: tuple[int, ...] = (0, 1, 2)) -> Tensor:
    """These rows of each of the three parts."""
    return whole.unflatten(0, (3, -1))[[*order]][:, rows].flatten(0, 1)


def cut(
    W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int],
    *, rows: Any = take, columns: Any = None, split: Any = stack, bias: Any = None, scaled: tuple[int, ...] = (),
) -> tuple[Tensor, ...]:  # fmt: skip
    """The layer with the heads in keep, right unless told otherwise."""
    own, d, share = rows(len(W_out), num_heads, keep), len(W_out), num_heads / len(keep)
    found = [split(W_in, own, len(keep)), (bias or split)(b_in, own, len(keep))]
    found.append(W_out[:, (columns or rows)(d, num_heads, keep)])
    for i in scaled:
        n = 0 if i == 2 else 2 * len(found[i]) // 3  # of the first two the values alone
        found[i] = torch.cat([found[i][:n], found[i][n:] * share])
    return tuple(found)


def by_head(whole: Tensor, rows: list[int], heads: int) -> Tensor:
    return stack(whole, rows, heads).unflatten(0, (3, heads, -1)).transpose(0, 1).flatten(0, 2)


def either(how: Any) -> tuple[dict[str, Any], ...]:
    return {"split": how}, {"bias": how}


BY_TURNS = (
    lambda d, h, keep: [row for row in range(d) if row % h in keep],
    lambda d, h, keep: [row for head in keep for row in range(head, d, h)],
)
RISING = lambda d, h, keep: take(d, h, sorted(keep))  # noqa: E731
FIRST = lambda d, h, keep: [*range(d // h * len(keep))]  # noqa: E731
exercise(
    "debug-cut",
    cut,
    tuple(
        f"d, num_heads, keep = {d}, {h}, {keep}; i = torch.arange(float(d)); "
        "W_in = torch.cat([100.0 * part + i[:, None] + i / 100 for part in range(3)]); b_in = W_in[:, 0] + 0.5; "
        "W_out = 300 + i[:, None] + i / 100  # 203.01: row 3, column 1 of the third matrix"
        for d, h, keep in ((8, 4, [3, 1]), (12, 3, [2, 0]), (12, 6, [1, 2, 5]), (6, 3, [1]), (8, 2, [0, 1]))
    ),
    {
        "row 1 and row 0 belong to the same head: a head's rows are neighbours": tuple(
            {"rows": rows} for rows in BY_TURNS
        ),
        "keep = [3, 1]: which head comes first?": ({"rows": RISING}, {"columns": RISING}),
        "keep names the heads that stay": {
            "rows": lambda d, h, keep: take(d, h, [head for head in range(h) if head not in keep])
        },
        "the first rows belong to the first heads, not to those that are kept": {"rows": FIRST},
        "how wide is a head? d divided by the number of heads": {
            "rows": lambda d, h, keep: [row for head in keep for row in range(head * h, (head + 1) * h) if row < d]
        },
        "a head has several rows": {"rows": lambda d, h, keep: keep},
        "a head that stays must write what it wrote; who would undo the factor?": (
            {"scaled": (0,)},
            {"scaled": (0, 1)},
        ),
        "queries, keys and values have rows of their own: where do those of the keys begin?": either(
            lambda whole, rows, heads: torch.cat([whole[rows]] * 3)
        ),
        "the rows of the queries come first, all of them; then those of the keys": either(by_head),
        "the first rows are rows of the queries, whatever you have cut": either(
            lambda whole, rows, heads: whole[: 3 * len(rows)]
        ),
        "first queries, then keys, then values": tuple(
            {"split": partial(stack, order=order)} for order in ((1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 0, 2), (0, 1, 1))
        ),
        "column 1 and column 0 belong to the same head: a head's columns are neighbours": tuple(
            {"columns": columns} for columns in BY_TURNS
        ),
        "the first columns belong to the first heads, not to those that are kept": {"columns": FIRST},
        "W_out is applied to what the heads have found: one number of it meets its columns, not its rows": (
            lambda *given: (*cut(*given)[:2], cut(*given)[2].mT),
            lambda W, b, W_out, *heads: (*cut(W, b, W_out, *heads)[:2], cut(W, b, W_out.mT, *heads)[2].mT),
        ),
        "with the columns scaled, the heads would write more than before": {"scaled": (2,)},
    },
    claim="{} keeps what belongs to the heads in keep",
    verified="rows and columns of the same heads, in the order of keep, and no other factor",
    hint="print the first number of each row, and of each column of W_out, that is left: which head did it belong to?",
    parts=("W_in", "b_in", "W_out"),
    together=4,
)
