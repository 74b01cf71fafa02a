"""Answers to the exercises of "A real model"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def find_by_loop(maps: Tensor) -> tuple[int, int]:
    best, found = -1.0, (0, 0)
    for block in range(maps.shape[0]):
        for head in range(maps.shape[1]):
            weights = [float(maps[block, head, i, i - 1]) for i in range(1, maps.shape[2])]
            if sum(weights) > best:
                best, found = sum(weights), (block, head)
    return found


def find_in_numpy(maps: Tensor) -> Any:
    back = np.diagonal(maps.numpy(), -1, 2, 3).sum(-1)
    return np.unravel_index(back.argmax(), back.shape)


def window_by_loop(n: int, w: int, sinks: int) -> list[list[bool]]:
    return [[j <= i and (i - j < w or j < sinks) for j in range(n)] for i in range(n)]


def window_by_triangles(n: int, w: int, sinks: int) -> Tensor:
    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)
    mask[:, :sinks] = True
    return mask.tril()


def rows_by_head(W: Tensor, num_heads: int) -> Tensor:
    return torch.cat([torch.cat([head[0::2], head[1::2]]) for head in W.chunk(num_heads)])


RIGHT: dict[str, list[Any]] = {
    "real-cache": [(11520, 180, 540), torch.tensor([11520.0, 180, 540])],
    "find-previous": [find_by_loop, find_in_numpy],
    "sink-window": [window_by_triangles, window_by_loop],
    "rows-in-halves": [rows_by_head, lambda W, h: W.view(h, -1, 2, W.shape[1]).transpose(1, 2).reshape(W.shape)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("real-cache", (7, 180, 540), "keys and values, heads of keys"),
    ("real-cache", (11520, 7, 540), "2 to the power of 20"),
    ("real-cache", (11520, 180, 7), "what grows with the number"),
    ("find-previous", lambda maps: maps.diagonal(-1, 2, 3).mean(-1).argmax(), "divmod makes both"),
    ("find-previous", lambda maps: (0, 0), "how many numbers does it have"),
    ("sink-window", lambda n, w, sinks: torch.ones(n, n).tril(), "True = may attend"),
    ("sink-window", lambda n, w, sinks: torch.ones(n, n).tril() > 0, "which keys the fifth query sees"),
    ("rows-in-halves", lambda W, h: W.flip(0), "where do 0, 1 and 2 go"),
]
