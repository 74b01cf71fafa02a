"""Answers to the exercises: counting heads, and moving, cutting and grouping them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def take(d: int, num_heads: int, keep: list[int]) -> list[int]:
    width = d // num_heads
    return [head * width + j for head in keep for j in range(width)]


def cut(
    choose: Any = take,
    *,
    columns: Any = None,
    bias: Any = None,
    factor: float = 0.0,
    output_factor: float = 0.0,
    parts: tuple[int, ...] = (0, 1, 2),
) -> Any:
    """The layer with the heads in keep, right unless told otherwise."""

    def answer(
        W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        d, share = len(W_out), num_heads / len(keep)
        rows = choose(d, num_heads, keep)
        matrices, biases = ([part.chunk(3)[i][rows] for i in parts] for part in (W_in, b_in))
        matrices[-1] = matrices[-1] * share**factor
        b = torch.cat(biases) if bias is None else bias(b_in, rows)
        out = W_out[:, (columns or choose)(d, num_heads, keep)]
        return torch.cat(matrices), b, out * share**output_factor

    return answer


def by_turns(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return [row for row in range(d) if row % num_heads in keep]


def by_turns_in_order(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return [row for head in keep for row in range(head, d, num_heads)]


def in_rising_order(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return [row for row in range(d) if row // (d // num_heads) in keep]


def first_rows(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return [*range(d // num_heads * len(keep))]


def those_that_go(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return take(d, num_heads, [head for head in range(num_heads) if head not in keep])


def wrong_width(d: int, num_heads: int, keep: list[int]) -> list[int]:
    return [row for head in keep for row in range(head * num_heads, (head + 1) * num_heads) if row < d]


def cut_by_unflatten(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> list[Tensor]:
    rows = W_in.unflatten(0, (3, num_heads, -1))[:, keep].flatten(0, 2)
    return [
        rows,
        b_in.view(3, num_heads, -1)[:, keep].flatten(),
        W_out.unflatten(1, (num_heads, -1))[:, keep].flatten(1),
    ]


def cut_by_selection(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> tuple[Any, ...]:
    S = torch.kron(torch.eye(num_heads)[keep], torch.eye(len(W_out) // num_heads))
    S3 = torch.block_diag(S, S, S)
    return (S3 @ W_in).numpy(), (S3 @ b_in).numpy(), (W_out @ S.T).numpy()


def cut_in_place(*arguments: Any) -> Any:
    found = cut()(*arguments)
    arguments[0].zero_()
    return found


def same_rows_thrice(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> Any:
    rows = take(len(W_out), num_heads, keep)
    return W_in[rows].repeat(3, 1), b_in[rows].repeat(3), W_out[:, rows]


def head_by_head(W_in: Tensor, b_in: Tensor, W_out: Tensor, num_heads: int, keep: list[int]) -> Any:
    found = cut_by_unflatten(W_in, b_in, W_out, num_heads, keep)
    return [part.unflatten(0, (3, len(keep), -1)).transpose(0, 1).flatten(0, 2) for part in found[:2]] + found[2:]


RIGHT: dict[str, list[Any]] = {
    "predict-staircase": [(0.43, 0.05, 1, 5), torch.tensor([0.43, 0.05, 1, 5])],
    "debug-cut": [cut(), cut_by_unflatten, cut_by_selection],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-staircase", (0.5, 0.05, 1, 5), "how many guessed"),
    ("predict-staircase", (0.43, 0.05, 1, 4), "how many heads must stay"),
    (
        "debug-cut",
        cut(by_turns, factor=1, columns=first_rows, bias=lambda b, rows: b[: 3 * len(rows)]),
        "a head's rows are neighbours",
    ),
    ("debug-cut", cut(by_turns), "a head's rows are neighbours"),
    ("debug-cut", cut(by_turns_in_order), "a head's rows are neighbours"),
    ("debug-cut", cut(columns=by_turns_in_order), "a head's columns are neighbours"),
    ("debug-cut", lambda *a: (*cut()(*a)[:2], a[2][take(len(a[2]), *a[3:])]), "its columns, not its rows"),
    ("debug-cut", lambda *a: (*cut()(*a)[:2], cut()(*a)[2].T), "its columns, not its rows"),
    ("debug-cut", cut(in_rising_order), "which head comes first?"),
    ("debug-cut", cut(those_that_go), "names the heads that stay"),
    ("debug-cut", cut(first_rows), "not to those that are kept"),
    ("debug-cut", cut(wrong_width), "how wide is a head?"),
    ("debug-cut", cut(lambda d, h, keep: keep), "shape of each step"),
    ("debug-cut", cut(factor=1), "who would undo the factor"),
    ("debug-cut", cut(bias=lambda b, rows: b[: 3 * len(rows)]), "whatever you have cut"),
    ("debug-cut", cut(bias=lambda b, rows: b[rows].repeat(3)), "where do those of the keys begin?"),
    ("debug-cut", cut(bias=lambda b, rows: b), "shape of each step"),
    ("debug-cut", same_rows_thrice, "where do those of the keys begin?"),
    ("debug-cut", head_by_head, "all of them; then those of the keys"),
    ("debug-cut", cut(parts=(0, 2, 1)), "first queries, then keys, then values"),
    ("debug-cut", cut(columns=first_rows), "the first columns belong to the first heads"),
    ("debug-cut", cut(columns=by_turns), "a head's columns are neighbours"),
    ("debug-cut", cut(columns=in_rising_order), "which head comes first?"),
    ("debug-cut", cut(columns=lambda d, h, keep: take(d, h, keep)[::-1]), "which columns of W_out meet"),
    ("debug-cut", cut(output_factor=1), "write more than before"),
    ("debug-cut", lambda *a: cut()(*a)[:2], "return W_in, b_in, W_out"),
    ("debug-cut", lambda *a: [part + 1 for part in cut()(*a)], "which head did it belong to?"),
    ("debug-cut", cut_in_place, "works in place"),
]
