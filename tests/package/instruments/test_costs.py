"""The instruments on layers whose costs are known in closed form, on each other, and on what misled others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini.instruments.memory import measure_peak_memory
from tests.package.instruments.sequences import Recurrent, sequence

lengths, widths = st.integers(2, 12), st.integers(1, 9)


def multi_head(d: int, need_weights: bool = False) -> Callable[[Tensor], Any]:
    attention = d2l.MultiHeadAttention(d, d, d, d, 1, 0.0).double()
    return lambda X: attention(X, X, X, need_weights=need_weights)


# ---- FLOPs ----

LAYERS: dict[str, tuple[Callable[[int, int], Any], Callable[[int, int, int], int]]] = {
    "convolution": (lambda d, r: d2l.Convolution(d, 2 * r + 1), lambda n, d, r: 2 * (2 * r + 1) * n * d * d),
    "dilated": (
        lambda d, r: d2l.Convolution(d, r + 1, dilation=3, causal=True),
        lambda n, d, r: 2 * (r + 1) * n * d * d,
    ),
    "separable": (
        lambda d, r: d2l.SeparableConvolution(d, 2 * r + 1),
        lambda n, d, r: 2 * (2 * r + 1) * n * d + 2 * n * d * d,
    ),
    "RNN": (lambda d, r: nn.RNN(d, d, batch_first=True), lambda n, d, r: 4 * n * d * d),
    "GRU": (lambda d, r: nn.GRU(d, d, batch_first=True), lambda n, d, r: 12 * n * d * d),
    "LSTM": (lambda d, r: nn.LSTM(d, d, batch_first=True), lambda n, d, r: 16 * n * d * d),
    "LSTM cell": (lambda d, r: Recurrent(nn.LSTMCell(d, d)), lambda n, d, r: 16 * n * d * d),
    "self-attention": (lambda d, r: d2l.SelfAttention(d), lambda n, d, r: 6 * n * d * d + 4 * n * n * d),
    "restricted": (
        d2l.RestrictedSelfAttention,
        lambda n, d, r: 6 * n * d * d + 4 * n * (2 * r + 1) * d,
    ),
}


@pytest.mark.parametrize("name", LAYERS)
@given(n=lengths, d=widths, r=st.integers(1, 3))
@settings(max_examples=12)
def test_flops_are_those_of_the_formula(name: str, n: int, d: int, r: int) -> None:
    make, formula = LAYERS[name]
    assert d2l.count_flops(make(d, r).double(), sequence(n, d)) == formula(n, d, r)


@pytest.mark.parametrize("need_weights", [False, True])
@given(n=lengths, d=widths)
@settings(max_examples=12)
def test_fused_attention_is_counted_like_unfused(need_weights: bool, n: int, d: int) -> None:
    expected = 8 * n * d * d + 4 * n * n * d
    assert d2l.count_flops(multi_head(d, need_weights), sequence(n, d)) == expected
    mixing = d2l.DotProductAttention(0.0)
    counted = d2l.count_flops(lambda X: mixing(X, X, X, need_weights=need_weights), sequence(n, d))
    assert counted == 4 * n * n * d


@pytest.mark.parametrize(
    ("f", "flops"),
    [
        (lambda X: X[0] @ X[0, 0], 2 * 5 * 4),
        (lambda X: torch.addmv(X[0, :, 0], X[0], X[0, 0]), 2 * 5 * 4),
        (lambda X: X[0, 0] @ X[0, 1], 2 * 4),
        (lambda X: torch.vdot(X[0, 0], X[0, 1]), 2 * 4),
        (lambda X: (X[:, :, None] + X[:, None]).tanh() @ X[0, 0] @ X, 2 * 5 * 5 * 4 + 2 * 5 * 5 * 4),
        (lambda X: F.normalize(X, dim=-1) @ X.mT, 2 * 5 * 5 * 4),
        (lambda X: torch.einsum("bnd,bmd->bnm", X, X), 2 * 5 * 5 * 4),
        (lambda X: torch.addbmm(X[0] @ X[0].mT, X, X.mT), 2 * (2 * 5 * 5 * 4)),
        (lambda X: (1 - X) @ X.mT.cumsum(-1).sort()[0], 2 * 5 * 5 * 4),
        (nn.utils.parametrizations.weight_norm(nn.Linear(4, 3).double()), 2 * 5 * 4 * 3),
    ],
)
def test_products_with_vectors_count_as_well(f: Any, flops: int) -> None:
    assert d2l.count_flops(f, sequence(5, 4)) == flops


def test_pytorchs_transformer_layer_is_counted_also_on_its_fast_path() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double().eval()
    with torch.no_grad():
        assert d2l.count_flops(layer, sequence(5, 8)) == 8 * 5 * 64 + 4 * 25 * 8 + 4 * 5 * 8 * 16


@torch.library.custom_op("tests_d2lmini::product", mutates_args=())
def product(X: Tensor) -> Tensor:
    return X @ X.mT


def unknown_product(X: Tensor) -> Tensor:
    return product(X @ X.mT)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda X: torch.cdist(X, X), "aten._cdist_forward"),
        (lambda X: torch.fft.rfft(X.mT), "aten._fft_r2c"),
        (lambda X: torch.linalg.inv(X @ X.mT), "aten.linalg_inv"),
        (lambda X: X.relu(), "nothing to count"),
        (lambda X: [X @ X.mT], "f must return a tensor, .* got list"),
        (lambda X: X @ X.mT + torch.addr(X[0, :, :1] @ X[0, :1], X[0, 0], X[0, 1]), "aten.addr"),
        (lambda X: torch.linalg.solve_triangular(X @ X.mT, X, upper=True), "triangular"),
        (lambda X: torch.linalg.solve(X @ X.mT, X), "aten._linalg_solve_ex"),
        (lambda X: F.bilinear(X @ X.mT, X, torch.ones(2, 4, 4).double()), "aten._trilinear"),
        (lambda X: (X.to(torch.complex128) @ X.mT.to(torch.complex128)).real, "complex aten.bmm"),
        (lambda X: X @ torch.from_numpy(X.mT.numpy() @ X.numpy()), r"out of PyTorch \(numpy\)"),
        (lambda X: X @ torch.from_numpy(np.asarray(X) @ np.ones((4, 4))), r"out of PyTorch \(__array__\)"),
        (unknown_product, "tests_d2lmini.product"),
        (lambda X: d2l.count_flops(nn.utils.weight_norm(nn.Linear(4, 4).double()), X), "f cannot be copied"),
    ],
)
def test_what_cannot_be_counted_is_refused(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.count_flops(f, sequence(4, 4))


@pytest.mark.parametrize(
    "instrument",
    [
        d2l.count_flops,
        d2l.count_sequential_operations,
        d2l.measure_activation_memory,
        measure_peak_memory,
        d2l.find_receptive_field,
    ],
)
def test_an_instrument_changes_nothing(instrument: Any) -> None:
    """Neither the input, nor random numbers, nor the buffers, mode and gradients of a module."""
    X = sequence(4, 3)
    layer = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(4), nn.Dropout(0.0)).double()
    before, buffers = X.clone(), [buffer.clone() for buffer in layer.buffers()]
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    instrument(layer, X)
    if instrument is not d2l.find_receptive_field:
        instrument(lambda X: F.dropout(X.clone().mul_(2) @ X.mT, 0.5), X)
    assert torch.equal(torch.rand(3), expected) and torch.equal(X, before)
    assert all(map(torch.equal, buffers, layer.buffers()))
    assert layer.training and all(parameter.grad is None for parameter in layer.parameters())


def test_writing_into_the_input_stays_inside() -> None:
    X = sequence(4, 3)
    before = X.clone()
    d2l.count_flops(lambda X: X.relu_() @ X.mT, X)
    assert torch.equal(X, before)


def test_counting_leaves_the_switches_as_they_were() -> None:
    def switches() -> tuple[bool, ...]:
        cuda = torch.backends.cuda
        return torch.backends.mkldnn.enabled, torch.backends.mha.get_fastpath_enabled(), cuda.flash_sdp_enabled()

    before = switches()
    with pytest.raises(ZeroDivisionError):
        d2l.count_flops(lambda X: 1 / 0, sequence(2, 2))
    assert switches() == before


# ---- sequential operations ----


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
    assert [d2l.take_differences(measure, n, 1) for n in (4, 7, 20)] == [step] * 3
    assert measure(40) - measure(20) == 20 * step


def test_the_fused_lstm_is_unrolled() -> None:
    fused, cells = nn.LSTM(3, 3, batch_first=True).double(), Recurrent(nn.LSTMCell(3, 3)).double()
    steps = [d2l.take_differences(chain(lambda n, layer=layer: layer), 5, 1) for layer in (fused, cells)]
    assert min(steps) > 0


def test_a_stack_has_the_chain_of_its_layers() -> None:
    layer = d2l.SelfAttention(3).double()
    one, two = (d2l.count_sequential_operations(f, sequence(6, 3)) for f in (layer, lambda X: layer(layer(X)[0])))
    three = d2l.count_sequential_operations(lambda X: layer(layer(layer(X)[0])[0]), sequence(6, 3))
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
    "index_copy": lambda Y, i, y: Y.index_copy(1, torch.tensor([i]), y),
    "index_copy_": lambda Y, i, y: Y.index_copy_(1, torch.tensor([i]), y),
    "index_put": lambda Y, i, y: Y.index_put((torch.tensor([0]), torch.tensor([i])), y[:, 0]),
    "slice_scatter": lambda Y, i, y: torch.slice_scatter(Y, y, 1, i, i + 1),
    "select_scatter": lambda Y, i, y: torch.select_scatter(Y, y[:, 0], 1, i),
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
        (lambda X: torch.view_as_real(torch.view_as_complex(torch.stack([X, X], -1)) * 1j), (1, 1, 1)),
    ],
)
def test_chains_of_known_length(f: Any, lengths: tuple[int, ...]) -> None:
    assert tuple(chain(lambda n: f)(n) for n in (4, 8, 16)) == lengths


def chosen_by_python(X: Tensor) -> Tensor:
    total, outputs = 0.0, []
    for x in X.unbind(1):
        outputs.append(x.tanh() if total <= 0 else x.sin())
        total += float(outputs[-1].detach().sum())
    return torch.stack(outputs, 1)


HIDDEN: dict[str, Callable[[Tensor], Any]] = {
    "CumsumBackward0": lambda X: X.cumsum(1),
    "CumprodBackward0": lambda X: X.cumprod(1),
    "CummaxBackward0": lambda X: X.cummax(1)[0],
    "LogcumsumexpBackward0": lambda X: X.logcumsumexp(1),
    "SortBackward0": lambda X: X.sort(1)[0],
    "TopkBackward0": lambda X: X.topk(2, 1)[0],
    "KthvalueBackward0": lambda X: X.kthvalue(2, 1)[0],
    "FftR2CBackward0": lambda X: torch.fft.irfft(torch.fft.rfft(X, dim=1) * 2, dim=1),
    "LinalgSolveTriangularBackward0": lambda X: torch.linalg.solve_triangular(X @ X.mT, X, upper=True),
    "LinalgSolveExBackward0": lambda X: torch.linalg.solve(torch.eye(4).double().expand(1, 4, 4), X),
    "LinalgInvExBackward0": lambda X: torch.linalg.inv(X @ X.mT),
    "LinalgCholeskyExBackward0": lambda X: torch.linalg.cholesky(X @ X.mT + torch.eye(4).double()),
    "LinalgQrBackward0": lambda X: torch.linalg.qr(X)[0],
    "LinalgEighBackward0": lambda X: torch.linalg.eigh(X @ X.mT)[1],
    "LinalgMatrixExpBackward0": torch.matrix_exp,
    "LinalgDetBackward0": lambda X: torch.linalg.det(X) * X,
    "sort": lambda X: X.gather(1, X.argsort(1)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_hidden_chain_is_refused_by_the_name_of_its_node(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} hides a chain of operations"):
        d2l.count_sequential_operations(HIDDEN[name], sequence(4, 4))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (chosen_by_python, "a number that depends on X into Python"),
        (lambda X: X if torch.equal(X, X + 1) else -X, "a number that depends on X into Python"),
        (lambda X: torch.tensor(X.exp().tolist()), r"out of PyTorch \(tolist\)"),
        (lambda X: X.to_sparse().to_dense(), "layout torch.sparse_coo"),
        (lambda X: torch.zeros(3), "does not depend on X"),
        (lambda X: (X * 0 > 1).new_zeros(3), "does not depend on X"),
    ],
)
def test_a_chain_that_cannot_be_seen_is_refused(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.count_sequential_operations(f, sequence(4, 4))


def test_a_number_that_has_nothing_to_do_with_the_input_may_be_looked_at() -> None:
    lengths = torch.tensor([3])
    assert d2l.count_sequential_operations(lambda X: X[:, : int(lengths.max())].exp(), sequence(4, 3)) == 1


def test_a_long_chain_is_followed_without_recursion() -> None:
    assert d2l.count_sequential_operations(Recurrent(nn.RNNCell(1, 1)).double(), sequence(3000, 1)) == 9000
