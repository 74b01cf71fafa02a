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


def chain(f: Callable[[int], Callable[[Tensor], Any]], d: int = 3) -> Callable[[int], int]:
    return lambda n: d2l.count_sequential_operations(f(n), sequence(n, d))


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda: nn.RNN(3, 3, batch_first=True), 3),
        (lambda: Recurrent(nn.RNNCell(3, 3)), 3),
        (lambda: nn.GRU(3, 3, batch_first=True), 10),
        (lambda: d2l.SelfAttention(3), 0),
        (lambda: d2l.Convolution(3, 3), 0),
        (lambda: d2l.SeparableConvolution(3, 3), 0),
        (lambda: d2l.RestrictedSelfAttention(3, 1), 0),
        (lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU()), 0),
    ],
)
def test_the_chain_grows_with_n_in_recurrent_layers_only(make: Callable[[], nn.Module], step: int) -> None:
    layer = make().double()
    measure = chain(lambda n: layer)
    assert [d2l.take_differences(measure, n, 1) for n in (4, 9)] == [step] * 2


def test_a_stack_has_the_chain_of_its_layers() -> None:
    layer = d2l.SelfAttention(3).double()
    stacks = (layer, lambda X: layer(layer(X)[0]), lambda X: layer(layer(layer(X)[0])[0]))
    one, two, three = (chain(lambda n, f=f: f)(6) for f in stacks)
    assert three - two == two - one > 0


class OwnBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor) -> Tensor:
        for _ in range(X.shape[1]):
            X = X.cos()
        return X

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


def collected(put: Callable[[Tensor, int, Tensor], Tensor | None]) -> Callable[[Tensor], Tensor]:
    """All tokens' tanh, put into a tensor one by one."""

    def f(X: Tensor) -> Tensor:
        Y = torch.zeros_like(X)
        for i in range(X.shape[1]):
            returned = put(Y, i, X[:, i : i + 1].tanh())
            Y = Y if returned is None else returned
        return Y

    return f


def here(Y: Tensor, i: int) -> Tensor:
    return (torch.arange(Y.shape[1]) == i)[None, :, None].expand_as(Y)


COLLECTING: dict[str, Callable[[Tensor, int, Tensor], Tensor | None]] = {
    "writing": lambda Y, i, y: Y.__setitem__((slice(None), i), y[:, 0]),
    "cat": lambda Y, i, y: torch.cat([Y[:, :i], y, Y[:, i + 1 :]], 1),
    "copy_": lambda Y, i, y: (Y[:, i : i + 1].copy_(y, True), None)[1],
    "index_copy_": lambda Y, i, y: Y.index_copy_(1, torch.tensor([i]), y),
    "index_put": lambda Y, i, y: Y.index_put((torch.tensor([0]), torch.tensor([i])), y[:, 0]),
    "slice_scatter": lambda Y, i, y: torch.slice_scatter(Y, y, 1, i, i + 1),
    "scatter": lambda Y, i, y: Y.scatter(1, torch.full(y.shape, i), y),
    "masked_scatter": lambda Y, i, y: Y.masked_scatter(here(Y, i), y),
    "where": lambda Y, i, y: torch.where(here(Y, i), y, Y),
    "a window that moves": lambda Y, i, y: torch.cat([Y[:, 1:], y], 1),
}


@pytest.mark.parametrize("put", COLLECTING.values(), ids=COLLECTING)
def test_collecting_results_is_not_waiting_for_them(put: Any) -> None:
    assert [chain(lambda n: collected(put))(n) for n in (1, 4, 9)] == [1, 1, 1]


def recurrence_by_cat(X: Tensor) -> Tensor:
    Y = X[:, :1].tanh()
    for i in range(1, X.shape[1]):
        Y = torch.cat([Y, (X[:, i : i + 1] + Y[:, -1:]).tanh()], 1)
    return Y


