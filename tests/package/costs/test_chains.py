"""Chains of operations whose length is known, and those that nobody can see."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from tests.package.costs.sequences import Recurrent, sequence
from tests.package.refusals import rejected


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda: nn.RNN(3, 3, batch_first=True), 3),
        (lambda: Recurrent(nn.RNNCell(3, 3)), 3),
        (lambda: nn.GRU(3, 3, batch_first=True), 10),
        (lambda: nn.LSTM(3, 3, batch_first=True), 8),
        (lambda: d2l.SelfAttention(3), 0),
        (lambda: d2l.SeparableConvolution(3, 3), 0),
        (lambda: d2l.RestrictedSelfAttention(3, 1), 0),
        (lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU()), 0),
    ],
)
def test_the_chain_grows_with_n_in_recurrent_layers_only(make: Callable[[], nn.Module], step: int) -> None:
    layer = make().double()
    chain = [d2l.count_sequential_operations(layer, sequence(n, 3)) for n in (4, 5, 9)]
    assert chain[1] - chain[0] == step and chain[2] - chain[1] == 4 * step


def collect(put: Callable[[Tensor, int, Tensor], Tensor | None]) -> Callable[[Tensor], Tensor]:
    """All tokens' tanh, put into a tensor one by one."""

    def f(X: Tensor) -> Tensor:
        Y = torch.zeros_like(X)
        for i in range(X.shape[1]):
            returned = put(Y, i, X[:, i : i + 1].tanh())
            Y = Y if returned is None else returned
        return Y

    return f


def recurrence_by_cat(X: Tensor) -> Tensor:
    Y = X[:, :1].tanh()
    for i in range(1, X.shape[1]):
        Y = torch.cat([Y, (X[:, i : i + 1] + Y[:, -1:]).tanh()], 1)
    return Y


def scan(X: Tensor) -> Tensor:
    """A cumulative sum in about log n rounds."""
    shift = 1
    while shift < X.shape[1]:
        X = X + F.pad(X, (0, 0, shift, 0))[:, : X.shape[1]]
        shift *= 2
    return X


@pytest.mark.parametrize(
    ("f", "lengths"),
    [
        (recurrence_by_cat, (7, 15, 31)),  # an addition and a tanh for each token but the first
        (scan, (2, 3, 4)),
        (lambda X: torch.ones(X.shape[1], X.shape[1]).double().tril() @ X, (1, 1, 1)),
        (collect(lambda Y, i, y: Y.__setitem__((slice(None), i), y[:, 0])), (1, 1, 1)),
        (collect(lambda Y, i, y: torch.cat([Y[:, :i], y, Y[:, i + 1 :]], 1)), (1, 1, 1)),
        (collect(lambda Y, i, y: torch.slice_scatter(Y, y, 1, i, i + 1)), (1, 1, 1)),
        (collect(lambda Y, i, y: torch.where((torch.arange(Y.shape[1]) == i)[:, None], y, Y)), (1, 1, 1)),
    ],
)
def test_chains_of_known_length(f: Any, lengths: tuple[int, ...]) -> None:
    assert tuple(d2l.count_sequential_operations(f, sequence(n, 3)) for n in (4, 8, 16)) == lengths


class OwnBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor) -> Tensor:
        return X.cos()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


test_a_chain_that_cannot_be_seen_is_refused = rejected(
    *((lambda X, name=name: getattr(X, name)(1), "hides a chain") for name in ("cumsum", "cumprod", "sort", "topk")),
    (lambda X: torch.linalg.inv(X @ X.mT), "LinalgInv.* hides a chain"),
    (lambda X: torch.fft.irfft(torch.fft.rfft(X, dim=1) * 2, dim=1), "FftR2C.* hides a chain"),
    (OwnBackward.apply, "OwnBackwardBackward hides a chain"),
    (lambda X: torch.zeros(3), "no gradient leads from the output of f to X"),
    (lambda X: torch.ones(3, requires_grad=True) * 2, "no gradient leads from the output of f to X"),
    by=lambda f: d2l.count_sequential_operations(f, sequence(4, 4)),
)


def test_a_long_chain_is_followed_without_recursion() -> None:
    assert d2l.count_sequential_operations(Recurrent(nn.RNNCell(1, 1)).double(), sequence(400, 1)) == 1200
