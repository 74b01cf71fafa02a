"""Biases that are not copied, lengths in floating point, and queries without keys."""

import math
from typing import Any

import pytest
import torch

import d2lmini as d2l


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
