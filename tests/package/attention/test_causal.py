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


@given(st.sampled_from(LAYERS), st.sampled_from([1, 2, 5]), st.sampled_from([0, 1, 2]), st.booleans())
@settings(max_examples=60)
def test_it_is_the_causal_mask(name: str, n: int, more: int, need_weights: bool) -> None:
    pooling, num_keys = layer(name), n + more
    Q, K, V = drawn(2, n, 12).requires_grad_(), drawn(2, num_keys, 12).requires_grad_(), drawn(2, num_keys, 12)
    mask, lens = torch.rand(n, num_keys) > 0.4, torch.tensor([num_keys, 1])
    triangle = d2l.causal_mask(n, num_keys)
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
