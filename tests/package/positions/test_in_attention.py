"""Positions inside attention: the property that defines each scheme, and that attention uses it on both paths."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import d2lmini as d2l

PAIRINGS = ["adjacent", "halves"]
DOUBLE = torch.float64
NAMES = ["rotary", "alibi", "relative", "relative-keys", "t5"]


def scheme(name: str, num_hiddens: int = 12, num_heads: int = 3, **kwargs: Any) -> Any:
    """A scheme in float64 whose numbers are drawn, so that a wrong one shows."""
    module = d2l.make_positions(name, num_hiddens, num_heads, **kwargs)[1]
    assert module is not None
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.double()


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE)


# ---- rotary ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_rotary_is_a_rotation_of_each_pair(pairing: str) -> None:
    """As complex numbers: x + iy is multiplied by exp(i position omega)."""
    torch.manual_seed(0)
    X, size = drawn(2, 3, 5, 8), 8
    first, second = (X[..., ::2], X[..., 1::2]) if pairing == "adjacent" else X.chunk(2, -1)
    omega = 100.0 ** (-torch.arange(0, size, 2, dtype=DOUBLE) / size)
    turned = torch.complex(first, second) * torch.exp(1j * torch.arange(7, 12, dtype=DOUBLE)[:, None] * omega)
    got = d2l.apply_rotary(X, 7, base=100.0, pairing=pairing)
    got_pairs = (got[..., ::2], got[..., 1::2]) if pairing == "adjacent" else got.chunk(2, -1)
    torch.testing.assert_close(torch.complex(*got_pairs), turned)


@pytest.mark.parametrize("pairing", PAIRINGS)
@given(p=st.integers(1, 6), i=st.integers(0, 40), j=st.integers(0, 40), shift=st.integers(0, 500))
def test_rotary_scores_depend_on_the_offset_only(pairing: str, p: int, i: int, j: int, shift: int) -> None:
    q, k = drawn(1, 2 * p), drawn(1, 2 * p)

    def score(i: int, j: int) -> Tensor:
        return (d2l.apply_rotary(q, i, pairing=pairing) * d2l.apply_rotary(k, j, pairing=pairing)).sum()

    torch.testing.assert_close(score(i, j), score(i + shift, j + shift))


def test_the_pairings_are_one_up_to_a_permutation() -> None:
    X, order = drawn(3, 5, 8), [0, 2, 4, 6, 1, 3, 5, 7]
    halves = d2l.apply_rotary(X[..., order], pairing="halves")
    torch.testing.assert_close(halves, d2l.apply_rotary(X)[..., order])
    assert not torch.allclose(d2l.apply_rotary(X, pairing="halves"), d2l.apply_rotary(X))


def test_rotary_keeps_lengths_position_0_and_its_argument() -> None:
    X = drawn(2, 4, 6)
    before = X.clone()
    turned = d2l.apply_rotary(X)
    assert torch.equal(X, before) and torch.equal(turned[:, 0], X[:, 0])
    torch.testing.assert_close(turned.norm(dim=-1), X.norm(dim=-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_turned_in_float32(dtype: torch.dtype) -> None:
    X = torch.randn(1, 3, 8).to(dtype)
    turned = d2l.apply_rotary(X, 50_000)
    assert turned.dtype == dtype
    assert torch.equal(turned, d2l.apply_rotary(X.float(), 50_000).to(dtype))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d2l.apply_rotary(torch.zeros(2, 5)), "must be even and at least 2, got 5"),
        (lambda: d2l.apply_rotary(torch.zeros(2, 0)), "must be even and at least 2, got 0"),
        (lambda: d2l.apply_rotary(torch.zeros(4)), r"X must hold floating-point .*\(4,\)"),
        (lambda: d2l.apply_rotary(torch.zeros(2, 4, dtype=torch.long)), "X must hold floating-point .*int64"),
        (lambda: d2l.apply_rotary([1.0]), "got list"),  # type: ignore[arg-type]
        (lambda: d2l.apply_rotary(torch.zeros(2, 4), -1), "offset must be an integer of at least 0 .*, got -1"),
        (lambda: d2l.apply_rotary(torch.zeros(2, 4), base=0), "base must be a number of at least 1, got 0"),
        (lambda: d2l.RotaryEmbedding(math.inf), "base must be a number of at least 1, got inf"),
        (lambda: d2l.RotaryEmbedding(math.nan), "base must be a number of at least 1, got nan"),
        (lambda: d2l.RotaryEmbedding(0.5), "base must be a number of at least 1, got 0.5"),
        (lambda: d2l.RotaryEmbedding("x"), "base must be a number of at least 1, got 'x'"),  # type: ignore[arg-type]
        (lambda: d2l.apply_rotary(torch.zeros(2, 4), 2**53), "offset must be an integer of at least 0 .*and at most"),
        (lambda: d2l.RotaryEmbedding(pairing="half"), "pairing must be one of 'adjacent', 'halves', got 'half'"),
        (lambda: d2l.alibi_slopes(0), "num_heads must be an integer of at least 1"),
        (lambda: d2l.RelativePositionBias(2, 0), "max_distance must be an integer of at least 1"),
        (lambda: d2l.RelativePositionBias(0), "num_heads must be an integer of at least 1"),
        (lambda: d2l.RelativePositionKeys(0), "head_size must be an integer of at least 1"),
        (lambda: d2l.RelativePositionKeys(4, -1), "max_distance must be an integer of at least 1"),
        (lambda: d2l.T5PositionBias(0), "num_heads must be an integer of at least 1"),
        (lambda: d2l.T5PositionBias(2, 30), "divisible by 4 .*num_buckets=30, max_distance=128"),
        (lambda: d2l.T5PositionBias(2, 31, bidirectional=False), "divisible by 2 .*num_buckets=31"),
        (lambda: d2l.T5PositionBias(2, 32, 8), "max_distance be more than num_buckets / 4.*max_distance=8"),
        (lambda: d2l.t5_buckets(torch.tensor([0.5])), "offsets must be a tensor of integers, got torch.float32"),
        (lambda: d2l.t5_buckets(3), "offsets must be a tensor of integers, got int"),  # type: ignore[arg-type]
        (lambda: d2l.relative_offsets(5, 4), "num_queries=5, num_keys=4"),
        (lambda: d2l.relative_offsets(2.5, 3), "must be integers, got 2.5 and 3"),  # type: ignore[arg-type]
        (lambda: d2l.relative_offsets(True), "must be integers, got True"),
        (lambda: d2l.t5_buckets(torch.tensor([True])), "a tensor of integers, got torch.bool"),
        (lambda: d2l.t5_buckets(torch.tensor([1j])), "a tensor of integers, got torch.complex64"),
        (lambda: d2l.t5_buckets(torch.tensor(1), num_buckets=0), "num_buckets must be an integer of at least 1"),
        (lambda: d2l.t5_buckets(torch.tensor(1), max_distance=9.5), "max_distance must be an integer"),  # type: ignore[arg-type]
        (lambda: d2l.RotaryEmbedding()([1], [2]), "must be tensors, got list and list"),
        (lambda: d2l.RotaryEmbedding()(drawn(1, 1, 2, 4), drawn(1, 1, 2, 6)), "share an even size, got 4 and 6"),
        (lambda: d2l.RotaryEmbedding()(drawn(1, 1, 2, 3), drawn(1, 1, 2, 3)), "share an even size, got 3 and 3"),
        (lambda: d2l.ALiBi(2)(drawn(1, 2, 3, 4), drawn(5, 2, 3, 4)), "the same batch and heads"),
        (lambda: d2l.ALiBi(0), "num_heads must be an integer of at least 1"),
        (lambda: d2l.relative_offsets(-1, 4), "num_queries=-1, num_keys=4"),
    ],
)
def test_what_is_not_allowed_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# ---- offsets, ALiBi, relative bias, T5 -------------------------------------------------------------------------------


def test_offsets_and_the_causal_mask_agree() -> None:
    assert d2l.relative_offsets(2, 3).tolist() == [[-1, 0, 1], [-2, -1, 0]]
    for queries, keys in ((3, 3), (1, 4), (0, 2)):
        assert torch.equal(d2l.relative_offsets(queries, keys) <= 0, d2l.causal_mask(queries, keys))


@pytest.mark.parametrize(
    ("num_heads", "slopes"),
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (4, [1 / 4, 1 / 16, 1 / 64, 1 / 256]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
        (8, [2.0**-h for h in range(1, 9)]),
        (12, [2.0**-h for h in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_alibi_slopes(num_heads: int, slopes: list[float]) -> None:
    torch.testing.assert_close(d2l.alibi_slopes(num_heads), torch.tensor(slopes))


def test_alibi_slopes_are_the_papers_for_powers_of_two() -> None:
    for heads in (1, 2, 4, 8, 16, 32, 64):
        expected = torch.tensor([2.0 ** (-8 * h / heads) for h in range(1, heads + 1)])
        torch.testing.assert_close(d2l.alibi_slopes(heads), expected)
    for heads in range(1, 70):  # as many as heads, and all different
        assert len(set(d2l.alibi_slopes(heads).tolist())) == heads


def test_alibi_falls_with_the_distance_on_both_sides() -> None:
    _, _, bias = d2l.ALiBi(2)(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))
    assert bias.tolist() == [[[-m * abs(i - j) for j in range(3)] for i in range(3)] for m in (2**-4, 2**-8)]


def test_relative_bias_is_a_number_for_each_clipped_offset() -> None:
    layer = d2l.RelativePositionBias(2, max_distance=2)
    assert layer.table.shape == (2, 5) and not layer.table.any()
    layer.table.data[:] = torch.tensor([[10.0], [20]]) + torch.arange(5)  # offsets -2..2
    _, _, bias = layer(torch.zeros(1, 2, 5, 4), torch.zeros(1, 2, 5, 4))
    assert bias[0].tolist() == [
        [12, 13, 14, 14, 14], [11, 12, 13, 14, 14], [10, 11, 12, 13, 14], [10, 10, 11, 12, 13], [10, 10, 10, 11, 12]
    ]  # fmt: skip
    assert torch.equal(bias[1], bias[0] + 10)


def test_relative_keys_are_vectors_added_to_the_keys() -> None:
    torch.manual_seed(0)
    layer, Q, K = scheme("relative-keys", max_len=9), drawn(2, 3, 4, 4), drawn(2, 3, 6, 4)
    layer = d2l.RelativePositionKeys(4, max_distance=2).double()
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


@given(
    quarter=st.integers(1, 12),
    more=st.integers(1, 150),
    bidirectional=st.booleans(),
)
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


# ---- inside attention ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("masked", [False, True])
def test_both_paths_of_attention_use_the_scheme(name: str, masked: bool) -> None:
    """The fused kernel, the path with weights, and the definition written out agree, gradients included."""
    torch.manual_seed(0)
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, bias=True, positions=scheme(name)).double()
    X = drawn(2, 7, 12).requires_grad_()
    lens = torch.tensor([7, 4]) if masked else None
    mask = d2l.causal_mask(7) if masked else torch.ones(7, 7, dtype=torch.bool)
    allowed = mask if lens is None else mask & d2l.valid_lens_mask(lens, 7)[:, None]
    Q, K, V = (layer(X).unflatten(2, (3, 4)).transpose(1, 2) for layer in (mha.W_q, mha.W_k, mha.W_v))
    Q, K, bias = mha.positions(Q, K)
    scores = Q @ K.mT / 2 + (0 if bias is None else bias)
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    expected = mha.W_o((weights @ V).transpose(1, 2).flatten(2))

    fused = mha(X, X, X, lens, mask=mask if masked else None)
    output, got_weights = mha(X, X, X, lens, mask=mask if masked else None, need_weights=True)
    torch.testing.assert_close(got_weights, weights)
    wanted = [X, *mha.parameters()]
    grads = torch.autograd.grad(expected.square().sum(), wanted)
    for got in (fused, output):
        torch.testing.assert_close(got, expected)
        for ours, theirs in zip(torch.autograd.grad(got.square().sum(), wanted), grads, strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_one_layer_does_not_know_where_the_sequence_began(name: str) -> None:
    """Shifted by tokens that nobody sees, the same tokens get the same outputs."""
    torch.manual_seed(0)
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=scheme(name)).double()
    X, causal = drawn(1, 6, 12), d2l.causal_mask(9)
    shifted = torch.cat([drawn(1, 3, 12), X], dim=1)
    hidden = causal & (torch.arange(9) >= 3)
    torch.testing.assert_close(mha(shifted, shifted, shifted, mask=hidden)[:, 3:], mha(X, X, X, mask=causal[:6, :6]))
    shuffled = X[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(mha(X, X, X)[:, 5], mha(shuffled, shuffled, shuffled)[:, 5])


@pytest.mark.parametrize("name", NAMES)
def test_the_newest_queries_alone_are_the_end_of_the_whole(name: str) -> None:
    torch.manual_seed(0)
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=scheme(name)).double()
    X = drawn(2, 6, 12)
    whole = mha(X, X, X, mask=d2l.causal_mask(6))
    for newest in (1, 2):
        part = mha(X[:, -newest:], X, X, mask=d2l.causal_mask(newest, 6))
        torch.testing.assert_close(part, whole[:, -newest:])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_schemes_keep_the_dtype(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    exact = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=scheme(name)).double()
    mha, X = copy.deepcopy(exact).to(dtype), torch.randn(2, 5, 12).to(dtype)
    expected = exact(X.double(), X.double(), X.double())
    for got in (mha(X, X, X), mha(X, X, X, need_weights=True)[0]):
        assert got.dtype == dtype
        tolerance = {torch.float16: 0.01, torch.bfloat16: 0.08, torch.float32: 1e-5}[dtype]
        torch.testing.assert_close(got.double(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("need_weights", [False, True])
def test_schemes_under_autocast(name: str, need_weights: bool) -> None:
    torch.manual_seed(0)
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=scheme(name).float())
    X = torch.randn(2, 5, 12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = mha(X, X, X, mask=d2l.causal_mask(5), need_weights=need_weights)
    got = got[0] if need_weights else got
    torch.testing.assert_close(got.float(), mha(X, X, X, mask=d2l.causal_mask(5)), atol=0.05, rtol=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_who_sees_nothing_still_gets_nothing(name: str) -> None:
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, bias=True, positions=scheme(name)).double()
    X = drawn(2, 4, 12)
    lens = torch.tensor([4, 0])
    output, weights = mha(X, X, X, lens, need_weights=True)
    assert not output[1].any() and not weights[1].any() and not mha(X, X, X, lens)[1].any()


@pytest.mark.parametrize("name", NAMES)
def test_more_queries_than_keys_are_refused(name: str) -> None:
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=scheme(name)).double()
    with pytest.raises(ValueError, match="got 5 queries and 4 keys"):
        mha(drawn(1, 5, 12), drawn(1, 4, 12), drawn(1, 4, 12))


@pytest.mark.parametrize("name", ["alibi", "relative", "t5"])
def test_a_scheme_for_other_heads_is_refused(name: str) -> None:
    mha, X = d2l.MultiHeadAttention(12, 12, 12, 12, 2, 0.0, positions=scheme(name)).double(), drawn(1, 4, 12)
    with pytest.raises(ValueError, match="made for num_heads=3, the layer has 2"):
        mha(X, X, X)


def test_a_scheme_for_another_head_size_is_refused() -> None:
    mha, X = d2l.MultiHeadAttention(12, 12, 12, 12, 2, 0.0, positions=scheme("relative-keys")).double(), drawn(1, 4, 12)
    with pytest.raises(ValueError, match=r"head_size=4, got \(1, 2, 4, 6\)"):
        mha(X, X, X)
    with pytest.raises(ValueError, match=r"\(batch, num_heads, steps, size\), .*got \(1, 4, 12\)"):
        d2l.RotaryEmbedding()(X, X)


class Constant(d2l.RelativePositions):
    """A scheme of one's own, as an instructor would write it."""

    def __init__(self, bias: Any) -> None:
        super().__init__()
        self.bias = bias

    def forward(self, queries: Tensor, keys: Tensor) -> Any:
        return queries, keys, self.bias


