"""What came into attention and was made one thing: biases that add up with masks."""

import math
from typing import Any

import pytest
import torch

import d2lmini as d2l
from tests.package.positions.shared import DOUBLE


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
    mha.pooling = pooling
    assert mha(X, X, X).shape == (1, 3, 8)


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


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_may_hold_anything_where_nobody_may_look(need_weights: bool, junk: float) -> None:
    X, bias = torch.randn(1, 3, 4, requires_grad=True), torch.zeros(3, 3)
    bias[1], bias[0, 2] = junk, junk
    bias.requires_grad_()
    lens = torch.tensor([[2, 0, 3]])
    got = d2l.DotProductAttention(0.0)(X, X, X, lens, bias=bias, need_weights=need_weights)
    got = got[0] if need_weights else got
    assert got.isfinite().all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(got.square().sum(), [X, bias]))


def test_a_bias_that_leaves_each_query_a_key_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minus infinity or not: a copy of n x n numbers costs more than attention itself."""
    kernel, given = torch.nn.functional.scaled_dot_product_attention, []

    def spy(*args: Any, attn_mask: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        given.append(attn_mask.data_ptr())
        return kernel(*args, attn_mask=attn_mask, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    X, bias = torch.randn(1, 4, 4), torch.randn(4, 4)
    d2l.DotProductAttention(0.0)(X, X, X, bias=bias)
    bias[1, 2] = bias[2, 1] = bias[3, 3] = -math.inf
    found = d2l.DotProductAttention(0.0)(X, X, X, bias=bias)
    assert given == [bias.data_ptr()] * 2
    torch.testing.assert_close(found, d2l.DotProductAttention(0.0)(X, X, X, bias=bias, need_weights=True)[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_lengths_may_be_whole_numbers_in_floating_point(dtype: torch.dtype) -> None:
    """As in D2L's data for BERT; in half precision too, which does not know all positions."""
    X = torch.randn(2, 2100, 1)
    found = d2l.DotProductAttention(0.0)(X, X, X, torch.tensor([2048, 1], dtype=dtype))
    torch.testing.assert_close(found, d2l.DotProductAttention(0.0)(X, X, X, torch.tensor([2048, 1])))
    with pytest.raises(ValueError, match=r"valid_lens .*nan"):
        d2l.DotProductAttention(0.0)(X, X, X, torch.tensor([math.nan, 1], dtype=dtype))


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_mask_and_a_bias_may_hide_all_keys_together(need_weights: bool) -> None:
    """Neither alone does, and the first query and the first key do not show it."""
    X, bias, mask = torch.randn(1, 3, 4, requires_grad=True), torch.zeros(3, 3), torch.ones(3, 3, dtype=torch.bool)
    mask[1, 0], bias[1, 1:] = False, -math.inf
    found = d2l.DotProductAttention(0.0)(X, X, X, mask=mask, bias=bias, need_weights=need_weights)
    found = found[0] if need_weights else found
    assert not found[0, 1].any() and found[0, 0].all()
    assert torch.autograd.grad(found.square().sum(), X)[0].isfinite().all()


@pytest.mark.parametrize("num_keys", [2, 3])
@pytest.mark.parametrize("restriction", [{"valid_lens": torch.tensor([2])}, {"bias": torch.zeros(1)}, {}])
def test_two_queries_are_enough_to_hide_a_key(num_keys: int, restriction: dict[str, Any]) -> None:
    Q, K = torch.randn(1, 2, 4), torch.randn(1, num_keys, 4)
    weights = d2l.DotProductAttention(0.0)(Q, K, K, **restriction, causal=True, need_weights=True)[1]
    assert not weights[0, 0, num_keys - 1].any() and weights[0, 0, : num_keys - 1].all()


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("mask", [None, torch.ones(1, 1, dtype=torch.bool), torch.ones(3, 1, dtype=torch.bool)])
def test_without_keys_a_query_sees_nothing_whatever_a_mask_says(mask: Any, device: str) -> None:
    Q, K, V = (torch.ones(2, steps, 4, device=device) for steps in (3, 0, 0))
    mha = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0.0, bias=True, device=device)
    mask = mask if mask is None else mask.to(device)
    for layer in (d2l.DotProductAttention(0.0), mha):
        for need_weights in (False, True):
            found = layer(Q, K, V, mask=mask, need_weights=need_weights)
            found = found[0] if need_weights else found
            assert found.shape == (2, 3, 4) and (device == "meta" or not found.any())
    scores = torch.zeros(2, 3, 0, device=device)
    assert d2l.masked_softmax(scores, mask=mask).shape == (2, 3, 0)
