"""Causal attention: the same as with a mask, everywhere, and no mask where the kernel can do without."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini.positions.by_name import IN_ATTENTION
from tests.package.positions.shared import drawn, scheme

LAYERS = ["dot products", "additive", "heads", "grouped", "additive in heads", *IN_ATTENTION]


def layer(name: str) -> Any:
    torch.manual_seed(0)
    if name == "dot products":
        return d2l.DotProductAttention(0.0)
    if name == "additive":
        return d2l.AdditiveAttention(12, 12, 5, 0.0).double()
    positions = scheme(name) if name in IN_ATTENTION else None
    groups = 1 if name == "grouped" else None
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, True, positions=positions, num_kv_heads=groups).double()
    if name == "additive in heads":
        mha.pooling = d2l.AdditiveAttention(4, 4, 5, 0.0).double()  # type: ignore[assignment]
    return mha


def assert_same(found: Any, expected: Any, inputs: list[Tensor]) -> None:
    torch.testing.assert_close(found, expected)
    first = (result[0] if isinstance(result, tuple) else result for result in (found, expected))
    grads = [torch.autograd.grad(result.square().sum(), inputs) for result in first]
    torch.testing.assert_close(*grads)


@given(st.sampled_from(LAYERS), st.sampled_from([5, 7]), st.booleans())
@settings(max_examples=40)
def test_it_is_the_causal_mask(name: str, num_keys: int, need_weights: bool) -> None:
    pooling = layer(name)
    Q, K, V = drawn(2, 5, 12).requires_grad_(), drawn(2, num_keys, 12).requires_grad_(), drawn(2, num_keys, 12)
    mask, lens = torch.rand(5, num_keys) > 0.4, torch.tensor([num_keys, 2])
    triangle = d2l.causal_mask(5, num_keys)
    for restriction, and_mask in (({}, triangle), ({"valid_lens": lens}, triangle), ({"mask": mask}, mask & triangle)):
        found = pooling(Q, K, V, **restriction, causal=True, need_weights=need_weights)
        expected = pooling(Q, K, V, **{**restriction, "mask": and_mask}, need_weights=need_weights)
        assert_same(found, expected, [Q, K])


@pytest.mark.parametrize("kind", ["self-attention", "encoder block", "encoder"])
def test_whoever_attends_to_itself_says_it_too(kind: str) -> None:
    torch.manual_seed(0)
    X, lens = drawn(2, 5, 12), torch.tensor([5, 3])
    module: Any = {
        "self-attention": lambda: d2l.SelfAttention(12),
        "encoder block": lambda: d2l.TransformerEncoderBlock(12, 20, 3, 0.0),
        "encoder": lambda: d2l.TransformerEncoder(7, 12, 20, 3, 2, 0.0),
    }[kind]().double()
    tokens = torch.randint(7, (2, 5)) if kind == "encoder" else X
    for lengths in (None, lens):
        expected = module(tokens, lengths, mask=d2l.causal_mask(5))
        torch.testing.assert_close(module(tokens, lengths, causal=True), expected)


@pytest.mark.parametrize("name", ["dot products", "heads", "grouped", "rotary"])
def test_the_kernel_needs_no_mask(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does anything else grow with the square of the length."""
    pooling, kernel, largest = layer(name), F.scaled_dot_product_attention, []
    asked: list[Any] = []

    def spy(*args: Any, attn_mask: Tensor | None, is_causal: bool, **kwargs: Any) -> Tensor:
        asked.append((attn_mask, is_causal))
        return kernel(*args, attn_mask=attn_mask, is_causal=is_causal, **kwargs)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    for n in (800, 1600):
        X = drawn(1, n, 12)
        with torch.profiler.profile(profile_memory=True) as profile:
            pooling(X, X, X, causal=True)
        largest.append(max(event.self_cpu_memory_usage for event in profile.events()))
    assert largest[1] < 3 * largest[0]
    pooling(X[:, -1:], X, X, causal=True)  # the last query sees all keys
    assert asked == [(None, True), (None, True), (None, False)]


@pytest.mark.parametrize("name", ["dot products", "additive", "heads"])
def test_what_cannot_be_causal_is_refused(name: str) -> None:
    pooling, X = layer(name), drawn(1, 4, 12)
    with pytest.raises(ValueError, match="causal=True needs at least as many keys as queries, got 4 queries and 3"):
        pooling(X, X[:, :3], X[:, :3], causal=True)
    for wrong in (d2l.causal_mask(4), None, 1):
        with pytest.raises(ValueError, match="causal must be True or False, got"):
            pooling(X, X, X, causal=wrong)


def test_without_any_token_it_stays_empty() -> None:
    X = torch.randn(2, 0, 12)
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0)
    assert mha(X, X, X, causal=True).shape == (2, 0, 12)
    output, weights = mha(X, X, X, causal=True, need_weights=True)
    assert output.shape == (2, 0, 12) and weights.shape == (2, 3, 0, 0)
