"""Rotary positions: pairs are turned, and scores depend on the offset only."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

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


@pytest.mark.parametrize("settings", [{"base": 100.0}, {"pairing": "halves"}, {}])
def test_the_module_turns_with_its_own_settings(settings: dict[str, Any]) -> None:
    Q, K = drawn(1, 2, 3, 8), drawn(1, 2, 5, 8)
    queries, keys, bias = d2l.RotaryEmbedding(**settings)(Q, K)
    settings = {"base": 10000.0, "pairing": "adjacent", **settings}
    assert torch.equal(queries, d2l.apply_rotary(Q, 2, **settings)) and bias is None
    assert torch.equal(keys, d2l.apply_rotary(K, **settings))
