"""Biases by offset: ALiBi, learned numbers and vectors, and the buckets of T5."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lmini as d2l
from tests.package.positions.shared import drawn, scheme


@pytest.mark.parametrize(
    ("num_heads", "slopes"),
    [
        (1, [2**-8]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
        (8, [2.0**-h for h in range(1, 9)]),
        (12, [2.0**-h for h in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_alibi_slopes(num_heads: int, slopes: list[float]) -> None:
    torch.testing.assert_close(d2l.alibi_slopes(num_heads), torch.tensor(slopes))


def test_alibi_falls_with_the_distance_on_both_sides() -> None:
    _, _, bias = d2l.ALiBi(2)(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))
    assert bias.tolist() == [[[-m * abs(i - j) for j in range(3)] for i in range(3)] for m in (2**-4, 2**-8)]


def test_relative_bias_is_a_number_for_each_clipped_offset() -> None:
    layer = d2l.RelativePositionBias(2, max_distance=2)
    assert layer.table.shape == (2, 5) and not layer.table.any()
    layer.table.data[:] = torch.tensor([[10.0], [20]]) + torch.arange(5)  # offsets -2..2
    _, _, bias = layer(torch.zeros(1, 2, 5, 4), torch.zeros(1, 2, 5, 4))
    rows = [12, 13, 14, 14, 14], [11, 12, 13, 14, 14], [10, 11, 12, 13, 14], [10, 10, 11, 12, 13], [10, 10, 10, 11, 12]
    assert bias[0].tolist() == [*rows]
    assert torch.equal(bias[1], bias[0] + 10)


def test_relative_keys_are_vectors_added_to_the_keys() -> None:
    torch.manual_seed(0)
    layer, Q, K = d2l.RelativePositionKeys(4, max_distance=2).double(), drawn(2, 3, 4, 4), drawn(2, 3, 6, 4)
    queries, keys, bias = layer(Q, K)
    assert queries is Q and keys is K
    scores = Q @ K.mT / 2 + bias
    for i in range(4):
        for j in range(6):
            vector = layer.vectors[max(-2, min(2, j - (i + 2))) + 2]
            torch.testing.assert_close(scores[:, :, i, j], (Q[:, :, i] * (K[:, :, j] + vector)).sum(-1) / 2)


def t5_formula(offset: int, num_buckets: int, max_distance: int, bidirectional: bool) -> float:
    """The formula of the paper's program before rounding down, with logarithms."""
    bucket = 0
    if bidirectional:
        num_buckets //= 2
        bucket = num_buckets if offset > 0 else 0
        distance = abs(offset)
    else:
        distance = max(-offset, 0)
    exact = num_buckets // 2
    if distance < exact:
        return bucket + distance
    logarithmic = math.log(distance / exact) / math.log(max_distance / exact) * (num_buckets - exact)
    return bucket + min(exact + logarithmic, num_buckets - 1)


@given(quarter=st.integers(1, 12), more=st.integers(1, 150), bidirectional=st.booleans())
@settings(max_examples=40)
def test_t5_buckets_are_the_formula(quarter: int, more: int, bidirectional: bool) -> None:
    num_buckets, max_distance = 4 * quarter, quarter * (1 if bidirectional else 2) + more
    offsets = torch.arange(-300, 301)
    kwargs = {"num_buckets": num_buckets, "max_distance": max_distance, "bidirectional": bidirectional}
    got = d2l.t5_buckets(offsets, **kwargs)  # type: ignore[arg-type]
    for offset, bucket in zip(offsets.tolist(), got.tolist(), strict=True):
        # A logarithm may miss a whole number by a hair, to either side.
        expected = t5_formula(offset, **kwargs)  # type: ignore[arg-type]
        assert bucket in {math.floor(expected - 1e-9), math.floor(expected + 1e-9)}


def test_t5_buckets_of_the_paper() -> None:
    offsets = torch.tensor([[0, -1, -7, -8, -15], [-16, -127, -128, -999, 1], [7, 8, 16, 128, 999]])
    assert d2l.t5_buckets(offsets).tolist() == [[0, 1, 7, 8, 9], [10, 15, 15, 15, 17], [23, 24, 26, 31, 31]]
    one_way = d2l.t5_buckets(offsets, bidirectional=False)
    assert one_way.tolist() == [[0, 1, 7, 8, 15], [16, 31, 31, 31, 0], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_bias_looks_up_its_buckets(bidirectional: bool) -> None:
    layer = scheme("t5", bidirectional=bidirectional)
    _, _, bias = layer(drawn(1, 3, 20, 4), drawn(1, 3, 30, 4))
    buckets = d2l.t5_buckets(d2l.relative_offsets(20, 30), bidirectional=bidirectional)
    assert torch.equal(bias, layer.table[:, buckets])


@pytest.mark.parametrize("name", ["relative", "t5"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_a_table_add_up_in_float32(name: str, dtype: torch.dtype) -> None:
    layer = d2l.make_positions(name, 8, 2)[1].to(dtype)  # type: ignore[union-attr]
    some = torch.zeros(1, 2, 600, 4, dtype=dtype)
    layer(some, some)[2].sum().backward()
    counted = layer.table.grad.double()
    exact = copy.deepcopy(layer).double()
    exact.zero_grad()
    exact(some.double(), some.double())[2].sum().backward()
    kept = exact.table.grad < 6e4  # float16 ends there
    torch.testing.assert_close(counted[kept], exact.table.grad[kept], rtol=0.01, atol=0)


def test_relative_keys_do_not_overflow_in_float16() -> None:
    layer = d2l.RelativePositionKeys(64).half()
    layer.vectors.data[:] = 4
    bias = layer(torch.full((1, 1, 2, 64), 300.0).half(), torch.zeros(1, 1, 2, 64).half())[2]
    assert (bias == 9600).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_distances_of_alibi_are_exact_in_half_precision(dtype: torch.dtype) -> None:
    some = torch.zeros(1, 6, 1, 4, dtype=dtype)
    bias = d2l.ALiBi(6).to(dtype)(some, some.expand(1, 6, 70000, 4))[2]
    expected = -d2l.alibi_slopes(6)[:, None] * torch.arange(69999, -1, -1)
    assert torch.equal(bias[:, 0], expected) and not d2l.ALiBi(6).state_dict()


def test_offsets_at_the_ends_of_their_range_have_buckets() -> None:
    for dtype in (torch.int8, torch.int16, torch.int64):
        lowest = torch.tensor([torch.iinfo(dtype).min, 0], dtype=dtype)
        assert d2l.t5_buckets(lowest).tolist() == [15, 0]
    assert d2l.t5_buckets(torch.tensor([1, 5], dtype=torch.uint8), bidirectional=False).tolist() == [0, 0]


def test_many_buckets_are_found_quickly() -> None:
    offsets = torch.tensor([-100_000, -99_000, -63, 64])
    assert d2l.t5_buckets(offsets, num_buckets=512, max_distance=100_000).tolist() == [255, 255, 63, 320]
