"""Receptive fields that are known in closed form."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

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


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.find_receptive_field(lambda X: X, sequence(3, 2), draws=0), "draws must be .* got 0"),
    (lambda: d2l.find_receptive_field(lambda X: {"y": X}, sequence(3, 2)), "f must return .* got dict"),
    (lambda: d2l.find_receptive_field(lambda X: X.sqrt(), sequence(3, 2)), "not finite"),
    (lambda: d2l.find_receptive_field(lambda X: X * 1e-200 * 1e-100, sequence(3, 2)), "underflows"),
    (lambda: d2l.find_receptive_field(lambda X: X.round().detach(), sequence(3, 2)), r"f must return .* got \(1, 3, 2"),
    (lambda: d2l.find_receptive_field(lambda X: X.sum(), sequence(3, 2)), r"f must return \(batch, m, ...\)"),
    *(
        (
            lambda X=X: d2l.find_receptive_field(lambda X: X, X),
            r"X must have shape \(batch, n, d\), none of them 0, and",
        )
        for X in (sequence(4, 2)[0], sequence(4, 2)[:0], [[1.0]])
    ),
)
