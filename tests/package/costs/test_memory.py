"""Memory: what is kept for the backward pass, and the most that is needed at one time, beside closed forms."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import d2lmini as d2l
from d2lmini.costs.memory import measure_peak_memory
from tests.package.costs.sequences import sequence

# ---- what is kept ----


def test_memory_of_a_product_is_that_of_its_inputs() -> None:
    W = nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
    assert d2l.measure_activation_memory(lambda X: X @ W, sequence(5, 3)) == 5 * 3 * 8
    twice = d2l.measure_activation_memory(lambda X: X @ X.mT, sequence(5, 3))
    assert twice == 5 * 3 * 8  # kept once, though twice needed
    assert d2l.measure_activation_memory(lambda X: X.exp(), sequence(5, 3)) == 5 * 3 * 8
    assert d2l.measure_activation_memory(lambda X: X.exp().exp(), sequence(5, 3)) == 2 * 5 * 3 * 8


def test_attention_keeps_n_squared_weights_unless_it_is_fused() -> None:
    attention = d2l.DotProductAttention(0.0)

    def memory(need_weights: bool) -> Callable[[int], int]:
        def f(X: Tensor) -> Any:
            return attention(X, X, X, need_weights=need_weights)

        return lambda n: d2l.measure_activation_memory(f, torch.randn(1, n, 4))

    assert d2l.take_differences(memory(True), 64, 2) >= 2 * 4  # at least n ** 2 numbers of four bytes
    assert d2l.take_differences(memory(False), 64, 2) == 0


class WithTable(nn.Module):
    """Multiplies by a table that is no parameter, as rotary positions do."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(5, 4, dtype=torch.float64))

    def forward(self, X: Tensor) -> Tensor:
        return (X * self.table).exp()


def test_a_table_from_before_is_not_memory_that_the_layer_takes() -> None:
    layer, linear, X = WithTable(), nn.Linear(4, 4).double(), sequence(5, 4)
    assert d2l.measure_activation_memory(layer, X) == 5 * 4 * 8  # the exponential, and no table
    assert d2l.measure_activation_memory(layer.forward, X) == 5 * 4 * 8
    for module in (layer, linear):
        assert measure_peak_memory(module, X) == measure_peak_memory(module.forward, X)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is kept"):
        d2l.measure_activation_memory(lambda X: torch.zeros(3), sequence(2, 2))
    with pytest.raises(ValueError, match="there is no backward pass"):
        measure_peak_memory(lambda X: X.detach(), sequence(2, 2))


# ---- what is needed at one time ----


W = torch.ones(3, 3, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(
    ("f", "forward", "both", "parameters"),
    [
        (lambda X: X.exp(), 2, 4, 0),  # X, Y; then a gradient for each
        (lambda X: X.exp().exp(), 3, 6, 0),  # all three; then a gradient for each
        (lambda X: X.relu().sum(1), 2 + 1 / 7, 3 + 2 / 7, 0),  # the sum is one token, and its gradient is not copied
        (lambda X: X @ W, 2, 4, 9),  # X, Y; then a gradient for each, and for W
    ],
)
def test_peak_of_a_few_operations(f: Any, forward: float, both: float, parameters: int) -> None:
    size = 7 * 3 * 8
    expected = (round(forward * size), round(both * size) + parameters * 8)
    assert measure_peak_memory(f, sequence(7, 3)) == expected


def test_peak_of_attention_is_two_tables_and_three_with_the_backward_pass() -> None:
    """Scores and weights stand side by side; then weights and the gradients of both."""

    def f(X: Tensor) -> Tensor:
        return (X @ X.mT).softmax(-1) @ X

    for which, tables in ((0, 2), (1, 3)):
        second = d2l.take_differences(lambda n, which=which: measure_peak_memory(f, sequence(n, 3))[which], 20, 2)
        assert second == 2 * tables * 8
    kept = d2l.take_differences(lambda n: d2l.measure_activation_memory(f, sequence(n, 3)), 20, 2)
    assert kept == 2 * 8  # the weights only


def test_what_was_given_back_is_not_counted() -> None:
    def f(X: Tensor) -> Tensor:
        with torch.no_grad():
            for _ in range(50):
                X = X.exp().log()
        return X.requires_grad_() * 1.0

    assert measure_peak_memory(f, sequence(7, 3)).forward <= 4 * 7 * 3 * 8