def tree_in_one_tensor(X: Tensor) -> Tensor:
    """Each entry needs the one at half its index: a chain of one more each time that n doubles."""
    Y = torch.zeros_like(X)
    Y[:, 0] = X[:, 0]
    for i in range(1, X.shape[1]):
        Y[:, i] = Y[:, i // 2] * X[:, i]
    return Y


def scan(X: Tensor) -> Tensor:
    """A cumulative sum in about log n rounds."""
    shift = 1
    while shift < X.shape[1]:
        X = X + F.pad(X, (0, 0, shift, 0))[:, : X.shape[1]]
        shift *= 2
    return X


def fed_back(X: Tensor) -> Tensor:
    """The place of the largest entry decides what is read next: no gradient, but a chain."""
    x, outputs = X[:, 0], []
    for _ in range(X.shape[1]):
        x = X.gather(1, x.argmax(1).clamp(max=X.shape[1] - 1)[:, None, None].expand(-1, 1, X.shape[2]))[:, 0]
        outputs.append(x)
    return torch.stack(outputs, 1)


@torch.no_grad()
def without_gradient(X: Tensor) -> Tensor:
    return recurrence_by_cat(X.detach())


@pytest.mark.parametrize(
    ("f", "lengths"),
    [
        (recurrence_by_cat, (7, 15, 31)),  # an addition and a tanh for each token but the first
        (tree_in_one_tensor, (2, 3, 4)),
        (scan, (2, 3, 4)),
        (fed_back, (8, 16, 32)),
        (without_gradient, (7, 15, 31)),
        (OwnBackward.apply, (4, 8, 16)),
        (lambda X: torch.ones(X.shape[1], X.shape[1]).double().tril() @ X, (1, 1, 1)),
        (lambda X: X.clone().fill_(0.0).add_(X[:, 0, 0].exp()), (2, 2, 2)),
        (lambda X: X.topk(X.shape[1] // 2, 1).values, (2, 4, 8)),  # as many maxima
        (lambda X: torch.view_as_real(torch.view_as_complex(torch.stack([X, X], -1)) * 1j), (1, 1, 1)),
    ],
)
def test_chains_of_known_length(f: Any, lengths: tuple[int, ...]) -> None:
    assert tuple(chain(lambda n: f)(n) for n in (4, 8, 16)) == lengths


@torch.library.custom_op("tests_d2lmini::chains", mutates_args=())
def product(X: Tensor) -> Tensor:
    return X @ X.mT


def chosen_by_python(X: Tensor) -> Tensor:
    total, outputs = 0.0, []
    for x in X.unbind(1):
        outputs.append(x.tanh() if total <= 0 else x.sin())
        total += float(outputs[-1].detach().sum())
    return torch.stack(outputs, 1)


def of_square(name: str) -> Callable[[Tensor], Any]:
    return lambda X: getattr(torch.linalg, name)(X @ X.mT + torch.eye(4).double())


ALONG = ("cumsum", "cumprod", "cummax", "logcumsumexp", "sort", "argsort")
SQUARE = ("inv", "cholesky", "qr", "eigh", "det")
HIDDEN: list[tuple[Callable[[Tensor], Any], str]] = [
    *((lambda X, name=name: getattr(X, name)(1), name.removeprefix("arg")) for name in ALONG),
    *((of_square(name), f"Linalg{name}(Ex)?Backward") for name in SQUARE),
    (lambda X: X.kthvalue(2, 1), "KthvalueBackward"),
    (lambda X: torch.fft.irfft(torch.fft.rfft(X, dim=1) * 2, dim=1), "FftR2CBackward"),
    (lambda X: torch.linalg.solve_triangular(X @ X.mT, X, upper=True), "LinalgSolveTriangularBackward"),
    (torch.matrix_exp, "LinalgMatrixExpBackward"),
    (product, "GeneratedBackwardFor_tests_d2lmini_chains_default"),
]


@pytest.mark.parametrize(("f", "name"), HIDDEN)
def test_a_hidden_chain_is_refused_by_the_name_of_its_node(f: Any, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^(?i:{name})\w* hides a chain"):
        d2l.count_sequential_operations(f, sequence(4, 4))


test_a_chain_that_cannot_be_seen_is_refused = rejected(
    (chosen_by_python, "a number that depends on X into Python"),
    (lambda X: X if torch.equal(X, X + 1) else -X, "a number that depends on X into Python"),
    (lambda X: torch.tensor(X.exp().tolist()), r"out of PyTorch \(tolist\)"),
    (lambda X: torch.zeros(2).double().add_(1).resize_(4, 4) * X, "another size in place"),
    (lambda X: X.to_sparse().to_dense(), "layout torch.sparse_coo"),
    (lambda X: torch.zeros(3), "does not depend on X"),
    (lambda X: X[:, :0].exp(), "does not depend on X"),
    (lambda X: (X * 0 > 1).new_zeros(3), "does not depend on X"),
    by=lambda f: d2l.count_sequential_operations(f, sequence(4, 4)),
)


def test_a_number_that_has_nothing_to_do_with_the_input_may_be_looked_at() -> None:
    lengths = torch.tensor([3])
    assert d2l.count_sequential_operations(lambda X: X[:, : int(lengths.max())].exp(), sequence(4, 3)) == 1


def test_a_long_chain_is_followed_without_recursion() -> None:
    assert d2l.count_sequential_operations(Recurrent(nn.RNNCell(1, 1)).double(), sequence(400, 1)) == 1200
