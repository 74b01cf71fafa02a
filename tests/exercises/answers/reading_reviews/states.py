"""Answers to the exercises: the maximum of a review."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def maximum(*, late: int = 0, filler: float = -torch.inf, empty: float = 0.0, keep_empty: bool = True) -> Any:
    """The maximum over the steps that count, right unless told otherwise."""

    def answer(H: Tensor, valid_lens: Tensor) -> Tensor:
        padding = torch.arange(H.shape[1]) >= valid_lens[:, None] + late
        found = H.masked_fill(padding[:, :, None], filler).amax(dim=1)
        return found.masked_fill(valid_lens[:, None] == 0, empty) if keep_empty else found

    return answer


def starter(H: Tensor, valid_lens: Tensor) -> Tensor:
    H[torch.arange(H.shape[1]) > valid_lens[:, None]] = 0
    return H.amax(dim=1)


def maximum_in_place(H: Tensor, valid_lens: Tensor) -> Tensor:
    H[torch.arange(H.shape[1]) >= valid_lens[:, None]] = -torch.inf
    return H.amax(dim=1).masked_fill(valid_lens[:, None] == 0, 0.0)


def maximum_of_padding(H: Tensor, valid_lens: Tensor) -> Tensor:
    words = torch.arange(H.shape[1]) < valid_lens[:, None]
    return H.masked_fill(words[:, :, None], -torch.inf).amax(dim=1)


def maximum_by_loop(H: Tensor, valid_lens: Tensor) -> Tensor:
    zeros = torch.zeros(H.shape[2])
    return torch.stack([h[:n].amax(dim=0) if n else zeros for h, n in zip(H, valid_lens.tolist(), strict=True)])


def maximum_in_numpy(H: Tensor, valid_lens: Tensor) -> Any:
    counts = np.arange(H.shape[1])[None, :, None] < valid_lens.numpy()[:, None, None]
    found = np.where(counts, H.numpy(), -np.inf).max(axis=1)
    return np.where(valid_lens.numpy()[:, None] > 0, found, 0)


def maximum_by_sort(H: Tensor, valid_lens: Tensor) -> Tensor:
    found = [h[:n].sort(dim=0).values[-1:].sum(dim=0) for h, n in zip(H, valid_lens.tolist(), strict=True)]
    return torch.stack(found)


def maximum_by_cummax(H: Tensor, valid_lens: Tensor) -> Tensor:
    best = H.cummax(dim=1).values[torch.arange(len(H)), (valid_lens - 1).clamp(min=0)]
    return torch.where(valid_lens[:, None] > 0, best, 0.0)


def mean_of_words(H: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.stack([states[:length].mean(dim=0) for states, length in zip(H, valid_lens.tolist(), strict=True)])


def last_word(H: Tensor, valid_lens: Tensor) -> Tensor:
    return H[torch.arange(len(H)), valid_lens - 1]


def maximum_and_lens(H: Tensor, valid_lens: Tensor) -> Tensor:
    found = maximum()(H, valid_lens)
    valid_lens -= 1
    return found


def penalised(penalty: float) -> Any:
    def answer(H: Tensor, valid_lens: Tensor) -> Tensor:
        padding = torch.arange(H.shape[1]) >= valid_lens[:, None]
        return (H - penalty * padding[:, :, None]).amax(dim=1)

    return answer


def multiplied(H: Tensor, valid_lens: Tensor) -> Tensor:
    counts = torch.arange(H.shape[1]) < valid_lens[:, None]
    return (H * counts[:, :, None]).amax(dim=1)


RIGHT: dict[str, list[Any]] = {
    "debug-maximum": [
        lambda H, lens: maximum(filler=H.min().item())(H, lens),
        maximum(),
        maximum_by_loop,
        maximum_in_numpy,
        maximum_by_sort,
        maximum_by_cummax,
        lambda H, lens: maximum(filler=float(H.min()))(H, lens),
        maximum(filler=torch.finfo(torch.float32).min),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-maximum", starter, "at which step does padding begin"),
    ("debug-maximum", maximum(late=1, keep_empty=False), "at which step does padding begin"),
    ("debug-maximum", maximum(late=-1), "is step 1 hidden?"),
    ("debug-maximum", maximum(filler=0.0), "what is smaller than all"),
    ("debug-maximum", multiplied, "what is smaller than all"),
    ("debug-maximum", maximum(filler=-10.0), "smaller than any number"),
    ("debug-maximum", maximum(filler=-100.0), "smaller than any number"),
    ("debug-maximum", maximum(filler=-1e9), "smaller than any number"),
    ("debug-maximum", maximum(filler=-1e6), "smaller than any number"),
    ("debug-maximum", penalised(20.0), "fill, do not add"),
    ("debug-maximum", penalised(1000.0), "fill, do not add"),
    ("debug-maximum", penalised(torch.inf), "what never wins"),
    ("debug-maximum", maximum(keep_empty=False), "a review without words"),
    ("debug-maximum", maximum(empty=torch.nan), "a review without words"),
    (
        "debug-maximum",
        lambda H, lens: torch.stack([h[:n].amax(0) for h, n in zip(H, lens, strict=True)]),
        "a review without words",
    ),
    (
        "debug-maximum",
        lambda H, lens: maximum(keep_empty=False)(H, lens) * (lens[:, None] > 0),
        "a review without words",
    ),
    ("debug-maximum", lambda H, lens: maximum()(H, lens).relu(), "what is smaller than all"),
    ("debug-maximum", lambda H, lens: H.max(dim=1), "gives a pair"),
    ("debug-maximum", lambda H, lens: -maximum()(-H, lens), "that is the minimum"),
    ("debug-maximum", lambda H, lens: maximum()(H.abs(), lens), "not the largest size"),
    ("debug-maximum", maximum_of_padding, "you hide the words"),
    ("debug-maximum", maximum_and_lens, "work on a new tensor"),
    ("debug-maximum", maximum_in_place, "changes the caller's tensor"),
    ("debug-maximum", last_word, "is not the maximum"),
    ("debug-maximum", mean_of_words, "a mean is no maximum"),
    ("debug-maximum", lambda H, lens: maximum_by_loop(H.cumsum(1), lens), "a sum is no maximum"),
    ("debug-maximum", lambda H, lens: H.amax(dim=1), "steps that do not count"),
    ("debug-maximum", lambda H, lens: H[:, : lens.min()].amax(dim=1), "a length of its own"),
    ("debug-maximum", lambda H, lens: H[:, : lens.max()].amax(dim=1), "a length of its own"),
    ("debug-maximum", lambda H, lens: H[:, : int(lens[0])].amax(dim=1), "a length of its own"),
    ("debug-maximum", lambda H, lens: H.amin(dim=1) - 1, "what never wins"),
    ("debug-maximum", lambda H, lens: H.amax(dim=2), "shape of each step"),
]
