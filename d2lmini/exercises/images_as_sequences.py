"""Checkers of the chapter "Images as sequences": what is a patch, where does it stand, what does it cost to hide it."""

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


def _grid(X: Tensor, size: int) -> Tensor:
    """Each side split in two: `(batch, channels, rows, size, columns, size)`."""
    return X.unflatten(3, (-1, size)).unflatten(2, (-1, size))


@checker("patchify")
def check_patchify(patchify: Any) -> str:
    """`patchify(X, size)`: square patches of pictures with several channels."""
    expect_function(patchify)
    for shape, size in (((2, 1, 4, 6), 2), ((2, 3, 4, 6), 2), ((1, 2, 6, 9), 3)):
        X = torch.randn(shape)
        before, grid = X.clone(), _grid(X, size)
        expected = _cut(X, size)

        def ordered(*dims: int, grid: Tensor = grid, like: Tensor = expected) -> Tensor:
            return grid.permute(0, *dims).reshape(like.shape)

        expect_close(
            patchify(X, size),
            expected,
            claim="each token is a patch",
            given=f"random X of shape {shape}, size={size}",
            hint="redraw your tokens: paint token 0 over the upper left patch",
            mistakes={
                "these numbers are no patch: redraw them. Which pixels are in your token 0?": X.reshape(expected.shape),
                "the numbers of a token lie in one channel, but not in one patch": X.flatten(2).mT.reshape(
                    expected.shape
                ),
                "within a patch: row by row, not column by column": ordered(2, 4, 1, 5, 3),
                "token 1 lies to the right of token 0, not below it": ordered(4, 2, 1, 3, 5),
                "rows and columns are swapped, in the grid and in the patch": ordered(4, 2, 1, 5, 3),
                "within a patch: all of channel 0 first, then channel 1": ordered(2, 4, 3, 5, 1),
                "all channels of a patch in one token": ordered(1, 2, 4, 3, 5),
            },
        )
        expect_unchanged("X", X, before)
    for height, width in ((4, 5), (5, 4), (5, 5)):
        try:
            patchify(torch.randn(1, 1, height, width), 2)
        except ValueError:
            continue
        except (AssertionError, RuntimeError) as error:
            hint = "raise ValueError(...) yourself, before anything is reshaped"
            raise WrongAnswer(
                "sizes that do not fit are a ValueError",
                hint,
                given=f"{height} x {width} pixels, size=2",
                got=type(error).__name__,
            ) from error
        hint = "what became of the last row or column? Check the height and the width"
        raise WrongAnswer("sizes that do not fit are a ValueError", hint, given=f"{height} x {width} pixels, size=2")
    return "patches of one and of several channels, row by row, and an error where they do not fit"


