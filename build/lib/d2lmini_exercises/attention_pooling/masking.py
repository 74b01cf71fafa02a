"""A masked softmax, and everything that it has to bear."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged, is_near
from d2lmini_exercises.extremes import LOW, OUTWEIGHED, OVERFLOW
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.same import IN_PLACE


@checker("debug-masked-softmax", trained=True)
def check_debug_masked_softmax(function: Any) -> str:
    """`masked_softmax(X, valid_lens)` freed of its faults; each shows on an input of its own."""
    expect_function(function)
    X = torch.tensor([[[0.0, 1, 2, 1], [1, 0, 0, 2]], [[2, 0, 1, 0], [0, 2, 2, 1]]])
    lens = torch.tensor([2, 3])
    given = f"{_write(X)}; {_write_lens(lens)}"
    _expect_weights(function, X, lens, given, "keep what worked: compare with the function you started from")
    (more,), code = draw_inputs(4, X=(3, 2, 5))
    hint = "does a number in your code stand for a size of the first example?"
    _expect_weights(function, more, torch.tensor([5, 1, 4]), f"{code}; valid_lens = torch.tensor([5, 1, 4])", hint)
    _expect_extreme_scores(function)
    expect_unchanged("X", X, X, IN_PLACE, given=given)
    expect_unchanged("valid_lens", lens, lens, IN_PLACE, given=given)
    _expect_empty_row(function, X)
    for lengths in ([0, 3], [2, 3], [1, 0]):
        _expect_gradient(function, X, torch.tensor(lengths))
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        _expect_dtype(function, X.to(dtype), lens)
    _expect_precision(function)
    return "right weights and gradients, arguments unchanged, extreme scores, empty rows, four dtypes"


def _expect_extreme_scores(function: Any) -> None:
    """A high score that is shown, one that is hidden, and scores that are all far below 0."""
    claim = "it is a softmax over the first valid_lens keys, whatever the scores"
    for scores, lens, factor, hint in (
        ([[[3, 2, 0]], [[1, 4, 5]]], [2, 3], "20000.0", OVERFLOW),
        ([[[0, 0, 3]], [[3, 0, 0]]], [2, 3], "20000.0", OUTWEIGHED),
        ([[[-2, -3, -3]], [[-2, -3, -3]]], [2, 1], "2.0**125", LOW),
        ([[[-3, -3, -3]], [[-3, -3, -3]]], [1, 1], "2.0**125", LOW),
    ):
        for dtype in (torch.float32, torch.float64):
            number = 20000.0 if factor == "20000.0" else 2.0**125
            X, own = number * torch.tensor(scores, dtype=dtype), torch.tensor(lens)
            given = f"X = {factor} * torch.tensor({scores}, dtype={dtype}); valid_lens = torch.tensor({lens})"
            expect_close(function(X, own), masked_softmax(X, own), claim=claim, given=given, hint=hint)


def _expect_precision(function: Any) -> None:
    """Scores that differ by 1 in float64, and are equal in float32."""
    X, lens = 1e8 + torch.tensor([[[0, 1, 2]]], dtype=torch.float64), torch.tensor([2])
    given = "X = 1e8 + torch.tensor([[[0, 1, 2]]], dtype=torch.float64); valid_lens = torch.tensor([2])"
    hint = "float64 holds numbers that float32 cannot: is X cast on the way?"
    expect_close(function(X, lens), masked_softmax(X, lens), claim="it works in float64", given=given, hint=hint)


def _expect_weights(function: Any, X: Tensor, lens: Tensor, given: str, hint: str) -> None:
    masked = torch.arange(X.shape[2]) >= lens[:, None, None]
    expect_close(
        function(X, lens),
        masked_softmax(X, lens),
        claim="it is a softmax over the first valid_lens keys",
        given=given,
        hint=hint,
        mistakes={
            "rows now sum to less than 1: mask the scores, not the weights": masked_softmax(X).masked_fill(masked, 0),
            "the lengths are not used": masked_softmax(X),
            "e⁰ is 1: a score of 0 still gets a weight": masked_softmax(X.masked_fill(masked, 0)),
            "one key too many: with length 2 the keys 0 and 1 count": masked_softmax(
                X, (lens + 1).clamp(max=X.shape[2])
            ),
            "the wrong keys are hidden: the first valid_lens are the ones that count": masked_softmax(X, mask=masked),
        },
    )


def _expect_empty_row(function: Any, X: Tensor) -> None:
    for lens in (torch.tensor([0, 3]), torch.tensor([2, 0])):
        expect_close(
            function(X, lens),
            masked_softmax(X, lens),
            claim="a query that may attend to nothing gets weights 0",
            given=f"{_write(X)}; {_write_lens(lens)}",
            hint="compare each row's sum with the number of keys it may see",
            mistakes={
                "0 divided by 0: a row of -inf has no softmax, so treat it apart": _fill_row(X, lens, math.nan),
                "the row has no key, yet its weights add up to 1": _fill_row(X, lens, 1 / X.shape[2]),
            },
        )
    lens = torch.tensor([0, 3])
    function(X, lens)
    expect_unchanged("valid_lens", lens, lens, IN_PLACE, given=f"{_write(X)}; {_write_lens(lens)}")


def _fill_row(X: Tensor, lens: Tensor, number: float) -> Tensor:
    """The right weights, and this number in place of those of a query without keys."""
    return masked_softmax(X, lens).where((lens > 0)[:, None, None], number)


def _expect_gradient(function: Any, X: Tensor, lens: Tensor) -> None:
    """The gradient of a sum with unequal factors is the right one, also where a row is empty."""
    leaf, own = X.clone().requires_grad_(), X.clone().requires_grad_()
    factors = torch.arange(1.0, 1 + X.numel()).reshape(X.shape)
    (masked_softmax(own, lens) * factors).sum().backward()
    claim, given = "its gradient is that of the masked softmax", f"{_write(X)}; {_write_lens(lens)}"
    cut = "what cuts the weights off from X? .data, detach(), item() and a new tensor do"
    try:
        weights = function(leaf, lens)
        if not isinstance(weights, Tensor) or not weights.requires_grad:
            raise WrongAnswer(claim, cut, given=given, got="no gradient")
        (weights * factors).sum().backward()
    except RuntimeError as error:
        hint = "a tensor that PyTorch needs for the gradient was written into: make a new one instead"
        raise WrongAnswer(claim, hint, given=given, got=str(error).partition(":")[0]) from error
    if leaf.grad is not None and not leaf.grad.isfinite().all():
        hint = "to replace NaN at the end is too late for the gradient: let no row of -inf reach the softmax"
        raise WrongAnswer(claim, hint, given=given, expected=own.grad, got=leaf.grad)
    if leaf.grad is None or (own.grad is not None and not is_near(leaf.grad, own.grad, 1e-4)):
        lost = leaf.grad is None or not leaf.grad.any()
        hint = cut if lost else "is a part of the way from X to the weights cut off?"
        raise WrongAnswer(claim, hint, given=given, expected=own.grad, got=leaf.grad)


def _expect_dtype(function: Any, X: Tensor, lens: Tensor) -> None:
    claim, hint = f"it works in {X.dtype}", "does every constant in your code fit? float16 ends at 65504"
    given = f"{_write(X)}; {_write_lens(lens)}"
    try:
        weights = function(X, lens)
    except RuntimeError as error:
        got = str(error).partition("\n")[0]
        raise WrongAnswer(claim, hint, given=given, got=got) from error
    expect_close(weights, masked_softmax(X, lens), claim=claim, given=given, hint=hint, tolerance=2e-3)
    if weights.dtype != X.dtype:
        hint = "does a constant, or a cast on the way, change it? Cast the weights back"
        raise WrongAnswer("the weights have the dtype of X", hint, given=given, expected=X.dtype, got=weights.dtype)


def _write(X: Tensor) -> str:
    dtype = "" if X.dtype == torch.float32 else f".to({X.dtype})"
    return f"X = torch.tensor({X.tolist()}){dtype}"


def _write_lens(lens: Tensor) -> str:
    return f"valid_lens = torch.tensor({lens.tolist()})"
