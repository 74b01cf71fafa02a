"""A masked softmax, and everything that it has to bear."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.core import WrongAnswer
from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.extremes import LOW, OUTWEIGHED, OVERFLOW


def softmax(
    X: Tensor, valid_lens: Tensor, *, fill: float = -math.inf, empty: float | None = 0.0, more: int = 0
) -> Tensor:
    """Right unless told otherwise."""
    hidden, nothing = ~show(X, valid_lens + more), (valid_lens == 0)[:, None, None]
    if empty is None:
        return X.masked_fill(hidden, fill).softmax(-1)
    return X.masked_fill(hidden & ~nothing, fill).softmax(-1).masked_fill(nothing, empty)


def show(X: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(X.shape[2]) < valid_lens[:, None, None]


def use(answer: Any, X: Tensor, valid_lens: Tensor) -> Any:
    """The weights, in the dtype of the scores."""
    try:
        weights = answer(X, valid_lens)
    except RuntimeError as error:
        if X.dtype == torch.float32:
            raise
        raise WrongAnswer(f"it works in {X.dtype}", FIT, got=str(error).partition("\n")[0]) from error
    if isinstance(weights, Tensor) and weights.dtype != X.dtype:
        hint = "does a constant, or a cast on the way, change it? Cast the weights back"
        raise WrongAnswer("the weights have the dtype of X", hint, expected=X.dtype, got=weights.dtype)
    return weights


FIT = "does every constant in your code fit? float16 ends at 65504"
PLAIN = "X = torch.tensor([[[0.0, 1, 2, 1], [1, 0, 0, 2]], [[2, 0, 1, 0], [0, 2, 2, 1]]])"
exercise(
    "debug-masked-softmax",
    softmax,
    (
        Case(
            f"{PLAIN}; valid_lens = torch.tensor([2, 3])",
            "keep what worked: compare with the function you started from",
        ),
        Case(
            f"{draw(4, X=(3, 2, 5))}; valid_lens = torch.tensor([5, 1, 4])",
            "does a number in your code stand for a size of the first example?",
        ),
        *(
            Case(
                f"X = {factor} * torch.tensor({scores}, dtype={dtype}); valid_lens = torch.tensor({lens})",
                hint,
                "it is a softmax over the first valid_lens keys, whatever the scores",
                trained=False,
            )
            for scores, lens, factor, hint in (
                ([[[3, 2, 0]], [[1, 4, 5]]], [2, 3], "20000.0", OVERFLOW),
                ([[[0, 0, 3]], [[3, 0, 0]]], [2, 3], "20000.0", OUTWEIGHED),
                ([[[-2, -3, -3]], [[-2, -3, -3]]], [2, 1], "2.0**125", LOW),
                ([[[-3, -3, -3]], [[-3, -3, -3]]], [1, 1], "2.0**125", LOW),
            )
            for dtype in (torch.float32, torch.float64)
        ),
        *(
            Case(
                f"{PLAIN}; valid_lens = torch.tensor({lens})",
                "compare each row's sum with the number of keys it may see",
                "a query that may attend to nothing gets weights 0",
            )
            for lens in ([0, 3], [2, 0])
        ),
        *(
            Case(
                f"{PLAIN}.to({dtype}); valid_lens = torch.tensor([2, 3])",
                FIT,
                f"it works in {dtype}",
                2e-3,
                trained=False,
            )
            for dtype in (torch.float16, torch.bfloat16, torch.float64)
        ),
        Case(
            "X = 1e8 + torch.tensor([[[0, 1, 2]]], dtype=torch.float64); valid_lens = torch.tensor([2])",
            "float64 holds numbers that float32 cannot: is X cast on the way?",
            "it works in float64",
            trained=False,
        ),
    ),
    {
        "rows now sum to less than 1: mask the scores, not the weights": lambda X, lens: X.softmax(-1) * show(X, lens),
        "the lengths are not used": lambda X, lens: X.softmax(-1),
        "e⁰ is 1: a score of 0 still gets a weight": {"fill": 0.0},
        "one key too many: with length 2 the keys 0 and 1 count": {"more": 1},
        "the wrong keys are hidden: the first valid_lens are the ones that count": (
            lambda X, lens: masked_softmax(X, mask=~show(X, lens))
        ),
        LOW: {"fill": -1e6, "empty": None},
        "0 divided by 0: a row of -inf has no softmax, so treat it apart": {"empty": math.nan},
        "the row has no key, yet its weights add up to 1": {"fill": torch.finfo(torch.float32).min, "empty": None},
    },
    claim="it is a softmax over the first valid_lens keys",
    verified="right weights and gradients, arguments unchanged, extreme scores, empty rows, four dtypes",
    hint="",
    use=use,
    trained=True,
)