@checker("debug-patch-tokens")
def check_debug_patch_tokens(tokens: Any) -> str:
    """`tokens(X, W, P)`: patches of digits, projected, with positions."""
    expect_function(tokens)
    X, W, P = (
        torch.rand(3, 8, 8) * torch.tensor([9.0, 11.0, 13.0])[:, None, None],
        torch.randn(5, 4),
        torch.randn(16, 5),
    )
    before = X.clone()
    no_positions, no_weights = torch.zeros_like(P), torch.zeros_like(W)
    louder = X.clone()
    louder[1:] *= 16 / 13
    first, second = tokens(X, W, no_positions), tokens(louder, W, no_positions)
    for found in (first, second):
        if not isinstance(found, Tensor) or found.shape != (3, 16, 5):
            got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise WrongAnswer("it returns (batch, 16, d)", "sixteen tokens for each digit", got=got)
    expect_unchanged("X", X, before)
    if not torch.allclose(first[0], second[0], atol=1e-5):
        hint = "the tokens of a digit depend on the digits beside it: which number is taken over the whole batch?"
        raise WrongAnswer("example 0 stays as it is when the others change", hint, given="brighter examples 1 and 2")
    grid = _grid(X[:, None] / 16, 2)
    each = X / X.amax(dim=(1, 2), keepdim=True)
    expect_close(
        first,
        _cut(X[:, None] / 16, 2) @ W.T,
        claim="each token is a patch of 2 by 2, divided by 16, times W",
        given="random digits, P = 0",
        hint="print the four numbers of token 0, and look for them in X[0]",
        mistakes={
            "redraw the tokens: these four numbers lie in one row of the digit": (X / 16).reshape(3, 16, 4) @ W.T,
            "the order of the patches: the second one lies to the right of the first": (
                grid.permute(0, 1, 4, 2, 3, 5).reshape(3, 16, 4) @ W.T
            ),
            "the order within a patch: row by row": grid.permute(0, 1, 2, 4, 5, 3).reshape(3, 16, 4) @ W.T,
            "a pixel has at most 16: bring it into the range 0 to 1": _cut(X[:, None], 2) @ W.T,
            "divide by a constant: a faint digit stays faint": _cut(each[:, None], 2) @ W.T,
            "16 is the largest pixel of the whole data set, 255 that of other ones": _cut(X[:, None] / 255, 2) @ W.T,
        },
    )
    expect_close(
        tokens(X, no_weights, P),
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
    return "patches of the digit alone, each with a position of its own"


def _white(X: Tensor, hidden: Tensor, value: float = 0.0) -> Tensor:
    """The pictures with the hidden patches, `(batch, 16)`, painted."""
    return _paste(_cut(X[:, None], 2).masked_fill(hidden[:, :, None], value))


@checker("measure-patch")
def check_measure_patch(price: Any) -> str:
    """`price(model, X, y, which)`: the accuracy that is lost when a patch of each picture is white."""
    expect_function(price)
    generator = torch.Generator().manual_seed(30)
    X = torch.rand(400, 8, 8, generator=generator)
    M = torch.randn(64, 10, generator=generator) / 4
    which = torch.tensor([1, 2, 7, 9, 11, 12])[torch.randint(6, (400,), generator=generator)]

    linear = nn.Linear(64, 10)
    linear.weight.data, linear.bias.data = M.T.contiguous(), -M.sum(dim=0) / 2
    model = nn.Sequential(nn.Flatten(), linear).eval()

    y = model(X).argmax(dim=1)
    y[:40] = (y[:40] + 1) % 10  # wrong from the beginning

    def right(pictures: Tensor) -> float:
        return (model(pictures).argmax(dim=1) == y).double().mean().item()

    chosen = F.one_hot(which, 16).bool()
    turned = F.one_hot(which % 4 * 4 + which // 4, 16).bool()
    before, after = right(X), right(_white(X, chosen))
    kept, given_y, given_which = X.clone(), y.clone(), which.clone()
    got = price(model, kept, given_y, given_which)
    for name, now, then in (("X", kept, X), ("y", given_y, y), ("which", given_which, which)):
        expect_unchanged(name, now, then)
    expect_measured(
        got,
        before - after,
        claim="it is the accuracy before minus the accuracy after",
        given="a linear model, 400 random pictures, a patch of its own for each",
        hint="paint the patches, look at one picture, and measure twice with the same model",
        mistakes={
            "that is the accuracy with the patches white: how much is *lost*?": after,
            "after minus before has the other sign": after - before,
            "as a share of all pictures, not as a number of them": 400 * (before - after),
            "lost as a difference, not relative to the accuracy before": (before - after) / before,
            "compare with y: some answers were wrong from the beginning": 1 - after,
            "each picture has a patch of its own: which[i] for picture i": before
            - right(_white(X, chosen[:1].expand(400, 16))),
            "patch 1 lies to the right of patch 0: rows and columns are swapped": before - right(_white(X, turned)),
            "white is 0: you have painted it black": before - right(_white(X, chosen, 1.0)),
            "hide this patch, and keep the others": before - right(_white(X, ~chosen)),
            "all patches that anybody has named are white: one for each picture": before
            - right(_white(X, chosen.any(dim=0).expand(400, 16))),
            "a patch, not a token of reshape: which four pixels did you paint?": before
            - right(X.reshape(400, 16, 4).masked_fill(chosen[:, :, None], 0.0).reshape(400, 8, 8)),
        },
    )
    misled = model(_white(X, chosen)).argmax(dim=1)  # right only when the patches are white
    gained = (model(X).argmax(dim=1) == misled).double().mean().item() - 1
    expect_measured(
        price(model, X.clone(), misled.clone(), which.clone()),
        gained,
        claim="a patch that misleads has a negative price",
        given="right digits that the model finds only without the patches",
        hint="keep the sign",
        mistakes={"a price below 0 says that the patch misleads: keep the sign": -gained},
    )
    return f"{before - after:.2f} for a model that was right in {before:.2f}"


@checker("grid-positions")
def check_grid_positions(grid_positions: Any) -> str:
    """`grid_positions(by_row, by_column)`: a table of positions from a vector a row and a vector a column."""
    expect_function(grid_positions)
    for rows, columns in ((4, 4), (2, 3)):
        by_row, by_column = torch.randn(rows, 5), torch.randn(columns, 5)
        given = by_row.clone(), by_column.clone()
        got = grid_positions(*given)
        expect_unchanged("by_row", given[0], by_row)
        expect_unchanged("by_column", given[1], by_column)
        mistakes = {
            "token 1 lies to the right of token 0: the same row, the next column": (
                by_row + by_column[:, None]
            ).flatten(0, 1),
            "add them, do not multiply": (by_row[:, None] * by_column).flatten(0, 1),
            "and the columns?": by_row.repeat_interleave(columns, 0),
            "and the rows?": by_column.repeat(rows, 1),
        }
        if rows == columns:
            mistakes["place (i, j) has row i and column j: yours has only one number for both"] = (
                by_row + by_column
            ).repeat(columns, 1)
        expect_close(
            got,
            (by_row[:, None] + by_column).flatten(0, 1),
            claim="place (i, j) has the sum of row vector i and column vector j",
            given=f"{rows} rows, {columns} columns, d = 5",
            hint="print which row and which column went into place 1",
            mistakes=mistakes,
        )
    return "a row vector and a column vector at each place, row by row"


@checker("scrambled-positions")
def check_scrambled_positions(scrambled_positions: Any) -> str:
    """`scrambled_positions(P, order)`: the table for pictures whose pixel `i` is pixel `order[i]`."""
    expect_function(scrambled_positions)
    P, order = torch.randn(64, 64), torch.randperm(64)
    before = P.clone()
    given_order = order.clone()
    got = scrambled_positions(P, given_order)
    expect_unchanged("P", P, before)
    expect_unchanged("order", given_order, order)
    expect_close(
        got,
        before[order],
        claim="each pixel has the position that it had before",
        given="a random order of 64 pixels",
        hint="pixel order[0] of the picture is now token 0: which row of P was its own?",
        mistakes={
            "that undoes the order: follow one pixel. Token 0 holds pixel order[0]": before[order.argsort()],
            "with the old table, pixel order[0] would get the position of pixel 0": before,
            "order says which row, not which feature": before[:, order],
            "once is enough": before[order][order],
            "the order is given; sorting the table knows nothing of it": before.sort(dim=0).values,
        },
    )
    return "token and position go together, so the logits are the same"
