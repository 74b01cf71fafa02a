"""The maximum of a review."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged

_LOUD = 5000.0  # what stands at padding: more than any penalty takes away


@checker("debug-maximum")
def check_debug_maximum(maximum: Any) -> str:
    """`maximum(H, valid_lens)` returns the largest number of each feature over the steps that count, or 0."""
    expect_function(maximum)
    for rows, lens in (
        ([[[1.0, 5.0], [4.0, 2.0], [8.0, 3.0], [_LOUD, 1.0]]], [2]),
        ([[[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]], [2]),
        (
            [
                [[4.0, -5.0], [1.0, -2.0], [_LOUD, 9.0], [0.0, _LOUD]],
                [[-1.0, -2.0], [7.0, _LOUD], [8.0, 8.0], [_LOUD, 9.0]],
                [[-3.0, 1.0], [-4.0, -1.0], [-2.0, 3.0], [_LOUD, _LOUD]],
            ],
            [2, 1, 3],
        ),
        ([[[-1e30, -2e30], [5.0, 5.0]]], [1]),
        ([[[2.0, -1.0], [3.0, -3.0]], [[6.0, 7.0], [8.0, _LOUD]], [[-1.0, 1.0], [-2.0, 4.0]]], [2, 0, 1]),
    ):
        H, valid_lens = torch.tensor(rows), torch.tensor(lens)
        given = f"H = torch.tensor({rows}); valid_lens = torch.tensor({lens})"
        try:
            found = maximum(H, valid_lens)
        except (IndexError, RuntimeError, ValueError) as error:
            if 0 not in lens:
                raise
            hint = "a review without words has nothing to take a maximum of: it has zeros"
            raise WrongAnswer("a review may be empty", hint, given=given, got=error) from error
        expect_unchanged("valid_lens", valid_lens, valid_lens, given=given)
        if isinstance(found, tuple):
            raise WrongAnswer("it returns a tensor", "max(dim=...) gives a pair: values and indices", given=given)
        expect_close(
            found,
            _take_maximum(H, valid_lens),
            claim="it is the maximum over the steps that count",
            given=given,
            hint="which steps count, and what never wins a maximum?",
            mistakes=_list_wrong_maxima(H, valid_lens),
        )
        expect_unchanged("H", H, H, "H[...] = ... changes the caller's tensor", given=given)
    return "padding never wins, negative numbers may, an empty review has zeros, H unchanged"


def _take_maximum(H: Tensor, lens: Tensor) -> Tensor:
    padding = torch.arange(H.shape[1]) >= lens[:, None]
    return _fill(H, padding, -torch.inf).masked_fill(lens[:, None] == 0, 0.0)


def _fill(H: Tensor, hidden: Tensor, filler: float) -> Tensor:
    return H.masked_fill(hidden[:, :, None], filler).amax(dim=1)


def _list_wrong_maxima(H: Tensor, lens: Tensor) -> dict[str, Tensor | tuple[Tensor, ...]]:
    steps = torch.arange(H.shape[1])
    padding, later = steps >= lens[:, None], steps > lens[:, None]
    early = steps >= lens[:, None] - 1
    shortest, longest = int(lens.min()), max(int(lens.max()), 1)
    wrong: dict[str, Tensor | tuple[Tensor, ...]] = {
        "with a length of 2 the steps 0 and 1 count: at which step does padding begin?": (
            _fill(H, later, -torch.inf),
            _fill(H, later, 0.0),
        ),
        "with a length of 2 the steps 0 and 1 count: is step 1 hidden?": (_fill(H, early, -torch.inf),),
        "0 is larger than a negative number: what is smaller than all?": _fill(H, padding, 0.0),
        "the last step that counts is not the maximum": H[torch.arange(len(H)), lens - 1],
        "a mean is no maximum": H.masked_fill(padding[:, :, None], 0.0).sum(dim=1) / lens[:, None],
        "a sum is no maximum": H.masked_fill(padding[:, :, None], 0.0).sum(dim=1),
        "is there a maximum of steps that do not count?": H.amax(dim=1),
        "a state may be smaller than any number that you choose; what is smaller than all?": tuple(
            _fill(H, padding, -filler) for filler in (10.0, 100.0, 1000.0, 1e4, 1e5, 1e6, 1e9, 1e10)
        ),
        "a penalty that is added does not hide a large state: fill, do not add": tuple(
            (H - filler * padding[:, :, None]).amax(dim=1) for filler in (20.0, 100.0, 1000.0)
        ),
        "you hide the words and keep the padding": _fill(H, ~padding, -torch.inf),
        "that is the minimum": H.masked_fill(padding[:, :, None], torch.inf).amin(dim=1),
        "the largest number, not the largest size: a negative one has a sign": _fill(H.abs(), padding, 0.0),
    }
    if len(H) > 1:
        wrong["each review has a length of its own, not that of the shortest, longest or first"] = tuple(
            H[:, :n].amax(dim=1) for n in (shortest, longest, int(lens[0])) if n
        )
    if (lens == 0).any():
        wrong["a review without words has nothing to take a maximum of: it has zeros"] = (
            _fill(H, padding, -torch.inf),
            _take_maximum(H, lens).masked_fill(lens[:, None] == 0, torch.nan),
        )
    return wrong
