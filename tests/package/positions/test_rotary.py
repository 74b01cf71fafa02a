"""Rotary positions: pairs are turned, and scores depend on the offset only."""

from typing import Any

import pytest
import torch

import d2lmini as d2l
from tests.package.positions.shared import DOUBLE, PAIRINGS, drawn


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("start", [0, 7])
def test_rotary_is_a_rotation_of_each_pair(start: int, pairing: str) -> None:
    """As complex numbers: x + iy is multiplied by exp(i position omega)."""
    torch.manual_seed(0)
    X = drawn(2, 3, 5, 8)
    got = d2l.apply_rotary(X, start, base=100.0, pairing=pairing)
    omega = 100.0 ** (-torch.arange(0, 8, 2, dtype=DOUBLE) / 8)
    turns = torch.exp(1j * torch.arange(start, start + 5, dtype=DOUBLE)[:, None] * omega)
    before, after = (
        torch.complex(*((T[..., ::2], T[..., 1::2]) if pairing == "adjacent" else T.chunk(2, -1))) for T in (X, got)
    )
    torch.testing.assert_close(after, before * turns)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_turned_in_float32(dtype: torch.dtype) -> None:
    X = torch.randn(1, 3, 8).to(dtype)
    turned = d2l.apply_rotary(X, 50_000)
    assert turned.dtype == dtype
    assert torch.equal(turned, d2l.apply_rotary(X.float(), 50_000).to(dtype))


@pytest.mark.parametrize("settings", [{"base": 100.0}, {"pairing": "halves"}, {}])
def test_the_module_turns_with_its_own_settings(settings: dict[str, Any]) -> None:
    Q, K = drawn(1, 2, 3, 8), drawn(1, 2, 5, 8)
    queries, keys, bias = d2l.RotaryEmbedding(**settings)(Q, K)
    settings = {"base": 10000.0, "pairing": "adjacent", **settings}
    assert torch.equal(queries, d2l.apply_rotary(Q, 2, **settings)) and bias is None
    assert torch.equal(keys, d2l.apply_rotary(K, **settings))
    assert torch.equal(d2l.apply_rotary(K), d2l.apply_rotary(K, base=10000.0, pairing="adjacent"))
