"""Tests of how heads are split and joined."""

from __future__ import annotations

from typing import Any

import torch

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


RIGHT: dict[str, list[Any]] = {"test-heads": [by_numbers, by_entries]}
WRONG: list[tuple[str, Any, str]] = [
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
