"""Bytes moved through a fast memory, beside what follows by hand."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from d2lmini.costs.traffic import count_bytes_moved

ALL, LITTLE = 2**24, 2**14  # bytes: a fast memory for everything here, and one for hardly anything
SIZE = 64 * 1024 * 4  # bytes of an input


def draw() -> Tensor:
    return torch.randn(1, 64, 1024)


W = torch.randn(1024, 1024)
# What is done, the fast memory, and the bytes: an input or a result has SIZE, the matrix 16 times as many.
BY_HAND: dict[str, tuple[Callable[[Tensor], Tensor], int, int]] = {
    "one operation": (lambda X: X.exp(), ALL, 2 * SIZE),
    "one operation that does not fit": (lambda X: X.exp(), LITTLE, 2 * SIZE),
    "three that stay inside": (lambda X: X.exp().sin().cos(), ALL, 2 * SIZE),
    "three that do not": (lambda X: X.exp().sin().cos(), LITTLE, 6 * SIZE),
    "a product reads its matrix once": (lambda X: X @ W, ALL, 18 * SIZE),
    "two products with a matrix that stays": (lambda X: X @ W @ W, ALL, 18 * SIZE),
    "two products with one that does not": (lambda X: X @ W @ W, LITTLE, 36 * SIZE),
    "nothing is moved of nothing": (lambda X: X[:, :0].exp(), ALL, 0),
    "a view moves nothing": (lambda X: X.mT.mT[:, :32].exp(), ALL, SIZE),
    "in place": (lambda X: X.exp().sin_().cos_(), ALL, 2 * SIZE),
    "copied over, and not read": (lambda X: torch.empty_like(X).copy_(X), ALL, 2 * SIZE),
    "as large as another, which is not read": (lambda X: X.new_zeros(64, 1024) + torch.ones_like(X), ALL, SIZE),
    "dropped before it had to go back": (lambda X: (X.exp(), X.sum())[1], ALL, SIZE + 4),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_bytes_are_those_that_follow_by_hand(name: str) -> None:
    f, fast_memory, expected = BY_HAND[name]
    assert count_bytes_moved(f, draw(), fast_memory) == expected


def test_the_backward_pass_counts_if_the_function_makes_it() -> None:
    def both(X: Tensor) -> tuple[Tensor, ...]:
        X = X.detach().requires_grad_()
        return torch.autograd.grad(X.square().sum(), X)

    assert 2 * SIZE <= count_bytes_moved(both, draw(), ALL) <= 4 * SIZE


def test_a_module_is_left_as_it_was() -> None:
    norm = nn.BatchNorm1d(64)
    count_bytes_moved(norm, draw(), ALL)
    assert not norm.running_mean.any()


def test_a_fast_memory_without_a_page_is_refused() -> None:
    with pytest.raises(ValueError, match=r"fast_memory must be at least 4096 bytes, one page, got 100"):
        count_bytes_moved(torch.exp, draw(), 100)