@pytest.mark.parametrize("shape", [(), (5,), (4, 5), (1, 4, 5), (3, 4, 5), (2, 1, 4, 5), (2, 3, 4, 5), (2, 3, 1, 1)])
def test_a_bias_of_ones_own_broadcasts(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    bias = 3 * torch.randn(shape)
    mha, X, Y = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0), torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    plain = mha(X, Y, Y, need_weights=True)[1]
    mha.positions = Constant(bias)
    output, weights = mha(X, Y, Y, need_weights=True)
    torch.testing.assert_close(weights, (plain.log() + bias).softmax(-1))
    torch.testing.assert_close(mha(X, Y, Y), output)


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        (torch.zeros(4, 4), r"bias must broadcast to \(2, 3, 4, 5\), got \(4, 4\)"),
        (torch.zeros(1, 2, 3, 4, 5), r"bias must broadcast to \(2, 3, 4, 5\)"),
        (torch.zeros(4, 5, dtype=torch.bool), "bias must be a tensor of floating-point numbers, got torch.bool"),
        (1.0, "bias must be a tensor of floating-point numbers, got float"),
    ],
)
def test_a_bias_that_does_not_fit_is_refused(bias: Any, message: str) -> None:
    mha = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=Constant(bias))
    with pytest.raises(ValueError, match=message):
        mha(torch.zeros(2, 4, 6), torch.zeros(2, 5, 6), torch.zeros(2, 5, 6))


