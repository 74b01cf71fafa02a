"""Rotary positions: pairs are turned, and scores depend on the offset only."""

from typing import Any

import pytest
import torch

import d2lmini as d2l
from tests.package.positions.shared import DOUBLE, PAIRINGS, drawn


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


def test_rotary_keeps_position_0_and_its_argument() -> None:
    X = drawn(2, 4, 6)
    before = X.clone()
    turned = d2l.apply_rotary(X)
    assert torch.equal(X, before) and torch.equal(turned[:, 0], X[:, 0])


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
