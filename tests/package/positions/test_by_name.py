"""All schemes by their names: what each of them promises, and what is refused."""

import math
from typing import Any

import torch
from torch import nn

import d2lmini as d2l
from d2lmini.positions.biases import T5PositionBias
from tests.package.positions.shared import drawn, scheme
from tests.package.refusals import Row, refused

KINDS = {
    "none": (nn.Identity, type(None)),
    "sinusoidal": (d2l.PositionalEncoding, type(None)),
    "learned": (d2l.LearnedPositionalEncoding, type(None)),
    "rotary": (nn.Identity, d2l.RotaryEmbedding),
    "alibi": (nn.Identity, d2l.ALiBi),
    "relative": (nn.Identity, d2l.RelativePositionBias),
    "relative-keys": (nn.Identity, d2l.RelativePositionKeys),
    "t5": (nn.Identity, T5PositionBias),
}


def test_schemes_by_name() -> None:
    for name, kinds in KINDS.items():
        made = d2l.make_positions(name, 12, 3, max_len=7)
        assert tuple(map(type, made)) == kinds
        assert not hasattr(made[0], "P") or (made[0].P.shape == (1, 7, 12) and made[0].dropout.p == 0)


def test_what_is_made_by_default() -> None:
    made = d2l.make_positions("learned", 4, 1)[0], d2l.LearnedPositionalEncoding(4, 0.0), d2l.PositionalEncoding(4, 0)
    assert [table.P.shape for table in made] == [(1, 1000, 4)] * 3
    torch.manual_seed(0)
    P = d2l.LearnedPositionalEncoding(50, 0.0).P
    assert abs(P.mean()) < 0.02 and abs(P.std() - 1) < 0.02 and P.min() < -3
    assert T5PositionBias(2).table.shape == (2, 32) and not T5PositionBias(2).table.any()
    assert T5PositionBias(2).bidirectional and d2l.RelativePositionBias(2).table.shape == (2, 17)
    assert d2l.RelativePositionKeys(4).vectors.shape == (17, 4) and d2l.RelativePositionKeys(4).vectors.any()


def use_elsewhere(name: str) -> None:
    """Heads of another number and size than those that the scheme was made for."""
    d2l.MultiHeadAttention(12, 12, 12, 12, 2, 0.0, positions=scheme(name)).double()(*[drawn(1, 4, 12)] * 3)


SOME, WIDE = torch.zeros(2, 4), torch.zeros(1, 1, 2, 6)
WRONG: list[Row] = [
    (d2l.make_positions, "positions", {"'rope'": ("rope", 8, 2), "None": (None, 8, 2)}),
    (d2l.make_positions, "num_hiddens", {"num_heads=3": ("none", 8, 3), "=6": ("rotary", 6, 2)}),
    (lambda n: d2l.make_positions("rotary", 8, 2, max_len=n), "max_len", {"-3": (-3,)}),
    (lambda flag: d2l.make_positions("t5", 8, 2, bidirectional=flag), "bidirectional", {"'no'": ("no",)}),
    (d2l.apply_rotary, "X", {"(4,)": (SOME[0],)}),
    (d2l.apply_rotary, "size", {"5": (torch.zeros(2, 5),)}),
    (d2l.apply_rotary, "start", {"-1": (SOME, -1)}),
    (lambda base: d2l.apply_rotary(SOME, base=base), "base", {repr(n): (n,) for n in (math.inf, math.nan, 0.5, "x")}),
    (d2l.RotaryEmbedding, "base", {"0": (0,)}),
    (lambda pairing: d2l.RotaryEmbedding(pairing=pairing), "pairing", {"'half'": ("half",)}),
    (d2l.RotaryEmbedding(), "queries", {"(1, 4, 12)": (drawn(1, 4, 12),) * 2, "got 3": (WIDE[..., :3],) * 2}),
    (d2l.RotaryEmbedding(), "keys", {"head_size=4": (WIDE[..., :4], WIDE)}),
    *[(make, "num_heads", {"0": (0,)}) for make in (d2l.alibi_slopes, d2l.ALiBi, d2l.RelativePositionBias)],
    (T5PositionBias, "num_heads", {"0": (0,)}),
    (d2l.RelativePositionKeys, "head_size", {"0": (0,)}),
    *[(make, "max_distance", {"0": (4, 0)}) for make in (d2l.RelativePositionBias, d2l.RelativePositionKeys)],
    (T5PositionBias, "num_buckets", {"30": (2, 30), "8": (2, 32, 8)}),
    (lambda n: T5PositionBias(2, n, bidirectional=False), "num_buckets", {"31": (31,)}),
    (d2l.t5_buckets, "offsets", {"float32": (SOME,)}),
    (lambda n: d2l.t5_buckets(torch.tensor(1), num_buckets=n), "num_buckets", {"0": (0,)}),
    (lambda n: d2l.t5_buckets(torch.tensor(1), max_distance=n), "max_distance", {"9.5": (9.5,)}),
    (d2l.relative_offsets, "num_queries", {"=5": (5, 4), "2.5 and 3": (2.5, 3)}),
    *[(use_elsewhere, "queries", {"num_heads=3": (name,)}) for name in ("alibi", "relative", "t5")],
    (use_elsewhere, "queries", {"head_size=4": ("relative-keys",)}),
]


test_what_is_not_allowed_is_named = refused(WRONG)


def test_schemes_show_the_call_that_makes_them() -> None:
    settings: dict[type, list[Any]] = {
        d2l.RotaryEmbedding: [500],
        d2l.ALiBi: [3],
        d2l.RelativePositionBias: [3, 9],
        d2l.RelativePositionKeys: [3, 9],
        T5PositionBias: [3, 64],
    }
    for kind, given in settings.items():
        made = kind(*given)
        again = eval(repr(made), {kind.__name__: kind})
        assert repr(again) == repr(made) != repr(kind(*given[:-1], 4)) and "=" in repr(made)
