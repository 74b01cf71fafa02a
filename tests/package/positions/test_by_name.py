"""All schemes by their names: what each of them promises, and what is refused."""

import copy
import math
from typing import Any

import pytest
import torch
from torch import nn

import d2lmini as d2l
from d2lmini.positions.biases import T5PositionBias
from tests.package.positions.shared import NAMES, drawn, scheme
from tests.package.refusals import Row, assert_refused, refused


@pytest.mark.parametrize(
    ("name", "added", "inside"),
    [
        ("none", nn.Identity, type(None)),
        ("sinusoidal", d2l.PositionalEncoding, type(None)),
        ("learned", d2l.LearnedPositionalEncoding, type(None)),
        ("rotary", nn.Identity, d2l.RotaryEmbedding),
        ("alibi", nn.Identity, d2l.ALiBi),
        ("relative", nn.Identity, d2l.RelativePositionBias),
        ("relative-keys", nn.Identity, d2l.RelativePositionKeys),
        ("t5", nn.Identity, T5PositionBias),
    ],
)
def test_schemes_by_name(name: str, added: type, inside: type) -> None:
    on_tokens, in_attention = d2l.make_positions(name, 12, 3, max_len=7)
    assert type(on_tokens) is added and type(in_attention) is inside
    mha, X = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=in_attention), torch.randn(2, 7, 12)
    Y = on_tokens(X)
    assert mha(Y, Y, Y, mask=d2l.causal_mask(7)).shape == (2, 7, 12)
    if hasattr(on_tokens, "P"):
        assert on_tokens.P.shape == (1, 7, 12) and on_tokens.dropout.p == 0


@pytest.mark.parametrize("typo", ["Rotary", "rope", "", None])
def test_a_typo_lists_what_there_is(typo: Any) -> None:
    with pytest.raises(ValueError, match=r"positions must be one of (('[\w-]+'), )+got " + repr(typo)) as refused:
        d2l.make_positions(typo, 8, 2)
    for name in ("none", "sinusoidal", "learned", *NAMES):
        assert repr(name) in str(refused.value)


def test_sizes_of_schemes_are_checked() -> None:
    make = d2l.make_positions
    assert_refused((make, "num_hiddens", {"num_heads=3": ("none", 8, 3), "0": ("none", 0, 2), "=6": ("rotary", 6, 2)}))
    assert_refused((make, "num_heads", {"0": ("none", 8, 0)}))
    assert_refused((lambda n: make("rotary", 8, 2, max_len=n), "max_len", {"-3": (-3,)}))
    assert_refused((lambda flag: make("t5", 8, 2, bidirectional=flag), "bidirectional", {"'no'": ("no",)}))


def test_what_is_made_by_default() -> None:
    made = d2l.make_positions("learned", 4, 1)[0], d2l.LearnedPositionalEncoding(4, 0.0), d2l.PositionalEncoding(4, 0)
    assert [table.P.shape for table in made] == [(1, 1000, 4)] * 3
    torch.manual_seed(0)
    P = d2l.LearnedPositionalEncoding(50, 0.0).P
    assert abs(P.mean()) < 0.02 and abs(P.std() - 1) < 0.02 and P.min() < -3
    assert d2l.make_positions("t5", 8, 2)[1].bidirectional  # type: ignore[union-attr]


