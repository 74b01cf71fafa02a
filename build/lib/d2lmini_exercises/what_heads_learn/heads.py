"""Counting heads, and cutting them out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.convert import convert_tensor
from d2lmini_exercises.core import WrongAnswer, checker, expect_close, expect_function
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


_COLUMNS = "W_out keeps what belongs to the heads in keep"
_MATRICES = (
    "i = torch.arange(float(d)); W_in = torch.cat([100.0 * part + i[:, None] + i / 100 for part in range(3)]); "
    "b_in = W_in[:, 0] + 0.5; W_out = 300 + i[:, None] + i / 100  # 203.01: row 3, column 1 of the third matrix"
)


@checker("debug-cut")
def check_debug_cut(cut: Any) -> str:
    """`cut(W_in, b_in, W_out, num_heads, keep)`: rows of three matrices in one, columns of the last one."""
    expect_function(cut)
    for d, num_heads, keep in ((8, 4, [3, 1]), (12, 3, [2, 0]), (12, 6, [1, 2, 5]), (6, 3, [1]), (8, 2, [0, 1])):
        # readable: 203.01 is in row 3, column 1 of the third matrix
        i = torch.arange(float(d))
        W_in = torch.cat([100.0 * part + i[:, None] + i / 100 for part in range(3)])  # (3d, d)
        W_out = 300 + i[:, None] + i / 100
        b_in = W_in[:, 0] + 0.5
        given = f"d, num_heads, keep = {d}, {num_heads}, {keep}; {_MATRICES}"
        vars(W_in)["given"] = given  # for a report on an answer that stops
        found = cut(W_in, b_in, W_out, num_heads, keep)
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise WrongAnswer("it returns three tensors", "return W_in, b_in, W_out", given=given)
        _expect_rows("W_in", found[0], W_in, num_heads, keep, given)
        _expect_rows("b_in", found[1], b_in, num_heads, keep, given)
        _expect_columns(found[2], W_out, num_heads, keep, given)
    return "rows and columns of the same heads, in the order of keep, and no other factor"


def _take(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return [head * (d // num_heads) + j for head in keep for j in range(d // num_heads)]


def _list_wrong_rows(d: int, num_heads: int, keep: list[int]) -> dict[str, list[list[int]]]:
    gone = [head for head in range(num_heads) if head not in keep]
    blocks = [head * num_heads + j for head in keep for j in range(num_heads)]
    return {
        "row 1 and row 0 belong to the same head: a head's rows are neighbours": [
            [row for row in range(d) if row % num_heads in keep],
            [row for head in keep for row in range(head, d, num_heads)],
        ],
        f"keep = {keep}: which head comes first?": [_take(d, num_heads, sorted(keep))],
        "keep names the heads that stay": [_take(d, num_heads, gone)],
        "the first rows belong to the first heads, not to those that are kept": [[*range(d // num_heads * len(keep))]],
        "how wide is a head? d divided by the number of heads": [[row for row in blocks if row < d]],
        "a head has several rows": [keep],
    }


def _expect_rows(name: str, got: Any, matrix: Tensor, num_heads: int, keep: list[int], given: str) -> None:
    d = len(matrix) // 3
    parts, factor = matrix.chunk(3), num_heads / len(keep)

    def choose(rows: list[int], factor: float = 1.0) -> Tensor:
        return torch.cat([parts[0][rows], parts[1][rows], parts[2][rows] * factor])

    right = _take(d, num_heads, keep)
    mistakes: dict[str, Tensor | tuple[Tensor, ...]] = {
        hint: tuple(choose(rows, by) for rows in wrong for by in (1.0, factor))
        for hint, wrong in _list_wrong_rows(d, num_heads, keep).items()
    }
    mistakes["a head that stays must write what it wrote; who would undo the factor?"] = choose(right, factor)
    mistakes["queries, keys and values have rows of their own: where do those of the keys begin?"] = matrix[
        right
    ].repeat(3, *[1] * (matrix.dim() - 1))
    mistakes["the rows of the queries come first, all of them; then those of the keys"] = torch.cat(
        [part[_take(d, num_heads, [head])] for head in keep for part in parts]
    )
    mistakes["the first rows are rows of the queries, whatever you have cut"] = matrix[: 3 * len(right)]
    mistakes["first queries, then keys, then values"] = tuple(
        torch.cat([parts[i][right] for i in order]) for order in ((1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 0, 2), (0, 1, 1))
    )
    expect_close(
        got,
        choose(right),
        claim=f"{name} keeps what belongs to the heads in keep",
        given=given,
        hint="print the first number of each row that is left: which head did it belong to?",
        mistakes=mistakes,
    )


def _expect_columns(got: Any, W_out: Tensor, num_heads: int, keep: list[int], given: str) -> None:
    d, factor = len(W_out), num_heads / len(keep)
    right = _take(d, num_heads, keep)
    mistakes: dict[str, Tensor | tuple[Tensor, ...]] = {
        hint.replace("rows", "columns").replace("row 1 and row 0", "column 1 and column 0"): tuple(
            W_out[:, columns] for columns in wrong
        )
        for hint, wrong in _list_wrong_rows(d, num_heads, keep).items()
    }
    mistakes["with the columns scaled, the heads would write more than before"] = W_out[:, right] * factor
    found = convert_tensor(got, W_out[:, right])
    if found is not None and found.shape == (len(right), d) != (d, len(right)):
        hint = "W_out is applied to what the heads have found: one number of it meets its columns, not its rows"
        raise WrongAnswer(_COLUMNS, hint, given=given, expected=(d, len(right)), got=tuple(found.shape))
    expect_close(
        got,
        W_out[:, right],
        claim=_COLUMNS,
        given=given,
        hint="which columns of W_out meet the numbers of these heads?",
        mistakes=mistakes,
    )
