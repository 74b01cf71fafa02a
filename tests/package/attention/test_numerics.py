"""Half precision, autocast and the fused kernels: both paths agree."""

import copy
from typing import Any

import pytest
import torch

import d2lmini as d2l


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


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("autocast", [False, True])
def test_scores_beyond_65504_do_not_overflow_on_either_path(autocast: bool, dtype: torch.dtype) -> None:
    Q, K, V = torch.full((1, 1, 64), 200.0), torch.tensor([[[200.0] * 64, [100.0] * 64]]), torch.tensor([[[1.0], [2]]])
    inputs, attention = [part if autocast else part.to(dtype) for part in (Q, K, V)], d2l.DotProductAttention(0.0)
    with torch.autocast("cpu", dtype=dtype, enabled=autocast):
        output, weights = attention(*inputs, need_weights=True)
        fused = attention(*inputs)
    assert weights.tolist() == [[[1, 0]]] and output.item() == fused.item() == 1
    assert output.dtype == fused.dtype == dtype


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("bias", [{}, {"bias": torch.zeros(6, 6)}])
@pytest.mark.parametrize("restriction", [{}, {"causal": True}, {"valid_lens": torch.tensor([4, 6])}])
def test_weights_are_dropped_whatever_restricts_them(restriction: Any, bias: Any, need_weights: bool) -> None:
    """Half of the weights of equal scores, and the others count twice: on average nothing changes."""
    torch.manual_seed(0)
    pooling, Q, V = d2l.DotProductAttention(0.5), torch.zeros(2, 6, 4), torch.ones(2, 6, 1)
    draws = [pooling(Q, Q, V, **restriction, **bias, need_weights=need_weights) for _ in range(150)]
    found = torch.stack([draw[0] if need_weights else draw for draw in draws])  # (draws, batch, queries, 1)
    assert (found.std(0) > 0.2).all() and (found.mean(0) - 1).abs().max() < 0.4
    result = pooling.eval()(Q, Q, V, **restriction, **bias)
    torch.testing.assert_close(result, torch.ones(2, 6, 1))
