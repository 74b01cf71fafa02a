"""Answers to the exercises: what a patch is, how it becomes a token, and what it costs to hide it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def grid(X: Tensor, size: int) -> Tensor:
    """Each side split in two: ``(batch, channels, rows, size, columns, size)``."""
    batch, channels, height, width = X.shape
    return X.reshape(batch, channels, height // size, size, width // size, size)


def patches(*dims: int, keep: bool = True, error: type[Exception] = ValueError) -> Callable[[Tensor, int], Tensor]:
    """A patch cutter that permutes the dimensions of the grid in this order after the batch."""

    def answer(X: Tensor, size: int) -> Tensor:
        if X.shape[2] % size or X.shape[3] % size:
            if keep:
                raise error("sizes do not fit")
            X = X[:, :, : X.shape[2] // size * size, : X.shape[3] // size * size]
        parts = grid(X, size).permute(0, *dims)
        return parts.reshape(len(X), -1, X.shape[1] * size**2)

    return answer


def unfolded(X: Tensor, size: int) -> Tensor:
    if any(side % size for side in X.shape[2:]):
        raise ValueError(f"{size} does not divide {tuple(X.shape[2:])}")
    return F.unfold(X, kernel_size=size, stride=size).mT


def with_loops(X: Tensor, size: int) -> Tensor:
    height, width = X.shape[2:]
    if height % size + width % size > 0:
        raise ValueError("sizes do not fit")
    corners = [(i, j) for i in range(0, height, size) for j in range(0, width, size)]
    return torch.stack([X[:, :, i : i + size, j : j + size].flatten(1) for i, j in corners], dim=1)


def checks_height_only(X: Tensor, size: int) -> Tensor:
    if X.shape[2] % size:
        raise ValueError("sizes do not fit")
    return F.unfold(X, kernel_size=size, stride=size).mT


def cut_in_place(X: Tensor, size: int) -> Tensor:
    found = unfolded(X, size)
    X += 1
    return found


def cut(X: Tensor) -> Tensor:
    return unfolded(X[:, None], 2)


def placed(
    normed: Callable[[Tensor], Tensor] = lambda X: X / 16,
    cut: Callable[[Tensor], Tensor] = cut,
    positions: Callable[[Tensor, int], Any] = lambda P, batch: P,
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    def answer(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
        return cut(normed(X)) @ W.T + positions(P, len(X))

    return answer


def placed_with_loops(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    corners = [(i, j) for i in range(0, 8, 2) for j in range(0, 8, 2)]
    tokens = [X[:, i : i + 2, j : j + 2].flatten(1) / 16 @ W.T + P[n] for n, (i, j) in enumerate(corners)]
    return torch.stack(tokens, dim=1)


def placed_in_place(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    X /= 16
    return cut(X) @ W.T + P


def two_digits_only(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    return placed()(X, W, P)[:2]


def paste(tokens: Tensor) -> Tensor:
    return F.fold(tokens.mT, (8, 8), kernel_size=2, stride=2)[:, 0]


def priced(
    hide: Callable[[Tensor], Tensor] = lambda which: F.one_hot(which, 16).bool(),
    value: float = 0.0,
    result: Callable[[Tensor, Tensor], Any] = lambda before, after: before - after,
) -> Callable[..., Any]:
    def answer(model: Any, X: Tensor, y: Tensor, which: Tensor) -> Any:
        white = paste(cut(X).masked_fill(hide(which)[:, :, None], value))
        before, after = ((model(Z).argmax(dim=1) == y).double().mean() for Z in (X, white))
        return result(before, after)

    return answer


def priced_with_loops(model: Any, X: Tensor, y: Tensor, which: Tensor) -> float:
    white = X.clone()
    for picture, patch in zip(white, which.tolist(), strict=True):
        i, j = divmod(patch, 4)
        picture[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = 0
    right = [(model(Z).argmax(dim=1) == y).sum().item() / len(y) for Z in (X, white)]
    return right[0] - right[1]


def priced_in_place(model: Any, X: Tensor, y: Tensor, which: Tensor) -> Any:
    found = priced()(model, X, y, which)
    X[:, :2] = 0
    return found


def priced_against_itself(model: Any, X: Tensor, y: Tensor, which: Tensor) -> Any:
    return priced()(model, X, model(X).argmax(dim=1), which)


def priced_strips(model: Any, X: Tensor, y: Tensor, which: Tensor) -> Any:
    white = X.reshape(len(X), 16, 4).masked_fill(F.one_hot(which, 16).bool()[:, :, None], 0.0).reshape(X.shape)
    before, after = ((model(Z).argmax(dim=1) == y).double().mean() for Z in (X, white))
    return before - after


def turned(which: Tensor) -> Tensor:
    return F.one_hot(which % 4 * 4 + which // 4, 16).bool()


def priced_and_emptied(model: Any, X: Tensor, y: Tensor, which: Tensor) -> Any:
    found = priced()(model, X, y, which)
    y.zero_()
    return found


def patchify_by_sum(X: Tensor, size: int) -> Tensor:
    if (X.shape[2] + X.shape[3]) % size:
        raise ValueError("size must divide height and width")
    return F.unfold(X, kernel_size=size, stride=size).mT


RIGHT: dict[str, list[Any]] = {
    "predict-patches": [(196, 768, 256, 16), [196.0, 768, 256, 16], torch.tensor([196, 768, 256, 16])],
    "patchify": [lambda X, size: unfolded(X, size).tolist(), patches(2, 4, 1, 3, 5), unfolded, with_loops],
    "debug-patch-tokens": [placed(), placed_with_loops],
    "measure-patch": [priced(), priced_with_loops],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-patches", (14, 768, 256, 16), "how many such rows"),
    ("predict-patches", (50176, 768, 256, 16), "these are the pixels"),
    ("predict-patches", (588, 768, 256, 16), "the three colours of a patch are in one token"),
    ("predict-patches", (3136, 768, 256, 16), "divide by the side of a patch twice"),
    ("predict-patches", (197, 768, 256, 16), "no class token"),
    ("predict-patches", (1, 768, 256, 16), "side by side"),
    ("predict-patches", (196, 256, 256, 16), "each pixel has three colours"),
    ("predict-patches", (196, 48, 256, 16), "16 pixels are one row of it"),
    ("predict-patches", (196, 16, 256, 16), "a patch is a square, and each"),
    ("predict-patches", (196, 196, 256, 16), "how many numbers are in one?"),
    ("predict-patches", (196, 5, 256, 16), "how many pixels has a patch"),
    ("predict-patches", (196, 768, 16, 16), "mixing goes with its square"),
    ("predict-patches", (196, 768, 4, 16), "how many small patches"),
    ("predict-patches", (196, 768, 64, 16), "both sides into (9.2)"),
    ("predict-patches", (196, 768, 1 / 256, 16), "smaller patches are more"),
    ("predict-patches", (196, 768, 2, 16), "s = 16 and s = 4"),
    ("predict-patches", (196, 768, 256, 256), "no pairs"),
    ("predict-patches", (196, 768, 256, 4), "how many small patches"),
    ("predict-patches", (196, 768, 256, 1), "there are more of them"),
    ("predict-patches", (196, 768, 256, 64), "which factor is between"),
    ("predict-patches", (196, 768, 256, 2), "what grows is their number"),
    ("predict-patches", (196, 768), "the starter's form"),
    ("patchify", patches(1, 2, 3, 4, 5), "these numbers are no patch"),
    (
        "patchify",
        lambda X, size: X.flatten(2).mT.reshape(unfolded(X, size).shape),
        "these numbers are no patch",  # one channel is tried first
    ),
    (
        "patchify",
        lambda X, size: unfolded(X, size) if X.shape[1] == 1 else X.flatten(2).mT.reshape(unfolded(X, size).shape),
        "in one channel, but not in one patch",
    ),
    ("patchify", patches(2, 4, 1, 5, 3), "not column by column"),
    ("patchify", patches(4, 2, 1, 3, 5), "not below it"),
    ("patchify", patches(4, 2, 1, 5, 3), "in the grid and in the patch"),
    ("patchify", patches(2, 4, 3, 5, 1), "all of channel 0 first"),
    ("patchify", patches(1, 2, 4, 3, 5), "all channels of a patch in one token"),
    ("patchify", lambda X, size: 2 * unfolded(X, size), "paint token 0"),
    ("patchify", lambda X, size: unfolded(X, size).mT, "write the shape"),
    ("patchify", cut_in_place, "work on a new tensor"),
    ("patchify", patches(2, 4, 1, 3, 5, error=AssertionError), "raise ValueError"),
    ("patchify", patches(2, 4, 1, 3, 5, error=RuntimeError), "before anything is reshaped"),
    ("patchify", patches(2, 4, 1, 3, 5, keep=False), "what became of the last row or column?"),
    ("patchify", checks_height_only, "Check the height and the width"),
    (
        "debug-patch-tokens",
        placed(lambda X: X / X.max(), lambda X: X.reshape(len(X), 16, 4), lambda P, b: P[:4].repeat(4, 1)),
        "taken over the whole batch",
    ),
    (
        "debug-patch-tokens",
        placed(cut=lambda X: X.reshape(len(X), 16, 4), positions=lambda P, b: P[:4].repeat(4, 1)),
        "lie in one row of the digit",
    ),
    ("debug-patch-tokens", placed(positions=lambda P, b: P[:4].repeat(4, 1)), "the upper left and the lower left"),
    ("debug-patch-tokens", placed(positions=lambda P, b: P[:4].repeat_interleave(4, 0)), "all patches of a row"),
    ("debug-patch-tokens", placed(positions=lambda P, b: P[:b, None]), "belong to the digits of the batch"),
    ("debug-patch-tokens", placed(positions=lambda P, b: P[0]), "all tokens stand at the same place"),
    ("debug-patch-tokens", placed(positions=lambda P, b: 0), "where are the positions?"),
    ("debug-patch-tokens", placed(positions=lambda P, b: P.flip(0)), "does token 5 get"),
    (
        "debug-patch-tokens",
        placed(cut=lambda X: patches(4, 2, 1, 3, 5)(X[:, None], 2)),
        "to the right of the first",
    ),
    ("debug-patch-tokens", placed(cut=lambda X: patches(2, 4, 1, 5, 3)(X[:, None], 2)), "row by row"),
    ("debug-patch-tokens", placed(lambda X: X), "a pixel has at most 16"),
    ("debug-patch-tokens", placed(lambda X: X / X.amax(dim=(1, 2), keepdim=True)), "a faint digit stays faint"),
    ("debug-patch-tokens", placed(lambda X: X / 255), "255 that of other ones"),
    ("debug-patch-tokens", placed(lambda X: X / 15), "look for them in X[0]"),
    ("debug-patch-tokens", placed_in_place, "work on a new tensor"),
    ("debug-patch-tokens", two_digits_only, "sixteen tokens for each digit"),
    ("debug-patch-tokens", lambda X, W, P: None, "sixteen tokens for each digit"),
    ("measure-patch", priced(result=lambda before, after: after), "how much is *lost*?"),
    ("measure-patch", priced(result=lambda before, after: after - before), "has the other sign"),
    ("measure-patch", priced(result=lambda before, after: abs(before - after)), "keep the sign"),
    ("measure-patch", priced_and_emptied, "work on a new tensor"),
    ("patchify", patchify_by_sum, "what became of the last row or column"),
    ("measure-patch", priced(result=lambda before, after: 400 * (before - after)), "not as a number of them"),
    ("measure-patch", priced(result=lambda before, after: 1 - after / before), "not relative to"),
    ("measure-patch", priced(result=lambda before, after: 1 - after), "some answers were wrong from the beginning"),
    ("measure-patch", priced(hide=lambda which: F.one_hot(which[:1], 16).bool()), "which[i] for picture i"),
    ("measure-patch", priced(hide=turned), "rows and columns are swapped"),
    ("measure-patch", priced(value=1.0), "painted it black"),
    ("measure-patch", priced(hide=lambda which: ~F.one_hot(which, 16).bool()), "and keep the others"),
    (
        "measure-patch",
        priced(hide=lambda which: F.one_hot(which, 16).bool().any(dim=0, keepdim=True)),
        "all patches that anybody has named",
    ),
    ("measure-patch", priced_strips, "not a token of reshape"),
    ("measure-patch", priced_in_place, "work on a new tensor"),
    ("measure-patch", priced_against_itself, "measure twice with the same model"),
    ("measure-patch", lambda *args: None, "return a float"),
]
