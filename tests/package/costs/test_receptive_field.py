"""Receptive fields and path lengths that are known in closed form."""

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
from tests.package.costs.sequences import Recurrent, sequence
from tests.package.refusals import rejected


def stacked(layers: list[Callable[[Tensor], Tensor]]) -> Callable[[Tensor], Tensor]:
    def f(X: Tensor) -> Tensor:
        for layer in layers:
            X = layer(X)
        return X

    return f


@given(n=st.integers(3, 14), k=st.sampled_from([3, 5]), depth=st.integers(1, 3))
@settings(max_examples=5)
def test_field_of_centred_convolutions(n: int, k: int, depth: int) -> None:
    f = stacked([d2l.Convolution(2, k).double() for _ in range(depth)])
    distance = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    assert torch.equal(d2l.find_receptive_field(f, sequence(n, 2)), distance <= depth * (k // 2))


def test_field_of_causal_convolutions_and_dilated_ones() -> None:
    for dilations, expected in (((1, 1, 1), (3, 5, 7)), ((1, 3, 9), (3, 9, 27))):
        layers = [d2l.Convolution(1, 3, dilation=dilation, causal=True).double() for dilation in dilations]
        fields = [d2l.find_receptive_field(stacked(layers[:depth]), sequence(30, 1)) for depth in (1, 2, 3)]
        assert tuple(int(field[-1].sum()) for field in fields) == expected


@pytest.mark.parametrize("radius", [1, 3])
def test_field_of_attention(radius: int) -> None:
    X = sequence(9, 4)
    distance = (torch.arange(9)[:, None] - torch.arange(9)).abs()
    assert torch.equal(d2l.find_receptive_field(d2l.RestrictedSelfAttention(4, radius).double(), X), distance <= radius)
    layer = d2l.SelfAttention(4).double()
    assert d2l.find_receptive_field(layer, X).all()
    assert torch.equal(d2l.find_receptive_field(lambda X: layer(X, mask=d2l.causal_mask(9)), X), d2l.causal_mask(9))


def test_field_of_a_recurrent_layer_is_all_of_the_past() -> None:
    layer = Recurrent(nn.GRUCell(3, 3)).double()
    assert torch.equal(d2l.find_receptive_field(layer, sequence(12, 3)), d2l.causal_mask(12))


def test_a_relu_hides_nothing() -> None:
    distance = (torch.arange(9)[:, None] - torch.arange(9)).abs()
    for seed in range(4):
        torch.manual_seed(seed)
        layers = [d2l.Convolution(6, 3).double() for _ in range(4)]
        f = stacked([layer for conv in layers for layer in (conv, torch.relu)][:-1])
        assert torch.equal(d2l.find_receptive_field(f, sequence(9, 6)), distance <= 4)


def test_what_rare_inputs_show_several_draws_find() -> None:
    def f(X: Tensor) -> Tensor:
        return (X - 8).relu()

    found = [int(d2l.find_receptive_field(f, sequence(12, 1), draws=draws).sum()) for draws in (1, 20)]
    assert found[0] < found[1] == 12


@pytest.mark.parametrize("X", [torch.zeros(1, 4, 2), sequence(4, 2)[0], sequence(4, 2)[:0], [[1.0]]])
def test_a_field_wants_float64_and_three_dimensions(X: Tensor) -> None:
    with pytest.raises(ValueError, match=r"X must have shape \(batch, n, d\), none of them 0, and be in float64, got"):
        d2l.find_receptive_field(lambda X: X, X)


def test_an_output_that_uses_no_input_has_an_empty_field() -> None:
    weight = torch.ones(1, 4, 2, dtype=torch.float64, requires_grad=True)
    assert not d2l.find_receptive_field(lambda X: weight * 2, sequence(4, 2)).any()


def long_convolution(X: Tensor) -> Tensor:
    """A causal convolution as long as the sequence, by the Fourier transform: its rounding errors reach everywhere."""
    n = X.shape[1]
    kernel = torch.fft.rfft(torch.linspace(1, 0.1, n, dtype=X.dtype), n=2 * n)[None, :, None]
    return torch.fft.irfft(torch.fft.rfft(X, n=2 * n, dim=1) * kernel, n=2 * n, dim=1)[:, :n]


@pytest.mark.parametrize("n", [4, 7, 16])
def test_rounding_errors_are_no_dependence(n: int) -> None:
    torch.manual_seed(n)
    assert torch.equal(d2l.find_receptive_field(long_convolution, sequence(n, 2)), d2l.causal_mask(n))
    W = torch.randn(n, n, dtype=torch.float64)
    there_and_back = d2l.find_receptive_field(lambda X: torch.linalg.solve(W, W @ X), sequence(n, 2))
    assert torch.equal(there_and_back, torch.eye(n).bool())


CONSTANT: dict[str, Callable[[Tensor], Tensor]] = {
    "a row of weights": lambda X: (X @ X.mT).softmax(-1).sum(-1, keepdim=True),
    "length of a unit vector": lambda X: F.normalize(X, dim=-1).square().sum(-1, keepdim=True),
    "sum of a normalised token": lambda X: F.layer_norm(X, (3,)).sum(-1, keepdim=True),
    "sine and cosine": lambda X: X.sin() ** 2 + X.cos() ** 2,
    "a third, three times": lambda X: X - X / 3 * 3,
}


@pytest.mark.parametrize("name", CONSTANT)
def test_a_constant_depends_on_nothing_whatever_its_rounding_errors(name: str) -> None:
    assert not d2l.find_receptive_field(CONSTANT[name], sequence(8, 3)).any()


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda X: X.round(), torch.eye(8)),
        (lambda X: X.detach(), torch.eye(8)),
        (lambda X: (1000 * X).tanh(), torch.eye(8)),
        (lambda X: X.sign() * 1e-3 + 1000, torch.eye(8)),
        (lambda X: X.argmax(1, keepdim=True).expand(X.shape), torch.ones(8, 8)),
        (lambda X: X.amax(1, keepdim=True).expand(X.shape), torch.ones(8, 8)),
        (lambda X: (1e5 * X @ X.mT).softmax(-1) @ X, torch.ones(8, 8)),
    ],
)
def test_what_has_no_gradient_is_found_by_replacing(f: Any, expected: Tensor) -> None:
    assert torch.equal(d2l.find_receptive_field(f, sequence(8, 1)), expected.bool())


