"""Positions added to the tokens: sinusoids and learned tables."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import d2lmini as d2l
from tests.package.refusals import Row, refused

BOTH = [d2l.PositionalEncoding, d2l.LearnedPositionalEncoding]


@given(d=st.integers(1, 40), max_len=st.integers(1, 50), dtype=st.sampled_from([None, torch.float64]))
def test_the_table_is_its_definition(d: int, max_len: int, dtype: torch.dtype | None) -> None:
    P, tolerance = d2l.PositionalEncoding(d, 0.0, max_len, dtype=dtype).P, 1e-13 if dtype else 1e-7
    assert P.shape == (1, max_len, d) and P.dtype == (dtype or torch.float32)
    for i in {0, max_len // 2, max_len - 1}:
        for column in range(d):
            j, function = column // 2, math.cos if column % 2 else math.sin
            assert P[0, i, column].item() == pytest.approx(function(i / 10000 ** (2 * j / d)), abs=tolerance)


def test_the_angles_of_far_positions_are_exact() -> None:
    P = d2l.PositionalEncoding(6, 0.0, 100_001).P
    expected = [math.sin(100_000), math.cos(100_000), math.sin(100_000 / 10000 ** (1 / 3))]
    torch.testing.assert_close(P[0, -1, :3].double(), torch.tensor(expected, dtype=torch.float64), atol=1e-7, rtol=0)


@pytest.mark.parametrize("encoding", BOTH)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_rows_are_added_from_the_start_on_in_the_dtype_of_the_input(encoding: Any, dtype: torch.dtype) -> None:
    layer, X = encoding(6, 0.0, 10), torch.randn(2, 4, 6).to(dtype)
    before = X.clone()
    for start in (0, 3, 6):
        output = layer(X, start)
        assert output.dtype == dtype and torch.equal(output, X + layer.P[:, start : start + 4].to(dtype))
    assert torch.equal(X, before)


@pytest.mark.parametrize("encoding", BOTH)
def test_dropout_acts_on_the_sum_and_in_training_only(encoding: Any) -> None:
    torch.manual_seed(0)
    layer, X = encoding(8, 0.5, 30), torch.randn(4, 30, 8)
    output = layer(X)
    kept = output != 0
    assert 0.4 < kept.double().mean() < 0.6
    torch.testing.assert_close(output[kept], 2 * (X + layer.P)[kept])
    assert torch.equal(layer.eval()(X), X + layer.P)


def test_the_fixed_table_is_a_buffer_that_is_not_saved() -> None:
    layer = d2l.PositionalEncoding(4, 0.0)
    assert not list(layer.parameters()) and not layer.state_dict() and [*dict(layer.named_buffers())] == ["P"]


def test_the_learned_table_is_trained_where_it_was_used() -> None:
    layer = d2l.LearnedPositionalEncoding(4, 0.0, max_len=6)
    assert [*layer.state_dict()] == ["P"] and layer.P.abs().max() > 0
    layer(torch.zeros(3, 4, 4)).sum().backward()
    assert torch.equal(layer.P.grad[0, :, 0], torch.tensor([3.0, 3, 3, 3, 0, 0]))  # type: ignore[index]


@pytest.mark.parametrize("kind", BOTH)
def test_each_example_may_begin_at_a_position_of_its_own(kind: Any) -> None:
    module, X = kind(6, 0.0, 12), torch.randn(3, 4, 6)
    found = module(X, start=torch.tensor([0, 8, -2]))
    torch.testing.assert_close(found[:2], torch.cat([module(X[:1]), module(X[1:2], start=8)]))
    torch.testing.assert_close(found[2:, 2:], module(X[2:, 2:]))  # the two before are padding
    torch.testing.assert_close(found[2, :2], X[2, :2] + module.P[0, 0])


X = torch.zeros(3, 4, 4)
WRONG: list[Row] = []
for encoding in BOTH:
    WRONG += [
        (encoding(4, 0.0, 10), "max_len", {"length 11": (torch.zeros(1, 11, 4),), "start=7": (X, 7)}),
        (encoding(4, 0.0, 10), "X", {"(4, 4)": (X[0],), "int64": (X.long(),)}),
        (encoding(4, 0.0, 10), "start", {"-1": (X, -1), "(2,)": (X, torch.tensor([0, 1]))}),
        (encoding, "num_hiddens", {"0": (0, 0.0)}),
        (encoding, "dropout", {"1.5": (4, 1.5)}),
        (encoding, "max_len", {"0": (4, 0.0, 0)}),
    ]


test_what_does_not_fit_is_refused = refused(WRONG)
