"""The instruments on layers whose costs are known in closed form, on each other, and on what misled others."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini.costs.memory import measure_peak_memory
from tests.package.costs.sequences import sequence
from tests.package.refusals import rejected

pytestmark = pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
lengths, widths = st.integers(2, 12), st.integers(1, 9)


LAYERS: dict[str, tuple[Callable[[int, int], Any], Callable[[int, int, int], int]]] = {
    "convolution": (lambda d, r: d2l.Convolution(d, 2 * r + 1), lambda n, d, r: 2 * (2 * r + 1) * n * d * d),
    "dilated": (lambda d, r: d2l.Convolution(d, r, dilation=3, causal=True), lambda n, d, r: 2 * r * n * d * d),
    "separable": (lambda d, r: d2l.SeparableConvolution(d, 2 * r + 1), lambda n, d, r: 2 * n * d * (2 * r + 1 + d)),
    "RNN": (lambda d, r: nn.RNN(d, d, batch_first=True), lambda n, d, r: 4 * n * d * d),
    "GRU": (lambda d, r: nn.GRU(d, d, batch_first=True), lambda n, d, r: 12 * n * d * d),
    "LSTM": (lambda d, r: nn.LSTM(d, d, batch_first=True), lambda n, d, r: 16 * n * d * d),
    "self-attention": (lambda d, r: d2l.SelfAttention(d), lambda n, d, r: 6 * n * d * d + 4 * n * n * d),
    "restricted": (d2l.RestrictedSelfAttention, lambda n, d, r: 6 * n * d * d + 4 * n * (2 * r + 1) * d),
}


@pytest.mark.parametrize("name", LAYERS)
@given(n=lengths, d=widths, r=st.integers(1, 3))
@settings(max_examples=5)
def test_flops_are_those_of_the_formula(name: str, n: int, d: int, r: int) -> None:
    make, formula = LAYERS[name]
    assert d2l.count_flops(make(d, r).double(), sequence(n, d)) == formula(n, d, r)


@pytest.mark.parametrize("need_weights", [False, True])
def test_fused_attention_is_counted_like_unfused(need_weights: bool) -> None:
    mixing, X = d2l.DotProductAttention(0.0), sequence(7, 3)
    assert d2l.count_flops(lambda X: mixing(X, X, X, need_weights=need_weights), X) == 4 * 7 * 7 * 3
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double().eval()
    with torch.set_grad_enabled(need_weights):  # without gradients, PyTorch takes a fast path
        assert d2l.count_flops(layer, sequence(5, 8)) == 8 * 5 * 64 + 4 * 25 * 8 + 4 * 5 * 8 * 16


@pytest.mark.parametrize(
    ("f", "flops"),
    [
        (lambda X: X[0] @ X[0, 0], 2 * 5 * 4),
        (lambda X: torch.addmv(X[0, :, 0], X[0], X[0, 0]), 2 * 5 * 4),
        (lambda X: X[0, 0] @ X[0, 1], 2 * 4),
        (lambda X: F.normalize(X, dim=-1) @ X.mT, 2 * 5 * 5 * 4),
        (lambda X: torch.einsum("bnd,bmd->bnm", X, X).cumsum(-1).sort()[0], 2 * 5 * 5 * 4),
        (nn.utils.parametrizations.weight_norm(nn.Linear(4, 3).double()), 2 * 5 * 4 * 3),
    ],
)
def test_products_with_vectors_count_as_well(f: Any, flops: int) -> None:
    assert d2l.count_flops(f, sequence(5, 4)) == flops


@torch.library.custom_op("tests_d2lmini::product", mutates_args=())
def product(X: Tensor) -> Tensor:
    return X @ X.mT


test_what_cannot_be_counted_is_refused = rejected(
    (lambda X: torch.cdist(X, X), "_cdist_forward hides"),
    (lambda X: torch.fft.rfft(X.mT), "_fft_r2c hides"),
    (lambda X: torch.linalg.inv(X @ X.mT), "linalg_inv"),
    (lambda X: torch.linalg.solve(X @ X.mT, X), "solve"),
    (lambda X: product(X @ X.mT), "tests_d2lmini::product hides"),
    (lambda X: X.relu(), "nothing to count"),
    (lambda X: [X @ X.mT], "f must return a tensor, .* got list"),
    (lambda X: d2l.count_flops(nn.utils.weight_norm(nn.Linear(4, 4).double()), X), "f cannot be copied"),
    by=lambda f: d2l.count_flops(f, sequence(4, 4)),
)


COSTS = (d2l.count_flops, d2l.count_sequential_operations, d2l.measure_activation_memory, measure_peak_memory)


@pytest.mark.parametrize("instrument", [*COSTS, d2l.find_receptive_field])
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


def test_counting_leaves_the_switches_as_they_were() -> None:
    def switches() -> tuple[bool, ...]:
        cuda = torch.backends.cuda
        return torch.backends.mkldnn.enabled, torch.backends.mha.get_fastpath_enabled(), cuda.flash_sdp_enabled()

    before = switches()
    with pytest.raises(ZeroDivisionError):
        d2l.count_flops(lambda X: 1 / 0, sequence(2, 2))
    assert switches() == before
