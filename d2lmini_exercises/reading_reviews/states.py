"""The maximum of a review."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import Case, exercise


def maximum(
    H: Tensor, valid_lens: Tensor, *, late: int = 0, filler: float = -torch.inf, penalty: float = 0.0,
    empty: float = 0.0, take: Any = lambda shown: shown.amax(1),
) -> Tensor:  # fmt: skip
    """The maximum over the steps that count, right unless told otherwise."""
    padding = (torch.arange(H.shape[1]) >= valid_lens[:, None] + late)[:, :, None]
    found = take(H - penalty * padding if penalty else H.masked_fill(padding, filler))
    return found if penalty or isinstance(found, tuple) else found.masked_fill(valid_lens[:, None] == 0, empty)


def cut(take: Any) -> Any:
    """A review at a time, cut to its words."""
    return lambda H, lens: torch.stack([take(h[:n]) for h, n in zip(H, lens, strict=True)])


EMPTY = "a review without words has nothing to take a maximum of: it has zeros"
LOUD = [
    [[4.0, -5.0], [1.0, -2.0], [5000.0, 9.0], [0.0, 5000.0]],
    [[-1.0, -2.0], [7.0, 5000.0], [8.0, 8.0], [5000.0, 9.0]],
    [[-3.0, 1.0], [-4.0, -1.0], [-2.0, 3.0], [5000.0, 5000.0]],
]
FEW = [[[2.0, -1.0], [3.0, -3.0]], [[6.0, 7.0], [8.0, 5000.0]], [[-1.0, 1.0], [-2.0, 4.0]]]
exercise(
    "debug-maximum",
    maximum,
    tuple(
        Case(f"H = torch.tensor({rows}); valid_lens = torch.tensor({lens})", hint)
        for rows, lens, hint in (
            ([[[1.0, 5.0], [4.0, 2.0], [8.0, 3.0], [5000.0, 1.0]]], [2], ""),
            ([[[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]], [2], ""),
            (LOUD, [2, 1, 3], ""),
            (
                [[[-1e30, -2e30], [5.0, 5.0]]],
                [1],
                "a state may be smaller than any number that you choose; what is smaller than all?",
            ),
            (FEW, [2, 0, 1], EMPTY),
        )
    ),
    {
        "with a length of 2 the steps 0 and 1 count: at which step does padding begin?": (
            *({"late": 1}, {"late": 1, "filler": 0.0}),
        ),
        "with a length of 2 the steps 0 and 1 count: is step 1 hidden?": {"late": -1},
        "0 is larger than a negative number: what is smaller than all?": {"filler": 0.0},
        "the last step that counts is not the maximum": lambda H, lens: H[torch.arange(len(H)), lens - 1],
        "a mean is no maximum": cut(lambda h: h.mean(0)),
        "a sum is no maximum": cut(lambda h: h.sum(0)),
        "is there a maximum of steps that do not count?": lambda H, lens: H.amax(1),
        "a penalty that is added does not hide a large state: fill, do not add": tuple(
            {"penalty": penalty} for penalty in (20.0, 100.0, 1000.0)
        ),
        "you hide the words and keep the padding": lambda H, lens: maximum(H.flip(1), H.shape[1] - lens),
        "that is the minimum": lambda H, lens: -maximum(-H, lens),
        "the largest number, not the largest size: a negative one has a sign": lambda H, lens: maximum(H.abs(), lens),
        "each review has a length of its own, not that of the shortest, longest or first": (
            lambda H, lens: H[:, : lens.min()].amax(1),
            lambda H, lens: H[:, : lens.max()].amax(1),
            lambda H, lens: H[:, : lens[0]].amax(1),
        ),
        EMPTY: ({"empty": -torch.inf}, {"empty": torch.nan}, cut(lambda h: h.amax(0)), cut(lambda h: h.max(0).values)),
        "max(dim=...) gives a pair: values and indices": (
            *({"take": lambda shown: shown.max(1)}, lambda H, lens: H.max(1)),
        ),
    },
    claim="it is the maximum over the steps that count",
    verified="padding never wins, negative numbers may, an empty review has zeros, H unchanged",
    hint="which steps count, and what never wins a maximum?",
)
