"""What a patch is, how it becomes a token, and what it costs to hide it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_measured,
    expect_shape,
    expect_unchanged,
)
from d2lmini.exercises.prediction import Number, prediction

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
            "(9.1): divide by the side of a patch twice": 3136,
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
        hint="put s = 16 and s = 4 into (9.2)",
        mistakes={
            "that is how the number of tokens grows: mixing goes with its square": 16,
            "a quarter of the side: how many small patches fit into a large one?": 4,
            "put both sides into (9.2)": 64,
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


def _cut(X: Tensor, size: int) -> Tensor:
    """`(batch, channels, H, W)` to `(batch, n, channels * size * size)`."""
    return F.unfold(X, kernel_size=size, stride=size).mT


def _paste(tokens: Tensor) -> Tensor:
    """The pictures of 8 by 8 pixels with these sixteen patches of 2 by 2."""
    return F.fold(tokens.mT, output_size=(8, 8), kernel_size=2, stride=2)[:, 0]


def _split_sides(X: Tensor, size: int) -> Tensor:
    """Each side split in two: `(batch, channels, rows, size, columns, size)`."""
    return X.unflatten(3, (-1, size)).unflatten(2, (-1, size))


@checker("patchify")
def check_patchify(patchify: Any) -> str:
    """`patchify(X, size)`: square patches of pictures with several channels."""
    expect_function(patchify)
    for shape, size in (((2, 1, 4, 6), 2), ((2, 3, 4, 6), 2), ((1, 2, 6, 9), 3)):
        X = torch.randn(shape)
        before = X.clone()
        expect_close(
            patchify(X, size),
            _cut(before, size),
            claim="each token is a patch",
            given=f"random X of shape {shape}, size={size}",
            hint="redraw your tokens: paint token 0 over the upper left patch",
            mistakes=_list_wrong_patches(before, size),
        )
        expect_unchanged("X", X, before)
    for height, width in ((4, 5), (5, 4), (5, 5)):
        _expect_refusal(patchify, height, width)
    return "patches of one and of several channels, row by row, and an error where they do not fit"


def _list_wrong_patches(X: Tensor, size: int) -> dict[str, Tensor]:
    grid, shape = _split_sides(X, size), _cut(X, size).shape

    def order(*dims: int) -> Tensor:
        return grid.permute(0, *dims).reshape(shape)

    return {
        "these numbers are no patch: redraw them. Which pixels are in your token 0?": X.reshape(shape),
        "the numbers of a token lie in one channel, but not in one patch": X.flatten(2).mT.reshape(shape),
        "within a patch: row by row, not column by column": order(2, 4, 1, 5, 3),
        "token 1 lies to the right of token 0, not below it": order(4, 2, 1, 3, 5),
        "rows and columns are swapped, in the grid and in the patch": order(4, 2, 1, 5, 3),
        "within a patch: all of channel 0 first, then channel 1": order(2, 4, 3, 5, 1),
        "all channels of a patch in one token": order(1, 2, 4, 3, 5),
    }


def _expect_refusal(patchify: Any, height: int, width: int) -> None:
    claim, given = "sizes that do not fit are a ValueError", f"{height} x {width} pixels, size=2"
    try:
        patchify(torch.randn(1, 1, height, width), 2)
    except ValueError:
        return
    except (AssertionError, RuntimeError) as error:
        hint = "raise ValueError(...) yourself, before anything is reshaped"
        raise WrongAnswer(claim, hint, given=given, got=type(error).__name__) from error
    raise WrongAnswer(claim, "what became of the last row or column? Check the height and the width", given=given)


@checker("debug-patch-tokens")
def check_debug_patch_tokens(tokens: Any) -> str:
    """`tokens(X, W, P)`: patches of digits, projected, with positions."""
    expect_function(tokens)
    X = torch.rand(3, 8, 8) * torch.tensor([9.0, 11.0, 13.0])[:, None, None]
    W, P = torch.randn(5, 4), torch.randn(16, 5)
    before, louder = X.clone(), X.clone()
    louder[1:] *= 16 / 13
    first, second = tokens(X, W, torch.zeros_like(P)), tokens(louder, W, torch.zeros_like(P))
    claim, hint = "it returns (batch, 16, d)", "sixteen tokens for each digit"
    first, second = (expect_shape(found, (3, 16, 5), claim=claim, hint=hint) for found in (first, second))
    expect_unchanged("X", X, before)
    if not torch.allclose(first[0], second[0], atol=1e-5):
        hint = "the tokens of a digit depend on the digits beside it: which number is taken over the whole batch?"
        raise WrongAnswer("example 0 stays as it is when the others change", hint, given="brighter examples 1 and 2")
    expect_close(
        first,
        _cut(X[:, None] / 16, 2) @ W.T,
        claim="each token is a patch of 2 by 2, divided by 16, times W",
        given="random digits, P = 0",
        hint="print the four numbers of token 0, and look for them in X[0]",
        mistakes={hint: wrong @ W.T for hint, wrong in _list_wrong_tokens(X).items()},
    )
    _expect_positions(tokens(X, torch.zeros_like(W), P), P)
    return "patches of the digit alone, each with a position of its own"


def _list_wrong_tokens(X: Tensor) -> dict[str, Tensor]:
    grid = _split_sides(X[:, None] / 16, 2)
    each = X / X.amax(dim=(1, 2), keepdim=True)
    return {
        "redraw the tokens: these four numbers lie in one row of the digit": (X / 16).reshape(3, 16, 4),
        "the order of the patches: the second one lies to the right of the first": (
            grid.permute(0, 1, 4, 2, 3, 5).reshape(3, 16, 4)
        ),
        "the order within a patch: row by row": grid.permute(0, 1, 2, 4, 5, 3).reshape(3, 16, 4),
        "a pixel has at most 16: bring it into the range 0 to 1": _cut(X[:, None], 2),
        "divide by a constant: a faint digit stays faint": _cut(each[:, None], 2),
        "16 is the largest pixel of the whole data set, 255 that of other ones": _cut(X[:, None] / 255, 2),
    }


def _expect_positions(got: Any, P: Tensor) -> None:
    expect_close(
        got,
        P.expand(3, 16, 5),
        claim="token i has position i",
        given="W = 0, random P",
        hint="which row of P does token 5 get?",
        mistakes={
            "the upper left and the lower left patch stand at the same place": P[:4].repeat(4, 1).expand(3, 16, 5),
            "all patches of a row stand at the same place": P[:4].repeat_interleave(4, 0).expand(3, 16, 5),
            "positions belong to tokens: yours belong to the digits of the batch": P[:3, None].expand(3, 16, 5),
            "all tokens stand at the same place": P[0].expand(3, 16, 5),
            "where are the positions?": torch.zeros(3, 16, 5),
        },
    )


def _whiten(X: Tensor, hidden: Tensor, value: float = 0.0) -> Tensor:
    """The pictures with the hidden patches, `(batch, 16)`, painted."""
    return _paste(_cut(X[:, None], 2).masked_fill(hidden[:, :, None], value))


def _make_model(generator: torch.Generator) -> nn.Module:
    """A linear model of pictures of 8 by 8 pixels, with ten classes that grey pictures do not tell apart."""
    linear = nn.Linear(64, 10)
    weights = torch.randn(64, 10, generator=generator) / 4
    linear.weight.data, linear.bias.data = weights.T.contiguous(), -weights.sum(dim=0) / 2
    return nn.Sequential(nn.Flatten(), linear).eval()


@checker("measure-patch")
def check_measure_patch(price: Any) -> str:
    """`price(model, X, y, which)`: the accuracy that is lost when a patch of each picture is white."""
    expect_function(price)
    generator = torch.Generator().manual_seed(30)  # the chapter prints the accuracies of this model
    X = torch.rand(400, 8, 8, generator=generator)
    model = _make_model(generator)
    which = torch.tensor([1, 2, 7, 9, 11, 12])[torch.randint(6, (400,), generator=generator)]
    y = model(X).argmax(dim=1)
    y[:40] = (y[:40] + 1) % 10  # wrong from the beginning

    def score(pictures: Tensor) -> float:
        return (model(pictures).argmax(dim=1) == y).double().mean().item()

    chosen = F.one_hot(which, 16).bool()
    before, after = score(X), score(_whiten(X, chosen))
    arguments = X.clone(), y.clone(), which.clone()
    got = price(model, *arguments)
    for name, now, then in zip(("X", "y", "which"), arguments, (X, y, which), strict=True):
        expect_unchanged(name, now, then)
    lost = {hint: before - score(wrong) for hint, wrong in _list_wrong_pictures(X, which).items()}
    expect_measured(
        got,
        before - after,
        claim="it is the accuracy before minus the accuracy after",
        given="a linear model, 400 random pictures, a patch of its own for each",
        hint="paint the patches, look at one picture, and measure twice with the same model",
        mistakes=_list_wrong_prices(before, after) | lost,
    )
    _expect_negative_price(price, model, X, which)
    return f"{before - after:.2f} for a model that was right in {before:.2f}"


def _list_wrong_prices(before: float, after: float) -> dict[str, float]:
    return {
        "that is the accuracy with the patches white: how much is *lost*?": after,
        "after minus before has the other sign": after - before,
        "as a share of all pictures, not as a number of them": 400 * (before - after),
        "lost as a difference, not relative to the accuracy before": (before - after) / before,
        "compare with y: some answers were wrong from the beginning": 1 - after,
    }


def _list_wrong_pictures(X: Tensor, which: Tensor) -> dict[str, Tensor]:
    chosen = F.one_hot(which, 16).bool()
    transposed = F.one_hot(which % 4 * 4 + which // 4, 16).bool()
    return {
        "each picture has a patch of its own: which[i] for picture i": _whiten(X, chosen[:1].expand(400, 16)),
        "patch 1 lies to the right of patch 0: rows and columns are swapped": _whiten(X, transposed),
        "white is 0: you have painted it black": _whiten(X, chosen, 1.0),
        "hide this patch, and keep the others": _whiten(X, ~chosen),
        "all patches that anybody has named are white: one for each picture": _whiten(
            X, chosen.any(dim=0).expand(400, 16)
        ),
        "a patch, not a token of reshape: which four pixels did you paint?": (
            X.reshape(400, 16, 4).masked_fill(chosen[:, :, None], 0.0).reshape(400, 8, 8)
        ),
    }


def _expect_negative_price(price: Any, model: nn.Module, X: Tensor, which: Tensor) -> None:
    white = _whiten(X, F.one_hot(which, 16).bool())
    y = model(white).argmax(dim=1)  # right only when the patches are white
    gained = (model(X).argmax(dim=1) == y).double().mean().item() - 1
    expect_measured(
        price(model, X.clone(), y.clone(), which.clone()),
        gained,
        claim="a patch that misleads has a negative price",
        given="right digits that the model finds only without the patches",
        hint="keep the sign",
        mistakes={"a price below 0 says that the patch misleads: keep the sign": -gained},
    )
