"""The instruments on layers whose costs are known in closed form, on each other, and on what misled others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l

lengths, widths, radii = st.integers(2, 12), st.integers(1, 9), st.integers(1, 3)


def sequence(n: int, d: int) -> Tensor:
    return torch.randn(1, n, d, dtype=torch.float64)


class Recurrent(nn.Module):
    """A recurrent network as a loop over its cell."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, X: Tensor) -> Tensor:
        state, outputs = None, []
        for x in X.unbind(1):
            state = self.cell(x, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, 1)


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
@given(n=lengths, d=widths, r=radii)
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
        (lambda X: X @ X.mT + torch.addr(X[0, :, :1] @ X[0, :1], X[0, 0], X[0, 1]), "aten.addr"),
        (lambda X: torch.linalg.solve_triangular(X @ X.mT, X, upper=True), "triangular"),
    ],
)
def test_what_cannot_be_counted_is_refused(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.count_flops(f, sequence(4, 4))


@pytest.mark.parametrize("instrument", [d2l.count_flops, d2l.longest_chain, d2l.activation_memory, d2l.reach])
def test_an_instrument_changes_nothing(instrument: Any) -> None:
    """Neither the input, nor random numbers, nor the buffers, mode and gradients of a module."""
    X = sequence(4, 3)
    layer = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(4), nn.Dropout(0.0)).double()
    before, buffers = X.clone(), [buffer.clone() for buffer in layer.buffers()]
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    instrument(layer, X)
    if instrument is not d2l.reach:
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
    return lambda n: d2l.longest_chain(f(n), sequence(n, d))


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
    assert [d2l.differences(measure, n, 1) for n in (4, 7, 20)] == [step] * 3
    assert measure(40) - measure(20) == 20 * step


def test_the_fused_lstm_is_unrolled() -> None:
    fused, cells = nn.LSTM(3, 3, batch_first=True).double(), Recurrent(nn.LSTMCell(3, 3)).double()
    steps = [d2l.differences(chain(lambda n, layer=layer: layer), 5, 1) for layer in (fused, cells)]
    assert min(steps) > 0


def test_a_stack_has_the_chain_of_its_layers() -> None:
    layer = d2l.SelfAttention(3).double()
    one, two = (d2l.longest_chain(f, sequence(6, 3)) for f in (layer, lambda X: layer(layer(X)[0])))
    three = d2l.longest_chain(lambda X: layer(layer(layer(X)[0])[0]), sequence(6, 3))
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
        d2l.longest_chain(f, sequence(4, 4))


def test_a_long_chain_is_followed_without_recursion() -> None:
    assert d2l.longest_chain(Recurrent(nn.RNNCell(1, 1)).double(), sequence(3000, 1)) > 9000


# ---- reach and path length ----


def stacked(layers: list[Callable[[Tensor], Tensor]]) -> Callable[[Tensor], Tensor]:
    def f(X: Tensor) -> Tensor:
        for layer in layers:
            X = layer(X)
        return X

    return f


