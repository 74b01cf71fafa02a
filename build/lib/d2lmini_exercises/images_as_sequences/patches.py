"""What a patch is, and how it becomes a token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_shape,
    is_near,
)
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.prediction import Number, prediction

# Tokens of a photograph, numbers of a token, growth of mixing and of the projections.
prediction(
    "predict-patches",
    Number(
        "(a)",
        196,
        hint="how many patches lie side by side, and how many such rows are there?",
        mistakes={
            "these are the patches of one row of the grid: how many such rows are there?": 14,
            "these are the pixels: a token is a whole patch": 50176,
            "the three colours of a patch are in one token": 588,
            "(10.1): divide by the side of a patch twice": 3136,
            "there is no class token here": 197,
        },
    ),
    Number(
        "(b)",
        768,
        hint="how many pixels has a patch, and how many numbers has a pixel?",
        mistakes={
            "each pixel has three colours": 256,
            "a patch is a square: 16 pixels are one row of it": 48,
            "a patch is a square, and each pixel has three colours": 16,
            "that is how many patches there are: how many numbers are in one?": 196,
        },
    ),
    Number(
        "(c)",
        256,
        hint="put s = 16 and s = 4 into (10.2)",
        mistakes={
            "that is how the number of tokens grows: mixing goes with its square": 16,
            "a quarter of the side: how many small patches fit into a large one?": 4,
            "put both sides into (10.2)": 64,
            "smaller patches are more of them": 1 / 256,
        },
    ),
    Number(
        "(d)",
        16,
        hint="each token is projected by itself: what grows is their number",
        mistakes={
            "each token is projected by itself: no pairs": 256,
            "a quarter of the side: how many small patches fit into a large one?": 4,
            "each token is projected, and there are more of them": 1,
            "four projections before, four projections after: which factor is between the two?": 64,
        },
    ),
    right="196, 768, 256 and 16: all four are right",
)


def _split_sides(X: Tensor, size: int) -> Tensor:
    """Each side split in two: `(batch, channels, rows, size, columns, size)`."""
    return X.unflatten(3, (-1, size)).unflatten(2, (-1, size))


@checker("patchify")
def check_patchify(patchify: Any) -> str:
    """`patchify(X, size)`: square patches of pictures with several channels, pixel by pixel."""
    expect_function(patchify)
    for seed, shape, size in (
        (1, (2, 3, 4, 6), 2),
        (2, (1, 2, 6, 9), 3),
        (3, (3, 1, 8, 4), 4),
        (4, (2, 4, 2, 3), 1),
        (5, (2, 2, 3, 3), 3),
    ):
        (X,), draw = draw_inputs(seed, most=99, X=shape)
        expect_close(
            patchify(X, size),
            _split_sides(X, size).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2),
            claim="each token is a patch, pixel by pixel",
            given=f"{draw}; size = {size}",
            hint="redraw your tokens: paint token 0 over the upper left patch",
            mistakes=_list_wrong_patches(X, size),
        )
    for height, width, size in (
        (4, 5, 2),
        (5, 4, 2),
        (5, 5, 2),
        (2, 8, 4),
        (8, 2, 4),
        (3, 3, 6),
        (8, 6, 4),
        (6, 8, 4),
        (4, 9, 6),
        (9, 4, 6),
    ):
        _expect_refusal(patchify, height, width, size)
    return "patches of one to four channels, row by row, and an error where they do not fit"


def _list_wrong_patches(X: Tensor, size: int) -> dict[str, Tensor | tuple[Tensor, ...]]:
    grid = _split_sides(X, size)
    shape = len(X), grid.shape[2] * grid.shape[4], X.shape[1] * size**2

    def order(*dims: int) -> Tensor:
        return grid.permute(0, *dims).reshape(shape)

    return {
        "within a patch: pixel by pixel. Yours has one channel after the other": order(2, 4, 1, 3, 5),
        "these numbers are no patch: redraw them. Which pixels are in your token 0?": (
            X.reshape(shape),
            X.permute(0, 2, 3, 1).reshape(shape),
            X.flatten(2).mT.reshape(shape),
        ),
        "within a patch: row by row, not column by column": (order(2, 4, 5, 3, 1), order(2, 4, 1, 5, 3)),
        "token 1 lies to the right of token 0, not below it": (order(4, 2, 3, 5, 1), order(4, 2, 1, 3, 5)),
        "rows and columns are swapped, in the grid and in the patch": (order(4, 2, 5, 3, 1), order(4, 2, 1, 5, 3)),
        "all channels of a patch in one token": (order(1, 2, 4, 3, 5), order(1, 2, 4, 5, 3)),
        "the channels of a pixel in their order: channel 0 first": order(2, 4, 3, 5, 1)
        .unflatten(2, (-1, X.shape[1]))
        .flip(3)
        .flatten(2),
    }


def _expect_refusal(patchify: Any, height: int, width: int, size: int) -> None:
    claim = "sizes that do not fit are a ValueError"
    given = f"X = torch.zeros(1, 1, {height}, {width}); size = {size}"
    try:
        found = patchify(torch.zeros(1, 1, height, width), size)
    except ValueError:
        return
    except (AssertionError, RuntimeError) as error:
        hint = "raise ValueError(...) yourself, before anything is reshaped"
        raise WrongAnswer(claim, hint, given=given, got=type(error).__name__) from error
    if isinstance(found, BaseException):
        raise WrongAnswer(
            claim, "raise it: return would hand it on like a result", given=given, got=type(found).__name__
        )
    hint = "what became of the last row or column? Check the height and the width, each by itself"
    raise WrongAnswer(claim, hint, given=given, got=found)


@checker("debug-patch-tokens")
def check_debug_patch_tokens(tokens: Any) -> str:
    """`tokens(X, W, P)`: patches of digits, projected, with positions."""
    expect_function(tokens)
    for seed, batch, d in ((1, 3, 5), (2, 1, 2), (3, 2, 3)):
        (X, W, P), draw = draw_inputs(seed, most=7, X=(batch, 8, 8), W=(d, 4), P=(16, d))
        X = X + 7  # from 0 to 14: no digit of the batch has a pixel of 16
        vars(X)["given"] = given = f"{draw}; X = X + 7"
        got = _run(tokens, X, W, P, given)
        expected = _cut(X / 16) @ W.T + P
        hint = "" if is_near(got, expected, 1e-4) else _find_token_fault(tokens, X, W, P, given)
        expect_close(got, expected, claim="they are the tokens of the digits", given=given, hint=hint)
    return "patches of the digit alone, from 0 to 1, each with a position of its own"


def _cut(X: Tensor) -> Tensor:
    return F.unfold(X[:, None], kernel_size=2, stride=2).mT


def _run(tokens: Any, X: Tensor, W: Tensor, P: Tensor, given: str) -> Tensor:
    claim, hint = "it returns (batch, 16, d)", "sixteen tokens for each digit"
    return expect_shape(tokens(X, W, P), (len(X), 16, len(W)), claim=claim, hint=hint, given=given)


def _find_token_fault(tokens: Any, X: Tensor, W: Tensor, P: Tensor, given: str) -> str:
    bare = _run(tokens, X, W, torch.zeros_like(P), given)
    brighter = torch.cat([X[:1], X + 2])
    beside = _run(tokens, brighter, W, torch.zeros_like(P), given)
    if not torch.allclose(beside[0].float(), bare[0].float(), atol=1e-4) and not bare.isnan().any():
        return "the tokens of a digit depend on the digits beside it: which number is taken over the whole batch?"
    for hint, wrong in _list_wrong_tokens(X).items():
        if is_near(bare, wrong @ W.T, 1e-4):
            return hint
    if not is_near(bare, _cut(X / 16) @ W.T, 1e-4):
        return "take P = 0: print the four numbers of token 0, and look for them in X[0]"
    added = _run(tokens, X, torch.zeros_like(W), P, given)
    for hint, wrong in _list_wrong_positions(P, len(X)).items():
        if is_near(added, wrong.expand(len(X), 16, len(W)), 1e-4):
            return hint
    return "take W = 0: which row of P does token 5 get?"


def _list_wrong_tokens(X: Tensor) -> dict[str, Tensor]:
    grid, batch = _split_sides(X[:, None] / 16, 2), len(X)
    return {
        "redraw the tokens: these four numbers lie in one row of the digit": (X / 16).reshape(batch, 16, 4),
        "the order of the patches: the second one lies to the right of the first": (
            grid.permute(0, 1, 4, 2, 3, 5).reshape(batch, 16, 4)
        ),
        "the order within a patch: row by row": grid.permute(0, 1, 2, 4, 5, 3).reshape(batch, 16, 4),
        "a pixel has at most 16: bring it into the range 0 to 1": _cut(X),
        "divide by a constant: a faint digit stays faint": _cut(X / X.amax(dim=(1, 2), keepdim=True)),
        "16 is the largest pixel of the whole data set, 255 that of other ones": _cut(X / 255),
        "once is enough: a pixel of 16 becomes 1": _cut(X / 256),
    }


def _list_wrong_positions(P: Tensor, batch: int) -> dict[str, Tensor]:
    return {
        "the upper left and the lower left patch stand at the same place": P[:4].repeat(4, 1),
        "all patches of a row stand at the same place": P[:4].repeat_interleave(4, 0),
        "positions belong to tokens: yours belong to the digits of the batch": P[:batch, None],
        "all tokens stand at the same place": P[0],
        "where are the positions?": torch.zeros_like(P),
        "P belongs to tokens, not to pixels: it is added after the projection, as it is": P / 16,
    }
