"""Answers to the exercises on patches and their positions."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def cut(X: Tensor, size: int) -> Tensor:
    """Patches, channel by channel; where a size does not fit, the rest is left out."""
    return F.unfold(X, kernel_size=size, stride=size).mT


def unfolded(X: Tensor, size: int) -> Tensor:
    if any(side % size for side in X.shape[2:]):
        raise ValueError(f"{size} does not divide {tuple(X.shape[2:])}")
    return unchecked(X, size)


def unchecked(X: Tensor, size: int) -> Tensor:
    return cut(X, size).unflatten(2, (X.shape[1], -1)).mT.flatten(2)


def with_loops(X: Tensor, size: int) -> Tensor:
    height, width = X.shape[2:]
    if height % size + width % size > 0:
        raise ValueError("sizes do not fit")
    X = X.movedim(1, 3)
    corners = [(i, j) for i in range(0, height, size) for j in range(0, width, size)]
    return torch.stack([X[:, i : i + size, j : j + size].flatten(1) for i, j in corners], dim=1)


def in_numpy(X: Tensor, size: int) -> Any:
    batch, channels, height, width = X.shape
    if height % size or width % size:
        raise ValueError
    parts = X.numpy().reshape(batch, channels, height // size, size, width // size, size)
    return np.transpose(parts, (0, 2, 4, 3, 5, 1)).reshape(batch, -1, channels * size * size)


def checks(wrong: Any) -> Any:
    """An answer that refuses what is wrong in the eyes of a function of height, width and size."""

    def answer(X: Tensor, size: int) -> Tensor:
        if wrong(*X.shape[2:], size):
            raise ValueError("sizes do not fit")
        return unchecked(X, size)

    return answer


def asserts(X: Tensor, size: int) -> Tensor:
    assert X.shape[2] % size == 0 == X.shape[3] % size
    return unchecked(X, size)


def placed(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    return cut(X[:, None] / 16, 2) @ W.T + P


def placed_with_loops(X: Tensor, W: Tensor, P: Tensor) -> Tensor:
    corners = [(i, j) for i in range(0, 8, 2) for j in range(0, 8, 2)]
    tokens = [X[:, i : i + 2, j : j + 2].flatten(1) / 16 @ W.T + P[n] for n, (i, j) in enumerate(corners)]
    return torch.stack(tokens, dim=1)


RIGHT: dict[str, list[Any]] = {
    "predict-patches": [(196, 768, 256, 16), torch.tensor([196, 768, 256, 16])],
    "patchify": [unfolded, with_loops, in_numpy],
    "debug-patch-tokens": [placed, placed_with_loops],
    "scrambled-positions": [
        lambda P, order: P[order],
        lambda P, order: torch.stack([P[i] for i in order.tolist()]),
        lambda P, order: P.numpy()[order.numpy()],
    ],
    "use-scrambled": [(0.06, 0.969), torch.tensor([0.1, 0.965])],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-patches", (1, 768, 256, 16), "side by side"),
    ("predict-patches", (196, 768), "the starter's form"),
    ("patchify", asserts, "raise ValueError"),
    ("patchify", checks(lambda height, width, size: height * width % size**2), "each by itself"),
    ("patchify", checks(lambda height, width, size: (height + width) % size), "each by itself"),
    ("debug-patch-tokens", lambda X, W, P: placed(X, W, P.flip(0)), "does token 5 get"),
    ("debug-patch-tokens", lambda X, W, P: placed(X * 16 / 15, W, P), "look for them in X[0]"),
    ("scrambled-positions", lambda P, order: P[order.flip(0)], "which row of P was its own?"),
    ("use-scrambled", (0.3, 0.97), "without training them again"),
    ("use-scrambled", (0.06, 0.985), "tested on scrambled digits"),
]