@given(n=st.integers(3, 14), k=st.sampled_from([3, 5]), depth=st.integers(1, 3))
@settings(max_examples=10)
def test_reach_of_centred_convolutions(n: int, k: int, depth: int) -> None:
    f = stacked([d2l.Convolution(2, k).double() for _ in range(depth)])
    distance = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    assert torch.equal(d2l.reach(f, sequence(n, 2)), distance <= depth * (k // 2))


def test_reach_of_causal_convolutions_and_dilated_ones() -> None:
    n = 90
    for dilations, expected in (((1, 1, 1, 1), (3, 5, 7, 9)), ((1, 3, 9, 27), (3, 9, 27, 81))):
        layers = [d2l.Convolution(1, 3, dilation=dilation, causal=True).double() for dilation in dilations]
        counts = [d2l.reach(stacked(layers[:depth]), sequence(n, 1))[-1].sum().item() for depth in (1, 2, 3, 4)]
        assert tuple(counts) == expected


@pytest.mark.parametrize("radius", [1, 3])
def test_reach_of_attention(radius: int) -> None:
    X = sequence(9, 4)
    distance = (torch.arange(9)[:, None] - torch.arange(9)).abs()
    assert torch.equal(d2l.reach(d2l.RestrictedSelfAttention(4, radius).double(), X), distance <= radius)
    layer = d2l.SelfAttention(4).double()
    assert d2l.reach(layer, X).all()
    assert torch.equal(d2l.reach(lambda X: layer(X, mask=d2l.causal_mask(9)), X), d2l.causal_mask(9))


def test_reach_of_a_recurrent_layer_is_all_of_the_past() -> None:
    for cell in (nn.RNNCell(3, 3), nn.GRUCell(3, 3)):
        assert torch.equal(d2l.reach(Recurrent(cell).double(), sequence(30, 3)), d2l.causal_mask(30))


def test_what_a_relu_hides_in_one_draw_several_draws_find() -> None:
    distance = (torch.arange(9)[:, None] - torch.arange(9)).abs()
    missed = {1: 0, 12: 0}
    for seed in range(30):
        torch.manual_seed(seed)
        layers = [d2l.Convolution(6, 3).double() for _ in range(4)]
        f = stacked([layer for conv in layers for layer in (conv, torch.relu)][:-1])
        for draws in missed:
            missed[draws] += not torch.equal(d2l.reach(f, sequence(9, 6), draws=draws), distance <= 4)
    assert missed[12] == 0 < missed[1]


def test_an_influence_that_underflows_is_an_error_and_not_a_no() -> None:
    with pytest.raises(ValueError, match="underflows"):
        d2l.reach(lambda X: X.cumsum(1) * 1e-300, sequence(4, 2))


@pytest.mark.parametrize(
    "X", [torch.zeros(1, 4, 2), torch.zeros(4, 2).double(), torch.zeros(0, 4, 2).double(), [[1.0]]]
)
def test_reach_wants_float64_and_three_dimensions(X: Tensor) -> None:
    with pytest.raises(ValueError, match=r"X must have shape \(batch, n, d\), none of them 0, and be in float64, got"):
        d2l.reach(lambda X: X, X)


def test_an_output_that_uses_no_input_reaches_nothing() -> None:
    weight = torch.ones(1, 4, 2, dtype=torch.float64, requires_grad=True)
    assert not d2l.reach(lambda X: weight * 2, sequence(4, 2)).any()
    assert not d2l.reach(lambda X: X.detach(), sequence(4, 2)).any()


@given(n=st.integers(2, 20), k=st.sampled_from([3, 5, 7]))
@settings(max_examples=10)
def test_path_length_of_contiguous_convolutions(n: int, k: int) -> None:
    X = sequence(n, 1)
    centred, causal = d2l.Convolution(1, k).double(), d2l.Convolution(1, k, causal=True).double()
    assert d2l.layers_to_connect(itertools.repeat(centred), X) == math.ceil((n - 1) / ((k - 1) / 2))
    assert d2l.layers_to_connect(itertools.repeat(causal), X) == math.ceil((n - 1) / (k - 1))


@given(n=st.integers(2, 30), k=st.sampled_from([2, 3]))
@settings(max_examples=10)
def test_path_length_of_causal_dilated_convolutions_is_a_logarithm(n: int, k: int) -> None:
    layers = (d2l.Convolution(1, k, dilation=k**i, causal=True).double() for i in itertools.count())
    needed = next(depth for depth in itertools.count(1) if k**depth >= n)
    assert d2l.layers_to_connect(layers, sequence(n, 1)) == needed


def test_all_layers_of_a_list_are_looked_at() -> None:
    narrow, X = d2l.Convolution(1, 1).double(), sequence(5, 1)
    stack = [narrow] * 6 + [d2l.SelfAttention(1).double()]
    assert d2l.layers_to_connect(stack, X) == 7
    assert d2l.layers_to_connect(stack[:6], X) is None


def test_centred_dilated_convolutions_may_never_connect_the_ends() -> None:
    def stack() -> Any:
        return (d2l.Convolution(1, 3, dilation=3**i).double() for i in itertools.count())

    assert d2l.layers_to_connect(stack(), sequence(16, 1)) is None  # 1 + 3 + 9 = 13 < 15
    assert d2l.layers_to_connect(stack(), sequence(14, 1)) == 3


def test_where_x1_and_x5_meet_is_not_where_x1_reaches_y5() -> None:
    X, layer = sequence(5, 1), d2l.Convolution(1, 3).double()
    both = d2l.reach(stacked([layer, layer]), X)
    assert both[2, 0] and both[2, 4] and not both[4, 0]
    assert d2l.layers_to_connect(itertools.repeat(layer), X) == 4
    causal = d2l.Convolution(1, 3, causal=True).double()
    assert d2l.layers_to_connect(itertools.repeat(causal), X) == 2
    assert d2l.layers_to_connect(itertools.repeat(causal), X, source=4, target=0) is None


def test_path_length_of_attention_and_of_one_step_in_time() -> None:
    X = sequence(9, 3)
    assert d2l.layers_to_connect([d2l.SelfAttention(3).double()], X) == 1
    restricted = d2l.RestrictedSelfAttention(3, 2).double()
    assert d2l.layers_to_connect(itertools.repeat(restricted), X) == 4
    cell = nn.RNNCell(3, 3).double()

    def step(states: Tensor) -> Tensor:
        """All states one step on: each one is made from the one before it."""
        before = F.pad(states, (0, 0, 1, 0))[:, :-1]
        return torch.stack([cell(x, h) for x, h in zip(states.unbind(1), before.unbind(1), strict=True)], 1)

    assert d2l.layers_to_connect(itertools.repeat(step), X) == 8


@given(n=st.integers(2, 9), k=st.sampled_from([3, 5]))
@settings(max_examples=8)
def test_the_path_is_as_long_as_the_stack_whose_reach_connects(n: int, k: int) -> None:
    layer, X = d2l.Convolution(1, k).double(), sequence(n, 1)
    depth = d2l.layers_to_connect(itertools.repeat(layer), X)
    assert depth is not None and d2l.reach(stacked([layer] * depth), X)[-1, 0]
    assert depth == 1 or not d2l.reach(stacked([layer] * (depth - 1)), X)[-1, 0]


# ---- activation memory ----


def test_memory_of_a_product_is_that_of_its_inputs() -> None:
    W = nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
    assert d2l.activation_memory(lambda X: X @ W, sequence(5, 3)) == 5 * 3 * 8
    assert d2l.activation_memory(lambda X: X @ X.mT, sequence(5, 3)) == 5 * 3 * 8  # kept once, though twice needed
    assert d2l.activation_memory(lambda X: X.exp(), sequence(5, 3)) == 5 * 3 * 8
    assert d2l.activation_memory(lambda X: X.exp().exp(), sequence(5, 3)) == 2 * 5 * 3 * 8


def test_memory_is_that_of_the_part_that_is_used_and_not_of_buffers() -> None:
    long = sequence(1000, 4)
    assert d2l.activation_memory(nn.Linear(4, 4).double(), long[:, :5]) == 5 * 4 * 8
    norm = nn.BatchNorm1d(5).double().eval()
    assert d2l.activation_memory(norm, sequence(5, 4)) == 5 * 4 * 8


def test_attention_keeps_n_squared_weights_unless_it_is_fused() -> None:
    attention = d2l.DotProductAttention(0.0)

    def memory(need_weights: bool) -> Callable[[int], int]:
        return lambda n: d2l.activation_memory(
            lambda X: attention(X, X, X, need_weights=need_weights), torch.randn(1, n, 4)
        )

    assert d2l.differences(memory(True), 64, 2) >= 2 * 4  # at least n ** 2 numbers of four bytes
    assert d2l.differences(memory(False), 64, 2) == 0


def test_memory_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is kept"):
        d2l.activation_memory(lambda X: torch.zeros(3), sequence(2, 2))


# ---- growth ----


@given(a=st.integers(1, 50), b=st.integers(-20, 20), c=st.integers(-20, 20), n=st.integers(1, 40))
def test_differences_are_exact_for_polynomials(a: int, b: int, c: int, n: int) -> None:
    def measure(n: int) -> int:
        return a * n * n + b * n + c

    assert d2l.differences(measure, n, 2) == 2 * a and d2l.differences(measure, n, 3) == 0
    assert d2l.differences(measure, n, 1) == a * (2 * n + 1) + b


def test_the_second_difference_of_attention_is_8d() -> None:
    for d in (1, 4, 7):
        layer = d2l.SelfAttention(d).double()
        assert d2l.differences(lambda n, f=layer, d=d: d2l.count_flops(f, sequence(n, d)), 5, 2) == 8 * d


@pytest.mark.parametrize(
    ("measure", "growth"),
    [
        (lambda n: 7, "same"),
        (lambda n: 3 * n, "x2"),
        (lambda n: 5 * n * n, "x4"),
        (lambda n: n.bit_length(), "+1"),
        (lambda n: 4 - n.bit_length(), "-1"),
    ],
)
def test_doubling(measure: Callable[[int], float], growth: str) -> None:
    assert d2l.doubling(measure, 8) == growth


def test_doubling_on_real_layers() -> None:
    gru, mixing = nn.GRU(2, 2, batch_first=True).double(), d2l.DotProductAttention(0.0)
    assert d2l.doubling(lambda n: d2l.count_flops(gru, sequence(n, 2)), 4) == "x2"
    assert d2l.doubling(lambda n: d2l.count_flops(lambda X: mixing(X, X, X), sequence(n, 2)), 4) == "x4"

    def layers(n: int) -> int | None:
        dilated = (d2l.Convolution(1, 2, dilation=2**i, causal=True).double() for i in itertools.count())
        return d2l.layers_to_connect(dilated, sequence(n, 1))

    assert d2l.doubling(layers, 4) == "+1"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d2l.doubling(lambda n: 8 * n * 64 + 4 * n * n * 8, 8), "at n = 8, 16, 32 it is .*: no simple growth"),
        (lambda: d2l.doubling(lambda n: n, 0), "n must be an integer of at least 1, got 0"),
        (lambda: d2l.differences(lambda n: n, 1, 0), "order must be an integer of at least 1, got 0"),
        (lambda: d2l.differences(lambda n: n, 1, 1.5), "order must be .* got 1.5"),
        (lambda: d2l.doubling(lambda n: None, 4), "measure must return a number, got None at n = 4"),
        (lambda: d2l.doubling(lambda n: 8 * n * 64 + 32 * n * n, 1000), "no simple growth"),
        (lambda: d2l.reach(lambda X: X, sequence(3, 2), draws=0), "draws must be .* got 0"),
        (lambda: d2l.reach(lambda X: {"y": X}, sequence(3, 2)), "f must return .* got dict"),
        (lambda: d2l.reach(lambda X: X.sqrt(), sequence(3, 2)), "not finite"),
        (lambda: d2l.reach(lambda X: (X - X).sqrt(), sequence(3, 2)), "not finite"),
        (lambda: d2l.reach(nn.Dropout(0.5), sequence(3, 2)), "two outputs for one input"),
        (lambda: d2l.count_flops(lambda X: [X @ X.mT], sequence(3, 2)), "f must return a tensor, .* got list"),
        (lambda: d2l.layers_to_connect([], sequence(3, 2), source=3), r"source must lie in -3..2, got 3"),
        (lambda: d2l.Convolution(3, 3)(torch.zeros(1, 4, 3).double()), "dtype of the weights, torch.float32"),
        (lambda: d2l.RestrictedSelfAttention(3, 1)(torch.zeros(1, 0, 3)), "n of at least 1, got"),
        (lambda: d2l.Convolution(3, 4), "kernel_size must be odd for a centred kernel, got 4"),
        (lambda: d2l.Convolution(0, 3), "d must be an integer of at least 1, got 0"),
        (lambda: d2l.Convolution(3, 3, dilation=0), "dilation must be .* got 0"),
        (lambda: d2l.Convolution(3, 3)(torch.zeros(1, 4, 2)), r"X must have shape \(batch, n, 3\) .* got \(1, 4, 2\)"),
        (lambda: d2l.Convolution(3, 3)(torch.zeros(4, 3)), r"X must have shape \(batch, steps, size\)"),
        (lambda: d2l.SeparableConvolution(3, 4), "kernel_size must be odd, got 4"),
        (lambda: d2l.SeparableConvolution(3, 3)(torch.zeros(1, 4, 2)), r"X must have shape \(batch, n, 3\)"),
        (lambda: d2l.RestrictedSelfAttention(3, 0), "radius must be .* got 0"),
        (lambda: d2l.RestrictedSelfAttention(3, 1)(torch.zeros(1, 4, 2)), r"X must have shape \(batch, n, 3\)"),
    ],
)
def test_bad_input_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# ---- the layers that are compared ----


@given(n=st.integers(1, 9), d=widths, radius=radii)
@settings(max_examples=20)
def test_restricted_attention_is_attention_under_a_band_mask(n: int, d: int, radius: int) -> None:
    restricted, X = d2l.RestrictedSelfAttention(d, radius).double(), sequence(n, d)
    near = (torch.arange(n)[:, None] - torch.arange(n)).abs() <= radius
    Q, K, V = restricted.W_q(X), restricted.W_k(X), restricted.W_v(X)
    torch.testing.assert_close(restricted(X), d2l.DotProductAttention(0.0)(Q, K, V, mask=near))


def test_a_separable_convolution_is_a_convolution_of_rank_one_kernels() -> None:
    torch.manual_seed(0)
    separable, full, X = d2l.SeparableConvolution(3, 5).double(), d2l.Convolution(3, 5).double(), sequence(7, 3)
    with torch.no_grad():
        full.conv.weight.copy_(separable.across.weight[:, :, None] * separable.along.weight[:, 0][None])
    torch.testing.assert_close(separable(X), full(X))
