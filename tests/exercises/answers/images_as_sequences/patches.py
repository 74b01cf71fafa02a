"""Answers to the exercises: what a patch is, and how it becomes a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
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


def channels_first(X: Tensor, size: int) -> Tensor:
    if any(side % size for side in X.shape[2:]):
        raise ValueError(f"{size} does not divide {tuple(X.shape[2:])}")
    return F.unfold(X, kernel_size=size, stride=size).mT


def unfolded(X: Tensor, size: int) -> Tensor:
    tokens = channels_first(X, size)  # all of channel 0 first
    return tokens.unflatten(2, (X.shape[1], -1)).mT.flatten(2)


def with_loops(X: Tensor, size: int) -> Tensor:
    height, width = X.shape[2:]
    if height % size + width % size > 0:
        raise ValueError("sizes do not fit")
    X = X.movedim(1, 3)
    corners = [(i, j) for i in range(0, height, size) for j in range(0, width, size)]
    return torch.stack([X[:, i : i + size, j : j + size].flatten(1) for i, j in corners], dim=1)


def by_convolution(X: Tensor, size: int) -> Tensor:
    """One filter for each number of a patch."""
    if X.shape[2] % size or X.shape[3] % size:
        raise ValueError
    filters = torch.eye(X.shape[1] * size**2).unflatten(1, (size, size, X.shape[1])).permute(0, 3, 1, 2)
    return F.conv2d(X, filters, stride=size).flatten(2).mT


def by_shuffle(X: Tensor, size: int) -> Tensor:
    if X.shape[2] % size or X.shape[3] % size:
        raise ValueError
    found = F.pixel_unshuffle(X, size).unflatten(1, (X.shape[1], -1))  # (batch, channels, size², rows, columns)
    return found.permute(0, 3, 4, 2, 1).flatten(3).flatten(1, 2)


def in_numpy(X: Tensor, size: int) -> Any:
    batch, channels, height, width = X.shape
    if height % size or width % size:
        raise ValueError
    parts = X.numpy().reshape(batch, channels, height // size, size, width // size, size)
    return np.transpose(parts, (0, 2, 4, 3, 5, 1)).reshape(batch, -1, channels * size * size)


def checks_height_only(X: Tensor, size: int) -> Tensor:
    if X.shape[2] % size:
        raise ValueError("sizes do not fit")
    return patches(2, 4, 3, 5, 1, keep=False)(X, size)


def checks_the_area(X: Tensor, size: int) -> Tensor:
    if X.shape[2] * X.shape[3] % size**2:
        raise ValueError("sizes do not fit")
    return patches(2, 4, 3, 5, 1, keep=False)(X, size)


def cut_in_place(X: Tensor, size: int) -> Tensor:
    found = unfolded(X, size)
    X += 1
    return found


def two_by_two_only(X: Tensor, size: int) -> Tensor:
    if X.shape[2] % size or X.shape[3] % size:
        raise ValueError
    return unfolded(X, 2)


def cut(X: Tensor) -> Tensor:
    return channels_first(X[:, None], 2)


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


def patchify_by_sum(X: Tensor, size: int) -> Tensor:
    if (X.shape[2] + X.shape[3]) % size:
        raise ValueError("size must divide height and width")
    return patches(2, 4, 3, 5, 1, keep=False)(X, size)


def brightest(X: Tensor) -> Tensor:
    return X / X.amax(dim=(1, 2), keepdim=True)


def weights_in_place(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    W /= 16
    return cut(X) @ W.T + P


def positions_in_place(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    P = P[None].expand(len(X), -1, -1)
    P += 0 * P
    return cut(X / 16) @ W.T + P


def standardised(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    return cut((X - X.mean()) / X.std()) @ W.T + P


def by_conv(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    return F.conv2d(X[:, None] / 16, W.view(-1, 1, 2, 2), stride=2).flatten(2).mT + P


def by_einsum(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    parts = X.div(16).reshape(-1, 4, 2, 4, 2)
    return torch.einsum("brhcw,dhw->brcd", parts, W.view(-1, 2, 2)).flatten(1, 2) + P


def spoiled(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    return placed()(X, W, P) * torch.nan


RIGHT: dict[str, list[Any]] = {
    "predict-patches": [(196, 768, 256, 16), [196.0, 768, 256, 16], torch.tensor([196, 768, 256, 16])],
    "patchify": [
        patches(2, 4, 3, 5, 1),
        lambda X, size: unfolded(X, size).tolist(),
        unfolded,
        with_loops,
        by_convolution,
        by_shuffle,
        in_numpy,
    ],
    "debug-patch-tokens": [placed(), placed_with_loops, by_conv, by_einsum],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-patches", (1, 768, 256, 16), "side by side"),
    ("predict-patches", (196, 5, 256, 16), "how many pixels has a patch"),
    ("predict-patches", (196, 768, 2, 16), "s = 16 and s = 4"),
    ("predict-patches", (196, 768, 256, 2), "what grows is their number"),
    ("predict-patches", (196, 768), "the starter's form"),
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
    ("debug-patch-tokens", placed_in_place, "works in place"),
    ("debug-patch-tokens", two_digits_only, "sixteen tokens for each digit"),
    ("debug-patch-tokens", lambda X, W, P: None, "sixteen tokens for each digit"),
    ("patchify", patches(2, 4, 1, 3, 5), "pixel by pixel"),
    ("patchify", channels_first, "pixel by pixel"),
    ("patchify", patches(1, 2, 3, 4, 5), "these numbers are no patch"),
    ("patchify", lambda X, size: X.movedim(1, 3).reshape(unfolded(X, size).shape), "these numbers are no patch"),
    ("patchify", lambda X, size: X.flatten(2).mT.reshape(unfolded(X, size).shape), "these numbers are no patch"),
    ("patchify", patches(2, 4, 5, 3, 1), "not column by column"),
    ("patchify", patches(4, 2, 3, 5, 1), "not below it"),
    ("patchify", patches(4, 2, 5, 3, 1), "in the grid and in the patch"),
    ("patchify", patches(1, 2, 4, 3, 5), "all channels of a patch in one token"),
    ("patchify", lambda X, size: unfolded(X.flip(1), size), "channel 0 first"),
    ("patchify", lambda X, size: 2 * unfolded(X, size), "paint token 0"),
    ("patchify", lambda X, size: unfolded(X, size).flip(1), "paint token 0"),
    ("patchify", lambda X, size: unfolded(X, size).mT, "write the shape"),
    ("patchify", lambda X, size: unfolded(X, size)[:, :, ::3], "write the shape"),
    ("patchify", two_by_two_only, "run it yourself"),
    ("patchify", cut_in_place, "works in place"),
    ("patchify", patches(2, 4, 3, 5, 1, error=AssertionError), "raise ValueError"),
    ("patchify", patches(2, 4, 3, 5, 1, error=RuntimeError), "before anything is reshaped"),
    ("patchify", patches(2, 4, 3, 5, 1, keep=False), "what became of the last row or column?"),
    (
        "patchify",
        lambda X, size: unfolded(X, size) if X.shape[2] % size == X.shape[3] % size == 0 else ValueError("size"),
        "raise it",
    ),
    ("patchify", checks_height_only, "Check the height and the width"),
    ("patchify", patchify_by_sum, "each by itself"),
    ("patchify", checks_the_area, "each by itself"),
    ("debug-patch-tokens", placed(lambda X: X / 256), "once is enough"),
    ("debug-patch-tokens", placed(lambda X: X / 8 - 1), "look for them in X[0]"),
    ("debug-patch-tokens", placed(positions=lambda P, b: P / 16), "added after the projection"),
    ("debug-patch-tokens", placed(positions=lambda P, b: P[:4].repeat(4, 1) + P), "does token 5 get"),
    ("debug-patch-tokens", standardised, "taken over the whole batch"),
    ("debug-patch-tokens", placed(brightest), "a faint digit stays faint"),
    ("debug-patch-tokens", weights_in_place, "works in place"),
    ("debug-patch-tokens", spoiled, "look for them in X[0]"),
    ("debug-patch-tokens", lambda X, W, P: placed()(X, W, P).mT, "sixteen tokens for each digit"),
    ("debug-patch-tokens", lambda X, W, P: placed()(X, W.flip(1), P), "look for them in X[0]"),
]
