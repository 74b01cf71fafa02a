"""Patches and their positions."""

from typing import Any

from torch import Tensor

from d2lmini_exercises.engine import Case, Number, WrongAnswer, draw, exercise, prediction

# Tokens of a photograph, numbers of a token, growth of mixing and of the projections.
prediction(
    "predict-patches",
    {
        Number("(a)", 196, "how many patches lie side by side, and how many such rows are there?"): {
            "these are the patches of one row of the grid: how many such rows are there?": 14,
            "these are the pixels: a token is a whole patch": 50176,
            "the three colours of a patch are in one token": 588,
            "(12.1): divide by the side of a patch twice": 3136,
            "there is no class token here": 197,
        },
        Number("(b)", 768, "how many pixels has a patch, and how many numbers has a pixel?"): {
            "each pixel has three colours": 256,
            "a patch is a square: 16 pixels are one row of it": 48,
            "a patch is a square, and each pixel has three colours": 16,
            "that is how many patches there are: how many numbers are in one?": 196,
        },
        Number("(c)", 256, "put s = 16 and s = 4 into (12.1)"): {
            "that is how the number of tokens grows: mixing goes with its square": 16,
            "a quarter of the side: how many small patches fit into a large one?": 4,
            "put both sides into (12.1)": 64,
            "smaller patches are more of them": 1 / 256,
        },
        Number("(d)", 16, "each token is projected by itself: what grows is their number"): {
            "each token is projected by itself: no pairs": 256,
            "a quarter of the side: how many small patches fit into a large one?": 4,
            "each token is projected, and there are more of them": 1,
            "four projections before, four projections after: which factor is between the two?": 64,
        },
    },
    right="196, 768, 256 and 16: all four are right",
)


def patchify(X: Tensor, size: int, *, order: tuple[int, ...] = (2, 4, 3, 5, 1)) -> Tensor:
    """Square patches, right unless told otherwise."""
    if X.shape[2] % size or X.shape[3] % size:
        raise ValueError("sizes do not fit")
    grid = X.unflatten(3, (-1, size)).unflatten(2, (-1, size))  # (batch, channels, rows, size, columns, size)
    return grid.permute(0, *order).reshape(len(X), -1, X.shape[1] * size**2)


def use(answer: Any, X: Tensor, size: int) -> Any:
    """The patches, or 0 for what is refused as it should be."""
    if X.shape[2] % size == X.shape[3] % size == 0:
        return answer(X, size)
    hint = "what became of the last row or column? Check the height and the width, each by itself"
    try:
        found = answer(X, size)
        if isinstance(found, BaseException):
            found, hint = type(found).__name__, "raise it: return would hand it on like a result"
    except ValueError:
        return 0
    except (AssertionError, RuntimeError) as error:
        found, hint = type(error).__name__, "raise ValueError(...) yourself, before anything is reshaped"
    raise WrongAnswer("sizes that do not fit are a ValueError", hint, got=found)


SIZES = (4, 5, 2), (5, 4, 2), (5, 5, 2), (2, 8, 4), (8, 2, 4), (3, 3, 6), (8, 6, 4), (6, 8, 4), (4, 9, 6), (9, 4, 6)
exercise(
    "patchify",
    patchify,
    (
        *(
            f"{draw(seed, most=99, X=shape)}; size = {size}"
            for seed, shape, size in (
                *((1, (2, 3, 4, 6), 2), (2, (1, 2, 6, 9), 3), (3, (3, 1, 8, 4), 4)),
                *((4, (2, 4, 2, 3), 1), (5, (2, 2, 3, 3), 3)),
            )
        ),
        *(f"X = torch.zeros(1, 1, {height}, {width}); size = {size}" for height, width, size in SIZES),
    ),
    {
        "within a patch: pixel by pixel. Yours has one channel after the other": {"order": (2, 4, 1, 3, 5)},
        "these numbers are no patch: redraw them. Which pixels are in your token 0?": (
            lambda X, size: X.reshape(patchify(X, size).shape),
            lambda X, size: X.movedim(1, 3).reshape(patchify(X, size).shape),
            lambda X, size: X.flatten(2).mT.reshape(patchify(X, size).shape),
        ),
        "within a patch: row by row, not column by column": ({"order": (2, 4, 5, 3, 1)}, {"order": (2, 4, 1, 5, 3)}),
        "token 1 lies to the right of token 0, not below it": ({"order": (4, 2, 3, 5, 1)}, {"order": (4, 2, 1, 3, 5)}),
        "rows and columns are swapped, in the grid and in the patch": (
            *({"order": (4, 2, 5, 3, 1)}, {"order": (4, 2, 1, 5, 3)}),
        ),
        "all channels of a patch in one token": ({"order": (1, 2, 4, 3, 5)}, {"order": (1, 2, 4, 5, 3)}),
        "the channels of a pixel in their order: channel 0 first": lambda X, size: patchify(X.flip(1), size),
    },
    claim="each token is a patch, pixel by pixel",
    verified="patches of one to four channels, row by row, and an error where they do not fit",
    hint="redraw your tokens: paint token 0 over the upper left patch",
    use=use,
)