def test_the_base_class_asks_for_forward() -> None:
    with pytest.raises(NotImplementedError):
        d2l.RelativePositions()(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))


@pytest.mark.parametrize("pooling", [d2l.DotProductAttention(0.0), d2l.AdditiveAttention(4, 4, 5, 0.0)])
def test_a_bias_is_added_to_the_scores_of_either_pooling(pooling: Any) -> None:
    torch.manual_seed(0)
    Q, K, V, bias = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 2), torch.randn(3, 5)
    plain = pooling(Q, K, V, need_weights=True)[1]
    output, weights = pooling(Q, K, V, bias=bias, need_weights=True)
    torch.testing.assert_close(weights, (plain.log() + bias).softmax(-1))
    torch.testing.assert_close(pooling(Q, K, V, bias=bias), output)
    with pytest.raises(ValueError, match=r"bias must broadcast to \(2, 3, 5\), got \(5, 3\)"):
        pooling(Q, K, V, bias=bias.T)
    mha, X = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0, positions=d2l.ALiBi(2)), torch.randn(1, 3, 8)
    mha.attention = pooling
    assert mha(X, X, X).shape == (1, 3, 8)


def test_dropped_weights_and_a_bias_go_together() -> None:
    mha, X = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.5, positions=d2l.ALiBi(2)), torch.randn(1, 6, 8)
    assert not torch.allclose(mha(X, X, X), mha(X, X, X))
    assert torch.equal(mha.eval()(X, X, X), mha(X, X, X))


