"""The instruments on layers whose costs are known in closed form, on each other, and on what misled others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
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
    ],
)
def test_products_with_vectors_count_as_well(f: Any, flops: int) -> None:
    assert d2l.count_flops(f, sequence(5, 4)) == flops


def test_pytorchs_transformer_layer_is_counted_also_on_its_fast_path() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double().eval()
    with torch.no_grad():
        assert d2l.count_flops(layer, sequence(5, 8)) == 8 * 5 * 64 + 4 * 25 * 8 + 4 * 5 * 8 * 16


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
    ],
)
def test_what_cannot_be_counted_is_refused(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.count_flops(f, sequence(4, 4))


@pytest.mark.parametrize(
    "instrument",
    [d2l.count_flops, d2l.count_sequential_operations, d2l.measure_activation_memory, d2l.find_receptive_field],
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


def written_in_place(X: Tensor) -> Tensor:
    Y = torch.zeros_like(X)
    for i in range(X.shape[1]):
        Y[:, i] = X[:, i].exp()
    return Y


class OwnBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor) -> Tensor:
        for _ in range(X.shape[1]):
            X = X.cos()
        return X

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda X: X.cumsum(1), "CumsumBackward0.* hides a chain"),
        (lambda X: X.cumprod(1), "CumprodBackward0.* hides a chain"),
        (lambda X: X.cummax(1)[0], "CummaxBackward0.* hides a chain"),
        (lambda X: X.logcumsumexp(1), "LogcumsumexpBackward0.* hides a chain"),
        (OwnBackward.apply, "OwnBackwardBackward.* hides a chain"),
        (lambda X: torch.linalg.solve_triangular(X @ X.mT, X, upper=True), "Triangular.* hides a chain"),
        (written_in_place, "use torch.stack"),
        (lambda X: torch.zeros(3), "does not depend on X"),
    ],
)
def test_a_chain_that_cannot_be_seen_is_refused(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.count_sequential_operations(f, sequence(4, 4))


def test_a_long_chain_is_followed_without_recursion() -> None:
    assert d2l.count_sequential_operations(Recurrent(nn.RNNCell(1, 1)).double(), sequence(3000, 1)) > 9000


# ---- activation memory ----


def test_memory_of_a_product_is_that_of_its_inputs() -> None:
    W = nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
    assert d2l.measure_activation_memory(lambda X: X @ W, sequence(5, 3)) == 5 * 3 * 8
    assert (
        d2l.measure_activation_memory(lambda X: X @ X.mT, sequence(5, 3)) == 5 * 3 * 8
    )  # kept once, though twice needed
    assert d2l.measure_activation_memory(lambda X: X.exp(), sequence(5, 3)) == 5 * 3 * 8
    assert d2l.measure_activation_memory(lambda X: X.exp().exp(), sequence(5, 3)) == 2 * 5 * 3 * 8


def test_memory_is_that_of_the_part_that_is_used_and_not_of_buffers() -> None:
    long = sequence(1000, 4)
    assert d2l.measure_activation_memory(nn.Linear(4, 4).double(), long[:, :5]) == 5 * 4 * 8
    norm = nn.BatchNorm1d(5).double().eval()
    assert d2l.measure_activation_memory(norm, sequence(5, 4)) == 5 * 4 * 8


def test_attention_keeps_n_squared_weights_unless_it_is_fused() -> None:
    attention = d2l.DotProductAttention(0.0)

    def memory(need_weights: bool) -> Callable[[int], int]:
        return lambda n: d2l.measure_activation_memory(
            lambda X: attention(X, X, X, need_weights=need_weights), torch.randn(1, n, 4)
        )

    assert d2l.take_differences(memory(True), 64, 2) >= 2 * 4  # at least n ** 2 numbers of four bytes
    assert d2l.take_differences(memory(False), 64, 2) == 0


def test_memory_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is kept"):
        d2l.measure_activation_memory(lambda X: torch.zeros(3), sequence(2, 2))
