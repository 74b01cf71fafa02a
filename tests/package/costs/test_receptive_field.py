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

DISTANCE = (torch.arange(9)[:, None] - torch.arange(9)).abs()
PAST = d2l.causal_mask(9)


def stack(*layers: Callable[[Tensor], Tensor]) -> nn.Sequential:
    return nn.Sequential(*layers).double()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: stack(*(d2l.Convolution(4, 3) for _ in range(2))), DISTANCE <= 2),
        (lambda: stack(d2l.Convolution(4, 3), nn.ReLU(), d2l.Convolution(4, 5)), DISTANCE <= 3),
        (lambda: stack(d2l.Convolution(4, 3, dilation=3, causal=True)), PAST & (DISTANCE % 3 == 0) & (DISTANCE <= 6)),
        (lambda: d2l.RestrictedSelfAttention(4, 3).double(), DISTANCE <= 3),
        (lambda: d2l.SelfAttention(4).double(), DISTANCE < 9),
        (lambda: Recurrent(nn.GRUCell(4, 4)).double(), PAST),
        (lambda: lambda X: X.softmax(-1), DISTANCE == 0),
        (lambda: lambda X: nn.Parameter(torch.ones(1, 9, 4)) * 2, DISTANCE < 0),
    ],
)
def test_fields_that_are_known(make: Callable[[], Any], expected: Tensor) -> None:
    assert torch.equal(d2l.find_receptive_field(make(), sequence(9, 4)), expected)


def test_what_rare_inputs_show_several_draws_find() -> None:
    found = [int(d2l.find_receptive_field(lambda X: (X - 1).relu(), sequence(12, 1), draws=m).sum()) for m in (1, 99)]
    assert found[0] < found[1] == 12


@given(n=st.integers(2, 12), k=st.sampled_from([3, 5, 7]))
@settings(max_examples=6)
def test_path_length_of_contiguous_convolutions(n: int, k: int) -> None:
    X = sequence(n, 1)
    centred, causal = d2l.Convolution(1, k).double(), d2l.Convolution(1, k, causal=True).double()
    assert d2l.find_maximum_path_length(itertools.repeat(centred), X) == math.ceil((n - 1) / ((k - 1) / 2))
    assert d2l.find_maximum_path_length(itertools.repeat(causal), X) == math.ceil((n - 1) / (k - 1))


def test_all_layers_of_a_list_are_looked_at_and_n_of_an_iterator() -> None:
    narrow, X = d2l.Convolution(1, 1).double(), sequence(5, 1)
    layers = [narrow] * 6 + [d2l.SelfAttention(1).double()]
    assert d2l.find_maximum_path_length(layers, X) == 7
    assert d2l.find_maximum_path_length(layers[:6], X) is None
    assert d2l.find_maximum_path_length(iter(layers), X) is None
    for_this_length = torch.ones(5, 5, dtype=torch.float64)
    assert d2l.find_maximum_path_length([lambda X: for_this_length @ X], X) == 1


def test_dilated_convolutions_need_a_logarithm_or_never_connect_the_ends() -> None:
    for n, k, needed in ((8, 2, 3), (9, 2, 4), (9, 3, 2), (28, 3, 4)):
        layers = (d2l.Convolution(1, k, dilation=k**i, causal=True).double() for i in itertools.count())
        assert d2l.find_maximum_path_length(layers, sequence(n, 1)) == needed
    centred = [d2l.Convolution(1, 3, dilation=3**i).double() for i in range(5)]
    assert d2l.find_maximum_path_length(centred, sequence(16, 1)) is None  # 1 + 3 + 9 = 13 < 15, and 27 jumps beyond
    assert d2l.find_maximum_path_length(centred, sequence(14, 1)) == 3


def test_path_length_of_one_step_in_time() -> None:
    cell = nn.RNNCell(3, 3).double()

    def step(states: Tensor) -> Tensor:
        """All states one step on: each one is made from the one before it."""
        before = F.pad(states, (0, 0, 1, 0))[:, :-1]
        return torch.stack([cell(x, h) for x, h in zip(states.unbind(1), before.unbind(1), strict=True)], 1)

    assert d2l.find_maximum_path_length(itertools.repeat(step), sequence(9, 3)) == 8


def test_what_one_layer_passes_on_the_next_may_throw_away() -> None:
    """Both layers connect neighbours, and two of them connect nothing."""

    def move(X: Tensor) -> Tensor:
        """Feature 0 of each token becomes feature 1 of the next one."""
        return F.pad(X[:, :-1, :1], (1, 0, 1, 0))

    assert d2l.find_maximum_path_length([move] * 8, sequence(8, 2)) is None


def test_a_long_path_of_weak_layers_does_not_vanish() -> None:
    weak = d2l.Convolution(1, 2, causal=True).double()
    torch.nn.init.constant_(weak.conv.weight, 1e-7)  # 59 of them: 1e-413
    assert d2l.find_maximum_path_length(itertools.repeat(weak), sequence(60, 1)) == 59


RECURRENT = [nn.RNN(2, 2, batch_first=True), nn.GRU(2, 2, batch_first=True, bidirectional=True)]
RECURRENT += [nn.LSTM(2, 2, batch_first=True), nn.Sequential(Recurrent(nn.GRUCell(2, 2)), nn.LayerNorm(2))]
ONE_BY_ONE = "it takes them one after another, and is not one step of a path"

test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.find_receptive_field(lambda X: X, sequence(3, 2), draws=0), "draws must be .* got 0"),
    (lambda: d2l.find_receptive_field(lambda X: {"y": X}, sequence(3, 2)), "f must return .* got dict"),
    (lambda: d2l.find_receptive_field(lambda X: X.sqrt(), sequence(3, 2)), "not finite"),
    (lambda: d2l.find_receptive_field(lambda X: X * 1e-200 * 1e-100, sequence(3, 2)), "underflows"),
    (lambda: d2l.find_receptive_field(lambda X: X.round().detach(), sequence(3, 2)), r"f must return .* got \(1, 3, 2"),
    (lambda: d2l.find_receptive_field(lambda X: X.sum(), sequence(3, 2)), r"f must return \(batch, m, ...\)"),
    (lambda: d2l.find_maximum_path_length([lambda X: X.cumsum(1)], sequence(6, 2)), "Cumsum.* hides a chain"),
    (lambda: d2l.find_maximum_path_length([], torch.zeros(1, 4, 2)), "X must have shape .* in torch.float32"),
    *(
        (
            lambda X=X: d2l.find_receptive_field(lambda X: X, X),
            r"X must have shape \(batch, n, d\), none of them 0, and",
        )
        for X in (sequence(4, 2)[0], sequence(4, 2)[:0], [[1.0]])
    ),
    *((lambda f=f: d2l.find_maximum_path_length([f.double()], sequence(6, 2)), ONE_BY_ONE) for f in RECURRENT),
)