# ---- what an attack found --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"base": 100.0}, {"pairing": "halves"}, {}])
def test_the_module_turns_with_its_own_settings(settings: dict[str, Any]) -> None:
    Q, K = drawn(1, 2, 3, 8), drawn(1, 2, 5, 8)
    queries, keys, bias = d2l.RotaryEmbedding(**settings)(Q, K)
    settings = {"base": 10000.0, "pairing": "adjacent", **settings}
    assert torch.equal(queries, d2l.apply_rotary(Q, 2, **settings)) and bias is None
    assert torch.equal(keys, d2l.apply_rotary(K, **settings))


@pytest.mark.parametrize("pooling", [d2l.DotProductAttention(0.0), d2l.AdditiveAttention(4, 4, 5, 0.0)])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_bias_has_the_precision_of_float32(dtype: torch.dtype, need_weights: bool, pooling: Any) -> None:
    Q, V = torch.zeros(1, 1, 4, dtype=dtype), torch.eye(4, dtype=dtype)[None]
    pooling = copy.deepcopy(pooling).to(dtype)
    if isinstance(pooling, d2l.AdditiveAttention):
        torch.nn.init.zeros_(pooling.w_v.weight)
    for bias in (torch.tensor([[2000.0, 2000.5, 2001.0, 1999.5]]), torch.tensor([[-1e5, -1e5, -1e5 - 1, -1e5]])):
        got = pooling(Q, V, V, bias=bias, need_weights=need_weights)
        got = got[0] if need_weights else got
        assert got.dtype == dtype
        torch.testing.assert_close(got[0].float(), bias.softmax(-1), atol=0.01, rtol=0)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_under_autocast_is_not_cast(need_weights: bool) -> None:
    Q, V = torch.zeros(1, 1, 4), torch.eye(4)[None]
    bias = torch.full((1, 4), -1e5)
    with torch.autocast("cpu", dtype=torch.float16):
        got = d2l.DotProductAttention(0.0)(Q, V, V, bias=bias, need_weights=need_weights)
    torch.testing.assert_close((got[0] if need_weights else got).float(), torch.full((1, 1, 4), 0.25))


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_large_negative_bias_does_not_undo_the_mask(need_weights: bool) -> None:
    Q, V, mask = torch.zeros(1, 1, 4), torch.eye(4)[None], torch.tensor([[True, True, False, False]])
    got = d2l.DotProductAttention(0.0)(Q, V, V, mask=mask, bias=torch.full((1, 4), -2e4), need_weights=need_weights)
    torch.testing.assert_close((got[0] if need_weights else got)[0, 0], torch.tensor([0.5, 0.5, 0, 0]))