def far_tokens_vanish(X: Tensor) -> Tensor:
    place = torch.arange(X.shape[1])
    return (X @ X.mT - 1000.0 * (place[:, None] - place).abs()).softmax(-1) @ X


VANISHING = [far_tokens_vanish, lambda X: X.flip(1) * 1e-200 * 1e-200 + X, lambda X: X.cumsum(1) * 1e-300]


@pytest.mark.parametrize("f", VANISHING)
def test_an_influence_that_is_rounded_to_zero_is_an_error_and_not_a_no(f: Any) -> None:
    with pytest.raises(ValueError, match="underflows"):
        d2l.find_receptive_field(f, sequence(6, 2))


@given(n=st.integers(2, 12), k=st.sampled_from([3, 5, 7]))
@settings(max_examples=6)
def test_path_length_of_contiguous_convolutions(n: int, k: int) -> None:
    X = sequence(n, 1)
    centred, causal = d2l.Convolution(1, k).double(), d2l.Convolution(1, k, causal=True).double()
    assert d2l.find_maximum_path_length(itertools.repeat(centred), X) == math.ceil((n - 1) / ((k - 1) / 2))
    assert d2l.find_maximum_path_length(itertools.repeat(causal), X) == math.ceil((n - 1) / (k - 1))


def test_all_layers_of_a_list_are_looked_at_and_n_of_an_iterator() -> None:
    narrow, X = d2l.Convolution(1, 1).double(), sequence(5, 1)
    stack = [narrow] * 6 + [d2l.SelfAttention(1).double()]
    assert d2l.find_maximum_path_length(stack, X) == 7
    assert d2l.find_maximum_path_length(stack[:6], X) is None
    assert d2l.find_maximum_path_length(itertools.repeat(narrow), X) is None
    assert d2l.find_maximum_path_length(iter(stack), X) is None


def test_dilated_convolutions_need_a_logarithm_or_never_connect_the_ends() -> None:
    for n, k, needed in ((8, 2, 3), (9, 2, 4), (9, 3, 2), (28, 3, 4)):
        layers = (d2l.Convolution(1, k, dilation=k**i, causal=True).double() for i in itertools.count())
        assert d2l.find_maximum_path_length(layers, sequence(n, 1)) == needed
    stack = [d2l.Convolution(1, 3, dilation=3**i).double() for i in range(5)]
    assert d2l.find_maximum_path_length(stack, sequence(16, 1)) is None  # 1 + 3 + 9 = 13 < 15, and 27 jumps beyond
    assert d2l.find_maximum_path_length(stack, sequence(14, 1)) == 3


def test_where_x1_and_x5_meet_is_not_where_x1_reaches_y5() -> None:
    X, layer = sequence(5, 1), d2l.Convolution(1, 3).double()
    both = d2l.find_receptive_field(stacked([layer, layer]), X)
    assert both[2, 0] and both[2, 4] and not both[4, 0]
    assert d2l.find_maximum_path_length(itertools.repeat(layer), X) == 4
    causal = d2l.Convolution(1, 3, causal=True).double()
    assert d2l.find_maximum_path_length(itertools.repeat(causal), X) == 2
    backwards = itertools.repeat(lambda X: causal(X.flip(1)).flip(1))
    assert d2l.find_maximum_path_length(backwards, X) is None