def cut(X: Tensor, *order: int) -> Tensor:
    return patchify(X[:, None], 2, order=order or (2, 4, 3, 5, 1))


def embed_patches(
    X: Tensor, W: Tensor, P: Tensor, *, scale: Any = lambda X: X / 16, cut: Any = cut, rows: Any = lambda P, batch: P
) -> Tensor:
    """Patches of digits, projected, with positions, right unless told otherwise."""
    return cut(scale(X)) @ W.T + rows(P, len(X))


exercise(
    "debug-patch-tokens",
    embed_patches,
    (
        *(
            f"{draw(seed, most=7, X=(batch, 8, 8), W=(d, 4), P=(16, d))}; X = X + 7"  # no pixel of 16 in these batches
            for seed, batch, d in ((1, 3, 5), (2, 1, 2), (3, 2, 3))
        ),
        f"{draw(4, X=(2, 8, 8), W=(1, 4), P=(16, 1))}; X = X.clamp(min=0) / 2",  # faint digits
    ),
    {
        "divide by a constant: with a number taken over the whole batch a digit depends on those beside it, and with "
        "one for each digit no faint digit stays faint": (
            {"scale": lambda X: X / X.max()},
            {"scale": lambda X: (X - X.mean()) / X.std()},
            {"scale": lambda X: X / X.amax((1, 2), keepdim=True)},
        ),
        "redraw the tokens: these four numbers lie in one row of the digit": {
            "cut": lambda X: X.reshape(len(X), 16, 4)
        },
        "the order of the patches: the second one lies to the right of the first": {
            "cut": lambda X: cut(X, 4, 2, 3, 5, 1)
        },
        "the order within a patch: row by row": {"cut": lambda X: cut(X, 2, 4, 5, 3, 1)},
        "a pixel has at most 16: bring it into the range 0 to 1": {"scale": lambda X: X},
        "16 is the largest pixel of the whole data set, 255 that of other ones": {"scale": lambda X: X / 255},
        "once is enough: a pixel of 16 becomes 1": {"scale": lambda X: X / 256},
        "the upper left and the lower left patch stand at the same place": {
            "positions": lambda P, b: P[:4].repeat(4, 1)
        },
        "all patches of a row stand at the same place": {"rows": lambda P, b: P[:4].repeat_interleave(4, 0)},
        "positions belong to tokens: yours belong to the digits of the batch": {"rows": lambda P, b: P[:b, None]},
        "all tokens stand at the same place": {"rows": lambda P, b: P[0]},
        "where are the positions?": {"rows": lambda P, b: 0},
        "P belongs to tokens, not to pixels: it is added after the projection, as it is": {"rows": lambda P, b: P / 16},
    },
    claim="they are the tokens of the digits",
    verified="patches of the digit alone, from 0 to 1, each with a position of its own",
    hint="take P = 0: print the four numbers of token 0, and look for them in X[0]. Then take W = 0: which row of P "
    "does token 5 get?",
    together=3,
)


exercise(
    "scrambled-positions",
    lambda P, order: P[order],
    tuple(
        Case(f"{draw(seed, most=9, P=(len(order), d))}; order = torch.tensor({order})")
        for seed, order, d in ((1, [3, 0, 4, 1, 2], 5), (2, [1, 2, 0, 5, 6, 4, 3], 3), (3, [2, 0, 1], 4))
    ),
    {
        "that undoes the order: follow one pixel. Token 0 holds pixel order[0]": lambda P, order: P[order.argsort()],
        "with the old table, pixel order[0] would get the position of pixel 0": lambda P, order: P,
        "once is enough": lambda P, order: P[order][order],
        "the order is given; sorting the table knows nothing of it": lambda P, order: P.sort(dim=0).values,
        "the order is no table of positions: it says which rows of P to take": lambda P, order: P + order[:, None],
        "order says which row, not which feature": lambda P, order: P[:, order],
    },
    claim="each pixel has the position that it had before",
    verified="each token has the position of the pixel that it holds, in three orders",
    hint="pixel order[0] of the picture is now token 0: which row of P was its own?",
)

# Accuracy on scrambled digits of the chapter's CNNs: trained on digits, and trained on scrambled digits.
prediction(
    "use-scrambled",
    {
        Number(
            "the first accuracy",
            0.07,
            "the three models of models['CNN'] on scrambled test digits, without training them again",
            tolerance=0.06,
        ): {
            "that is the accuracy on digits that are not scrambled": 0.98,
            "a share is a number between 0 and 1": (5, 6, 7, 8),
        },
        Number(
            "the second accuracy",
            0.97,
            "fit(CNN, seed, X=scrambled training digits), tested on scrambled digits, in the mean of two seeds",
            tolerance=0.014,
        ): {
            "scramble the digits that it is trained on, too": (0.05, 0.08),
            "scramble the test digits in the same way as those of the training": (0.11, 0.14),
            "a share is a number between 0 and 1": 97,
        },
    },
    right="no better than guessing, until it is trained on scrambled digits; then it loses a hundredth or two",
)