@pytest.mark.parametrize("pooling", [d2l.DotProductAttention(0.0), d2l.AdditiveAttention(4, 4, 5, 0.0)])
@pytest.mark.parametrize("need_weights", [False, True])
def test_minus_infinity_in_a_bias_is_a_mask(need_weights: bool, pooling: Any) -> None:
    """Also a row of them, also together with a mask, also what overflows in float32: never NaN, not in a gradient."""
    torch.manual_seed(0)
    X = torch.randn(1, 4, 4, requires_grad=True)
    bias = torch.zeros(4, 4, dtype=DOUBLE)
    bias[0], bias[1, 1:], bias[2] = -math.inf, -math.inf, -1e300
    bias.requires_grad_()
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1, 0] = mask[3, 3] = False
    got = pooling(X, X, X, mask=mask, bias=bias, need_weights=need_weights)
    got = got[0] if need_weights else got
    assert not got[0, :3].any()
    torch.testing.assert_close(got[0, 3], pooling(X, X, X, mask=mask)[0, 3])
    for grad in torch.autograd.grad(got.square().sum(), [X, bias]):
        assert grad.isfinite().all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_may_hold_anything_where_nobody_may_look(need_weights: bool) -> None:
    X, bias = torch.randn(1, 3, 4, requires_grad=True), torch.zeros(3, 3)
    bias[1], bias[0, 2] = math.nan, math.nan
    bias.requires_grad_()
    lens = torch.tensor([[2, 0, 3]])
    got = d2l.DotProductAttention(0.0)(X, X, X, lens, bias=bias, need_weights=need_weights)
    got = got[0] if need_weights else got
    assert got.isfinite().all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(got.square().sum(), [X, bias]))


