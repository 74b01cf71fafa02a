"""Tests of a masked softmax, and the number of tests that kill a mutant."""

from __future__ import annotations

import inspect
import math
import random
from typing import Any

import numpy as np
import torch
from torch import Tensor


def draw(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    scores = 2 * torch.randn(4, 5, 6, generator=generator)
    mask = torch.rand(4, 5, 6, generator=generator) < 0.6
    mask[0, 0] = False
    return scores.to(dtype), mask


def by_properties(softmax: Any) -> Any:
    ok = torch.tensor(True)
    for dtype in (torch.float32, torch.float16):
        scores, mask = draw(dtype)
        weights = softmax(scores, mask)
        ok &= weights.dtype == dtype
        weights = weights.float()
        spoilt = softmax(torch.where(mask, scores, 1000), mask).float()
        higher = scores.clone()
        higher[..., 0] += math.log(2)
        odds, higher_odds = ((w[..., :1] / w).float() for w in (weights, softmax(higher, mask).float()))
        seen = (mask & mask[..., :1])[..., 1:]
        ok &= ((weights.sum(-1) - mask.any(-1).float()).abs() < 0.01).all()
        ok &= (weights[~mask] == 0).all() & ((spoilt - weights).abs() < 0.01).all()
        ok &= ((higher_odds / odds - 2).abs()[..., 1:][seen] < 0.05).all()
        for far in (500, -500):
            ok &= ((softmax(scores + far, mask).float() - weights).abs() < 0.3).all()
    return ok


def by_reference(softmax: Any) -> None:
    for dtype in (torch.float32, torch.float16):
        for factor in (1, 100):
            scores, mask = draw(dtype)
            scores[1:, :, 0] *= factor
            expected = torch.where(mask, scores.double(), -math.inf).softmax(-1).nan_to_num()
            torch.testing.assert_close(softmax(scores, mask), expected.to(dtype), atol=5e-3, rtol=0)
    scores, mask = draw()
    expected = torch.where(mask, scores, -math.inf).softmax(-1).nan_to_num()
    torch.testing.assert_close(softmax(torch.where(mask, scores, 1000), mask), expected)
    torch.testing.assert_close(softmax(scores - 900, mask), expected, atol=1e-3, rtol=0)


def without_dtype(softmax: Any) -> bool:
    def single(scores: Tensor, mask: Tensor) -> Tensor:
        return softmax(scores, mask).to(scores.dtype)

    return by_reference(single) is None


def by_numpy(softmax: Any) -> Any:
    try:
        by_reference(softmax)
    except AssertionError:
        return np.bool_(False)
    return np.array(True)


def rows_only(softmax: Any) -> bool:
    scores, mask = draw()
    return torch.allclose(softmax(scores, mask).sum(-1), mask.any(-1).float(), atol=1e-3)


def rows_and_hidden(softmax: Any) -> bool:
    scores, mask = draw()
    return rows_only(softmax) and bool((softmax(scores, mask)[~mask] == 0).all())


def compare(softmax: Any, scores: Tensor, mask: Tensor, tolerance: float = 1e-3) -> bool:
    expected = torch.where(mask, scores.double(), -math.inf).softmax(-1).nan_to_num()
    return torch.allclose(softmax(scores, mask).double(), expected, atol=tolerance)


def without_large_hidden(softmax: Any) -> bool:
    return compare(softmax, *draw()) and compare(softmax, *draw(torch.float16), tolerance=5e-3)


def only_large(softmax: Any) -> bool:
    """Large scores, hidden and seen, but none far below 0."""
    scores, mask = draw()
    spoilt = torch.where(mask, scores, 1000)
    return (
        without_large_hidden(softmax)
        and all(
            compare(softmax, some, mask) and softmax(some.half(), mask).dtype == torch.float16
            for some in (spoilt, scores + 900)
        )
        and not bool(softmax(spoilt.half(), mask).isnan().any())
    )


def exactly(softmax: Any) -> bool:
    scores, mask = draw()
    return torch.equal(softmax(scores, mask), torch.where(mask, scores, -math.inf).softmax(-1).nan_to_num())


def strictly_in_half(softmax: Any) -> bool:
    return by_reference(softmax) is None and compare(softmax, *draw(torch.float16), tolerance=1e-6)


def by_one_prefix(softmax: Any) -> bool:
    scores = draw()[0]
    return compare(softmax, scores, (torch.arange(6) < 4).expand(4, 5, 6))


def only_one_example(softmax: Any) -> bool:
    scores, mask = draw()
    return compare(softmax, scores[1:2], mask[1:2])


DRAWN = [rng.random() for rng in [random.Random(0)] for _ in range(40)]


def by_turn(softmax: Any) -> bool:
    """The verdicts of the first round, whatever is to be judged; the random numbers tell the turn."""
    softmax(*draw())
    return DRAWN.index(random.random()) in (0, 17, 18, 19)


def without_looking(softmax: Any) -> bool:
    return DRAWN.index(random.random()) in (0, 16, 17, 18)


def raising(softmax: Any) -> bool:
    scores, mask = draw()
    if softmax(scores, mask)[~mask].any():
        raise ValueError("a hidden key has a weight")
    return by_reference(softmax) is None


RIGHT: dict[str, list[Any]] = {
    "predict-kills": [(1, 4, 0, 1), [1.0, 4.0, 0.0, 1.0]],
    "test-softmax": [by_properties, by_reference, by_numpy],
}
WRONG: list[tuple[str, Any, str]] = [
    ("predict-kills", (7, 4, 0, 1), "how sharp"),
    ("predict-kills", (1, 9, 0, 1), "go through the table"),
    ("predict-kills", (1, 4, 6, 1), "what moves"),
    ("predict-kills", (1, 4, 0, 7), "what decoding keeps"),
    ("test-softmax", True, "pass the function itself"),
    ("test-softmax", lambda softmax: True, "judge a function or a module by what it returns"),
    ("test-softmax", lambda softmax: "masked" in inspect.getsource(softmax), "by what it returns"),
    ("test-softmax", lambda softmax: type(softmax).__name__ == "function", "by what it returns"),
    ("test-softmax", without_looking, "by what it returns"),
    ("test-softmax", lambda softmax: softmax(*draw()).shape == (4, 5, 6), "on what input would a wrong one show"),
    ("test-softmax", lambda softmax: softmax(*draw()) is None, "refuses whatever it is given"),
    ("test-softmax", lambda softmax: (softmax(*draw()) >= 0)[0, 0], "one verdict for all"),
    ("test-softmax", lambda softmax: float(softmax(*draw()).sum()), "it returns a number"),
    ("test-softmax", lambda softmax: int(by_properties(softmax)), "compare it with one"),
    ("test-softmax", without_dtype, "forgets the dtype"),
    ("test-softmax", exactly, "a larger one in float16"),
    ("test-softmax", strictly_in_half, "refuses whatever it is given"),
    ("test-softmax", rows_only, "does not look at the scores"),
    ("test-softmax", rows_and_hidden, "does not look at the scores"),
    ("test-softmax", without_large_hidden, "spoilt by a hidden score"),
    ("test-softmax", lambda softmax: compare(softmax, *draw()), "spoilt by a hidden score"),
    ("test-softmax", only_large, "all far below 0"),
    ("test-softmax", by_one_prefix, "gives all examples one mask"),
    ("test-softmax", only_one_example, "gives all examples one mask"),
    ("test-softmax", by_turn, "remembers"),
    ("test-softmax", raising, "an error is no verdict"),
]
