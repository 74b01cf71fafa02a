"""Answers to the exercises of the chapter "Reading reviews"."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


def luck(right: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(right, pairs + 1)) / 2**pairs


def enough(pairs: int, chance: float) -> int:
    return next((k for k in range(pairs + 1) if luck(k, pairs) < chance), pairs + 1)


def by_tensor(pairs: int, chance: float) -> torch.Tensor:
    ways = torch.tensor([math.comb(pairs, i) for i in range(pairs + 1)], dtype=torch.float64) / 2.0**pairs
    tails = ways.flip(0).cumsum(0).flip(0)
    return torch.cat([tails, torch.zeros(1)]).lt(chance).long().argmax()


def maximum(filler: float = -torch.inf) -> Any:
    """The maximum over the steps that count, where padding is filled with a number."""

    def answer(H: Tensor, valid_lens: Tensor) -> Tensor:
        padding = torch.arange(H.shape[1]) >= valid_lens[:, None]
        return H.masked_fill(padding[:, :, None], filler).amax(dim=1).masked_fill(valid_lens[:, None] == 0, 0.0)

    return answer


def maximum_by_loop(H: Tensor, valid_lens: Tensor) -> Tensor:
    zeros = torch.zeros(H.shape[2])
    return torch.stack([h[:n].amax(dim=0) if n else zeros for h, n in zip(H, valid_lens.tolist(), strict=True)])


def maximum_in_numpy(H: Tensor, valid_lens: Tensor) -> Any:
    counts = np.arange(H.shape[1])[None, :, None] < valid_lens.numpy()[:, None, None]
    found = np.where(counts, H.numpy(), -np.inf).max(axis=1)
    return np.where(valid_lens.numpy()[:, None] > 0, found, 0)


Score = Callable[[Tensor], Any]


def effects(score: Score, tokens: Tensor, width: int) -> Tensor:
    found = []
    for i in range(len(tokens) - width + 1):
        hidden = tokens.clone()
        hidden[i : i + width] = 1
        found.append(float(score(tokens) - score(hidden)))
    return torch.tensor(found)


def effects_by_unfold(score: Score, tokens: Tensor, width: int) -> Tensor:
    places = torch.arange(len(tokens)).unfold(0, width, 1)  # (phrases, width)
    rows = tokens.repeat(len(places), 1).scatter(1, places, 1)
    return score(tokens) - torch.stack([score(row) for row in rows])  # type: ignore[no-any-return]


RIGHT: dict[str, list[Any]] = {
    "by-luck": [enough, by_tensor],
    "use-luck": [[40], torch.tensor(40)],
    "debug-maximum": [maximum(), maximum_by_loop, maximum_in_numpy],
    "predict-bag": [(0.9, 0.1, 0.5), [0.9, 0.1, 0.5]],
    "effect-of-words": [effects, effects_by_unfold],
}

WRONG: list[tuple[str, Any, str]] = [
    ("by-luck", lambda n, p: round(0.7 * n), "in place of 50"),
    ("by-luck", lambda n, p: min(500, enough(n, p)), "from which k on"),
    ("use-luck", [35], "enough(pairs, 0.01)"),
    ("debug-maximum", maximum(filler=-1e9), "smaller than any number"),
    ("debug-maximum", lambda H, lens: H.amin(dim=1) - 1, "what never wins"),
    ("predict-bag", (0.9, 0.1, 0.75), "cannot change a proof"),
    ("predict-bag", (0.7, 0.1, 0.5), "how many reviews are in no pair"),
    ("predict-bag", (0.9, 0.1, 0.7), "know about order"),
    ("effect-of-words", lambda score, t, w: effects(lambda x: score(x[None]), t, w), "one review at a time"),
]
