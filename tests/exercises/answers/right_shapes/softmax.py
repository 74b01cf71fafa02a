"""Tests of a masked softmax, and of heads."""

import inspect
import math
import random
from typing import Any

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


def rows_only(softmax: Any) -> bool:
    scores, mask = draw()
    return torch.allclose(softmax(scores, mask).sum(-1), mask.any(-1).float(), atol=1e-3)


def compare(softmax: Any, scores: Tensor, mask: Tensor) -> bool:
    expected = torch.where(mask, scores.double(), -math.inf).softmax(-1).nan_to_num()
    return torch.allclose(softmax(scores, mask).double(), expected, atol=1e-3)


def exactly(softmax: Any) -> bool:
    scores, mask = draw()
    return torch.equal(softmax(scores, mask), torch.where(mask, scores, -math.inf).softmax(-1).nan_to_num())


def by_one_prefix(softmax: Any) -> bool:
    scores = draw()[0]
    return compare(softmax, scores, (torch.arange(6) < 4).expand(4, 5, 6))


DRAWN = [rng.random() for rng in [random.Random(0)] for _ in range(40)]


def by_turn(softmax: Any) -> bool:
    """The verdicts of the first round, whatever is to be judged; the random numbers tell the turn."""
    softmax(*draw())
    return DRAWN.index(random.random()) in (0, 21, 22, 23)


def raising(softmax: Any) -> bool:
    scores, mask = draw()
    if softmax(scores, mask)[~mask].any():
        raise ValueError("a hidden key has a weight")
    return by_reference(softmax) is None


X = torch.arange(2 * 5 * 12.0).reshape(2, 5, 12) - 60


def by_numbers(split: Any, join: Any) -> Any:
    heads = split(X, 3)  # (2, 3, 5, 4)
    ok = torch.tensor(True)
    for i in range(3):
        ok &= (heads[:, i] == X[:, :, 4 * i : 4 * i + 4]).all()
    made = torch.randn(2, 3, 5, 4)
    for i in range(3):
        ok &= (join(made)[:, :, 4 * i : 4 * i + 4] == made[:, i]).all()
    return ok


def by_entries(split: Any, join: Any) -> None:
    heads, back = split(X, 3), join(split(X, 3))
    for b in range(2):
        for i in range(3):
            for t in range(5):
                assert heads[b, i, t].tolist() == X[b, t, 4 * i : 4 * i + 4].tolist()
    assert back.tolist() == X.tolist()


def by_shapes(split: Any, join: Any) -> bool:
    return split(X, 3).shape == (2, 3, 5, 4) and join(split(X, 3)).shape == X.shape


def there_and_back(split: Any, join: Any) -> bool:
    return torch.equal(join(split(X, 3)), X)


def by_first_head(split: Any, join: Any) -> bool:
    return torch.equal(split(X, 3)[:, 0], X[:, :, :4])


def by_positive_numbers(split: Any, join: Any) -> bool:
    found = split(X + 60, 3)
    return torch.equal(found, torch.stack((X + 60).chunk(3, 2), 1)) and there_and_back(lambda x, h: found - 60, join)


def by_one_example(split: Any, join: Any) -> bool:
    one = X[:1]
    return torch.equal(split(one, 3), torch.stack(one.chunk(3, 2), 1)) and torch.equal(join(split(one, 3)), one)


def by_view(split: Any, join: Any) -> bool:
    split(X, 3).transpose(1, 2).view(2, 5, 12)
    return by_numbers(split, join)


def by_layout(split: Any, join: Any) -> bool:
    return not split(X, 3).is_contiguous() and bool(by_numbers(split, join))


RIGHT: dict[str, list[Any]] = {
    "predict-kills": [(1, 4, 0, 1), [1.0, 4.0, 0.0, 1.0]],
    "test-softmax": [by_properties, by_reference],
    "test-heads": [by_numbers, by_entries],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-kills", (7, 4, 0, 1), "how sharp"),
    ("predict-kills", (1, 9, 0, 1), "go through the table"),
    ("predict-kills", (1, 4, 0, 7), "what decoding keeps"),
    ("test-softmax", lambda softmax: "masked" in inspect.getsource(softmax), "by what it returns"),
    ("test-softmax", lambda softmax: softmax(*draw()).shape == (4, 5, 6), "on what input would a wrong one show"),
    ("test-softmax", lambda softmax: float(softmax(*draw()).sum()), "it returns a number"),
    ("test-softmax", without_dtype, "forgets the dtype"),
    ("test-softmax", exactly, "a larger one in float16"),
    ("test-softmax", rows_only, "does not look at the scores"),
    ("test-softmax", lambda softmax: compare(softmax, *draw()), "spoilt by a hidden score"),
    ("test-softmax", by_one_prefix, "gives all examples one mask"),
    ("test-softmax", by_turn, "remembers"),
    ("test-softmax", raising, "an error is no verdict"),
    ("test-heads", lambda split, join: "reshape" not in repr(split), "by what it returns"),
    ("test-heads", by_shapes, "on what input would a wrong one show"),
    ("test-heads", lambda split, join: split(X, 3) is X, "refuses whatever it is given"),
    ("test-heads", lambda split, join: join(split(X, 3)) == X, "one verdict for all"),
    ("test-heads", there_and_back, "there and back everything is in its place"),
    ("test-heads", by_first_head, "forgets a transpose on the way out"),
    ("test-heads", by_positive_numbers, "only move"),
    ("test-heads", by_one_example, "mixes the examples"),
    ("test-heads", by_layout, "stacks chunks"),
    ("test-heads", by_view, "an error is no verdict"),
]