def test_path_length_of_attention_and_of_one_step_in_time() -> None:
    X = sequence(9, 3)
    assert d2l.find_maximum_path_length([d2l.SelfAttention(3).double()], X) == 1
    restricted = d2l.RestrictedSelfAttention(3, 2).double()
    assert d2l.find_maximum_path_length(itertools.repeat(restricted), X) == 4
    cell = nn.RNNCell(3, 3).double()

    def step(states: Tensor) -> Tensor:
        """All states one step on: each one is made from the one before it."""
        before = F.pad(states, (0, 0, 1, 0))[:, :-1]
        return torch.stack([cell(x, h) for x, h in zip(states.unbind(1), before.unbind(1), strict=True)], 1)

    assert d2l.find_maximum_path_length(itertools.repeat(step), X) == 8


def test_what_one_layer_passes_on_the_next_may_throw_away() -> None:
    """Both layers connect neighbours, and two of them connect nothing."""

    def move(X: Tensor) -> Tensor:
        """Feature 0 of each token becomes feature 1 of the next one."""
        return F.pad(X[:, :-1, :1], (1, 0, 1, 0))

    assert d2l.find_maximum_path_length([move] * 8, sequence(8, 2)) is None
    there = torch.eye(6, dtype=torch.float64) + 0.3 * torch.diag(torch.ones(5, dtype=torch.float64), -1)
    back = torch.linalg.inv(there)
    assert d2l.find_maximum_path_length([lambda X: back @ X], sequence(6, 2)) == 1
    assert d2l.find_maximum_path_length([lambda X: there @ X, lambda X: back @ X], sequence(6, 2)) is None


def test_nothing_reaches_the_last_output_but_what_the_first_input_sends() -> None:
    """The last output depends on all but the first input, the second on the first."""

    def skip(X: Tensor) -> Tensor:
        rest = X[:, 1:].sum(1, keepdim=True)  # (batch, 1, d)
        return torch.cat([X[:, :-1], rest], 1)

    X = sequence(5, 2)
    assert d2l.find_maximum_path_length([skip], X) is None
    assert d2l.find_maximum_path_length([lambda X: X.flip(1)] * 2, X) == 1


def test_a_path_may_lead_through_a_layer_without_gradient() -> None:
    causal = d2l.Convolution(1, 2, causal=True).double()
    assert d2l.find_maximum_path_length([causal, lambda X: causal(X.detach())], sequence(3, 1)) == 2
    assert d2l.find_maximum_path_length([causal, lambda X: causal(X).detach()], sequence(3, 1)) == 2


def test_a_long_path_of_weak_layers_does_not_vanish() -> None:
    weak = d2l.Convolution(1, 2, causal=True).double()
    torch.nn.init.constant_(weak.conv.weight, 1e-7)  # 59 of them: 1e-413
    assert d2l.find_maximum_path_length(itertools.repeat(weak), sequence(60, 1)) == 59


RECURRENT = [nn.RNN(2, 2, batch_first=True), nn.GRU(2, 2, batch_first=True, bidirectional=True)]
RECURRENT += [nn.LSTM(2, 2, batch_first=True), nn.Sequential(Recurrent(nn.GRUCell(2, 2)), nn.LayerNorm(2))]


@pytest.mark.parametrize("layer", RECURRENT)
def test_a_layer_that_goes_step_by_step_is_not_one_step_of_a_path(layer: nn.Module) -> None:
    with pytest.raises(ValueError, match="it takes them one after another, and is not one step of a path"):
        d2l.find_maximum_path_length([layer.double()], sequence(6, 2))


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.find_receptive_field(lambda X: X, sequence(3, 2), draws=0), "draws must be .* got 0"),
    (lambda: d2l.find_receptive_field(lambda X: {"y": X}, sequence(3, 2)), "f must return .* got dict"),
    (lambda: d2l.find_receptive_field(lambda X: X.sqrt(), sequence(3, 2)), "not finite"),
    (lambda: d2l.find_receptive_field(lambda X: (X - X).sqrt(), sequence(3, 2)), "not finite"),
    (lambda: d2l.find_receptive_field(nn.Dropout(0.5), sequence(3, 2)), "two outputs for one input"),
    (lambda: d2l.find_maximum_path_length([lambda X: X.cumsum(1)], sequence(6, 2)), "Cumsum.* hides a chain"),
    (lambda: d2l.find_maximum_path_length([], torch.zeros(1, 4, 2)), "X must have shape .* in torch.float32"),
    (lambda: d2l.find_receptive_field(lambda X: X.sum(), sequence(3, 2)), r"f must return \(batch, m, ...\)"),
)