def test_every_row_that_the_kernel_gets_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = torch.nn.functional.scaled_dot_product_attention

    def spy(*args: Any, attn_mask: Tensor, **kwargs: Any) -> Tensor:
        assert (attn_mask > -math.inf).any(-1).all() and attn_mask.dtype == args[0].dtype
        return kernel(*args, attn_mask=attn_mask, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    Q = torch.randn(1, 3, 4)
    d2l.DotProductAttention(0.0)(Q, Q, Q, torch.tensor([[3, 0, 1]]), bias=torch.randn(3, 3))


def test_a_bias_in_additive_attention_has_a_gradient() -> None:
    X, bias = torch.randn(1, 3, 4), torch.zeros(3, 3, requires_grad=True)
    d2l.AdditiveAttention(4, 4, 5, 0.0)(X, X, X, bias=bias).square().sum().backward()
    assert bias.grad is not None and bias.grad.abs().max() > 0


def test_a_bias_on_another_device_is_refused() -> None:
    X = torch.randn(1, 3, 4)
    with pytest.raises(ValueError, match="on the device of the queries, cpu, got meta"):
        d2l.DotProductAttention(0.0)(X, X, X, bias=torch.zeros(3, 3, device="meta"))


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


@pytest.mark.parametrize("name", NAMES)
def test_schemes_stay_on_the_device_of_their_inputs(name: str) -> None:
    layer = d2l.make_positions(name, 8, 2)[1].to("meta")  # type: ignore[union-attr]
    queries, keys, bias = layer(torch.zeros(1, 2, 3, 4, device="meta"), torch.zeros(1, 2, 5, 4, device="meta"))
    assert queries.device.type == keys.device.type == "meta"
    assert bias is None or (bias.device.type == "meta" and tuple(bias.shape[-3:]) == (2, 3, 5))


def test_schemes_at_their_beginning() -> None:
    assert d2l.T5PositionBias(2).table.shape == (2, 32) and not d2l.T5PositionBias(2).table.any()
    assert d2l.RelativePositionBias(2).table.shape == (2, 17) and d2l.RelativePositionKeys(4).vectors.shape == (17, 4)
    assert d2l.RelativePositionKeys(4).vectors.any()


@pytest.mark.parametrize(
    ("scheme", "shown"),
    [
        (d2l.RotaryEmbedding(500), "RotaryEmbedding(base=500, pairing='adjacent')"),
        (d2l.ALiBi(3), "ALiBi(num_heads=3)"),
        (d2l.RelativePositionBias(3), "RelativePositionBias(num_heads=3, max_distance=8)"),
        (d2l.RelativePositionKeys(3), "RelativePositionKeys(head_size=3, max_distance=8)"),
        (
            d2l.T5PositionBias(3),
            "T5PositionBias(num_heads=3, num_buckets=32, max_distance=128, bidirectional=True)",
        ),
    ],
)
def test_schemes_show_their_settings(scheme: Any, shown: str) -> None:
    assert repr(scheme) == shown


@pytest.mark.parametrize("positions", ["rotary", d2l.make_positions("rotary", 6, 3), d2l.RotaryEmbedding])
def test_what_is_no_scheme_is_refused_at_the_door(positions: Any) -> None:
    with pytest.raises(ValueError, match=r"positions must be a RelativePositions or None, got .*a pair"):
        d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=positions)