SOME, BASES = torch.zeros(2, 4), {repr(n): (n,) for n in (0, math.inf, math.nan, 0.5, "x")}
WIDE = torch.zeros(1, 1, 2, 6)
WRONG: list[Row] = [
    (d2l.apply_rotary, "X", {"list": ([1.0],), "(4,)": (SOME[0],), "int64": (SOME.long(),)}),
    (d2l.apply_rotary, "size", {"5": (torch.zeros(2, 5),), "0": (torch.zeros(2, 0),)}),
    (d2l.apply_rotary, "start", {repr(n): (SOME, n) for n in (-1, 2**53)}),
    (lambda base: d2l.apply_rotary(SOME, base=base), "base", BASES),
    (d2l.RotaryEmbedding, "base", BASES),
    (lambda pairing: d2l.RotaryEmbedding(pairing=pairing), "pairing", {"'half'": ("half",)}),
    (d2l.RotaryEmbedding(), "queries", {"list": ([1], [2]), "(1, 4, 12)": (drawn(1, 4, 12), drawn(1, 4, 12))}),
    (d2l.RotaryEmbedding(), "keys", {"head_size=4": (WIDE[..., :4], WIDE[..., :6])}),
    (d2l.RotaryEmbedding(), "queries", {"got 3": (WIDE[..., :3], WIDE[..., :3])}),
    (d2l.ALiBi(2), "keys", {"(5, 2, 3, 4)": (drawn(1, 2, 3, 4), drawn(5, 2, 3, 4))}),
    *[(make, "num_heads", {"0": (0,)}) for make in (d2l.alibi_slopes, d2l.ALiBi, d2l.RelativePositionBias)],
    (T5PositionBias, "num_heads", {"0": (0,)}),
    (d2l.RelativePositionKeys, "head_size", {"0": (0,)}),
    *[(make, "max_distance", {"0": (4, 0)}) for make in (d2l.RelativePositionBias, d2l.RelativePositionKeys)],
    (T5PositionBias, "num_buckets", {"30": (2, 30), "8": (2, 32, 8)}),
    (lambda n: T5PositionBias(2, n, bidirectional=False), "num_buckets", {"31": (31,)}),
    (d2l.t5_buckets, "offsets", {"float32": (SOME,), "int": (3,), "bool": (SOME > 0,), "complex64": (SOME * 1j,)}),
    (lambda n: d2l.t5_buckets(torch.tensor(1), num_buckets=n), "num_buckets", {"0": (0,)}),
    (lambda n: d2l.t5_buckets(torch.tensor(1), max_distance=n), "max_distance", {"9.5": (9.5,)}),
    (d2l.relative_offsets, "num_queries", {"=5": (5, 4), "2.5 and 3": (2.5, 3), "True": (True,), "=-1": (-1, 4)}),
]


test_what_is_not_allowed_is_named = refused(WRONG)


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
def test_schemes_stay_on_the_device_of_their_inputs(name: str) -> None:
    layer = d2l.make_positions(name, 8, 2)[1].to("meta")  # type: ignore[union-attr]
    queries, keys, bias = layer(torch.zeros(1, 2, 3, 4, device="meta"), torch.zeros(1, 2, 5, 4, device="meta"))
    assert queries.device.type == keys.device.type == "meta"
    if bias is not None:
        assert bias.device.type == "meta" and tuple(bias.shape[-2:]) == (3, 5) and bias.shape[-3] in (1, 2)


def test_schemes_at_their_beginning() -> None:
    assert T5PositionBias(2).table.shape == (2, 32) and not T5PositionBias(2).table.any()
    assert d2l.RelativePositionBias(2).table.shape == (2, 17) and d2l.RelativePositionKeys(4).vectors.shape == (17, 4)
    assert d2l.RelativePositionKeys(4).vectors.any()


@pytest.mark.parametrize(
    ("scheme", "shown"),
    [
        (d2l.RotaryEmbedding(500), "RotaryEmbedding(base=500, pairing='adjacent')"),
        (d2l.ALiBi(3), "ALiBi(num_heads=3)"),
        (d2l.RelativePositionBias(3), "RelativePositionBias(num_heads=3, max_distance=8)"),
        (d2l.RelativePositionKeys(3), "RelativePositionKeys(head_size=3, max_distance=8)"),
        (T5PositionBias(3), "T5PositionBias(num_heads=3, num_buckets=32, max_distance=128, bidirectional=True)"),
    ],
)
def test_schemes_show_their_settings(scheme: Any, shown: str) -> None:
    assert repr(scheme) == shown


@pytest.mark.thorough
@pytest.mark.no_cover  # noting each line makes what records a graph half as slow again
def test_one_compiled_graph_serves_all_lengths_also_in_training() -> None:
    torch.manual_seed(0)
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=d2l.RelativePositionBias(3))
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(mha, backend="aot_eager", fullgraph=True, dynamic=True)
    for steps in (5, 9):
        X = torch.randn(2, steps, 12)
        torch.testing.assert_close(compiled(X, X, X), mha(X, X, X))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
