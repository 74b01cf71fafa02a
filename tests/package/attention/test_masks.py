"""Masks: who may attend to what, here and in PyTorch."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lmini as d2l


def test_valid_lens_mask() -> None:
    assert d2l.valid_lens_mask(torch.tensor([0, 2]), 3).tolist() == [[[False] * 3], [[True, True, False]]]
    per_query = d2l.valid_lens_mask(torch.tensor([[1, 3]]), 3)
    assert per_query.tolist() == [[[True, False, False], [True, True, True]]]
    assert d2l.valid_lens_mask(torch.tensor([], dtype=torch.long), 3).shape == (0, 1, 3)


@given(st.integers(0, 6), st.integers(0, 6))
def test_causal_mask(num_queries: int, more_keys: int) -> None:
    num_keys = num_queries + more_keys
    mask = d2l.causal_mask(num_queries, num_keys)
    assert mask.shape == (num_queries, num_keys) and mask.dtype == torch.bool
    assert mask.sum(1).tolist() == list(range(more_keys + 1, num_keys + 1))
    assert (mask[:, 1:] <= mask[:, :-1]).all()  # no gap: the keys seen are the first ones
    if more_keys == 0:
        assert torch.equal(mask, d2l.causal_mask(num_queries))


@settings(max_examples=40)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.sampled_from([2, 3, 4]))
def test_mha_masks_mean_the_same_to_mha(batch: int, num_heads: int, num_queries: int, num_keys: int, dim: int) -> None:
    rng = torch.Generator().manual_seed(batch + 10 * num_heads + 100 * num_queries + 1000 * num_keys)
    leading = {2: (), 3: (batch,), 4: (batch, num_heads)}[dim]
    mask = torch.rand(*leading, num_queries, num_keys, generator=rng) < 0.5
    mask[..., 0] = True  # nn.MultiheadAttention returns NaN for a query without keys
    mha = torch.nn.MultiheadAttention(num_heads * 2, num_heads, batch_first=True)
    queries, keys = torch.randn(batch, num_queries, num_heads * 2), torch.randn(batch, num_keys, num_heads * 2)
    _, weights = mha(queries, keys, keys, attn_mask=d2l.to_mha_mask(mask, num_heads), average_attn_weights=False)
    per_head = mask[:, None] if dim == 3 else mask
    assert torch.equal(weights > 0, per_head.expand_as(weights))
    back = d2l.from_mha_mask(d2l.to_mha_mask(mask, num_heads), num_heads)
    assert torch.equal(back, per_head.expand_as(back))


def test_from_mha_mask_reads_additive_masks() -> None:
    attn_mask = torch.nn.Transformer.generate_square_subsequent_mask(4)  # 0 and -inf
    assert torch.equal(d2l.from_mha_mask(attn_mask, 2), d2l.causal_mask(4))