class Returns(d2l.RelativePositions):
    def __init__(self, make: Callable[[Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.make = make

    def forward(self, queries: Tensor, keys: Tensor) -> Any:
        return self.make(queries, keys)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda q, k: (q, k), "must return queries, keys and a bias or None, got tuple"),
        (lambda q, k: q, "must return queries, keys and a bias or None, got Tensor"),
        (lambda q, k: (None, k, None), r"queries of torch.float32 \(2, 3, 4, 2\), got NoneType"),
        (
            lambda q, k: (q[:, :, :1], k, None),
            r"queries of .*\(2, 3, 4, 2\), got torch.float32 \(2, 3, 1, 2\)",
        ),
        (lambda q, k: (q, k.double(), None), r"keys of torch.float32 \(2, 3, 4, 2\), got torch.float64"),
        (lambda q, k: (q.repeat(1, 1, 1, 2), k.repeat(1, 1, 1, 2), None), r"got torch.float32 \(2, 3, 4, 4\)"),
        (lambda q, k: (q, k, torch.zeros(4, 4, dtype=torch.long)), "floating-point numbers, got torch.int64"),
    ],
)
def test_what_a_scheme_returns_is_checked(make: Callable[[Tensor, Tensor], Any], message: str) -> None:
    mha, X = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=Returns(make)), torch.zeros(2, 4, 6)
    with pytest.raises(ValueError, match=message):
        mha(X, X, X)


@pytest.mark.parametrize("name", NAMES)
def test_schemes_can_be_compiled_whole(name: str) -> None:
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=scheme(name)).double()
    X = drawn(1, 4, 12)
    whole = torch.compile(mha, fullgraph=True, backend="eager")
    torch.testing.assert_close(whole(X, X, X, mask=d2l.causal_mask(4)), mha(X, X, X, mask=d2l.causal_mask(4)))
