"""Grouped queries: fewer heads of keys and values than of queries."""

import itertools
from typing import Any

import pytest
import torch

import d2lmini as d2l
from d2lmini.positions.by_name import IN_ATTENTION
from tests.package.positions.shared import drawn, scheme


def grouped(num_kv_heads: int | None, name: str | None = None) -> d2l.MultiHeadAttention:
    torch.manual_seed(0)
    positions = scheme(name, 16, 4) if name else None
    sizes: Any = (6, 5, 7, 16, 4, 0.0, True)
    return d2l.MultiHeadAttention(*sizes, positions=positions, num_kv_heads=num_kv_heads).double()


def repeat_rows(parameter: torch.Tensor, times: int) -> torch.Tensor:
    """The parameter of all heads, from that of those which several heads share."""
    return parameter.unflatten(0, (-1, 4)).repeat_interleave(times, dim=0).flatten(0, 1)


@pytest.mark.parametrize(("num_kv_heads", "name"), list(itertools.product([1, 2, 4], [None, *IN_ATTENTION])))
def test_it_is_attention_whose_heads_share_weights(num_kv_heads: int, name: str | None) -> None:
    """Neighbours share, and kept keys and values are those that are passed."""
    ours, full = grouped(num_kv_heads, name), grouped(None, name)
    shared = {key: value for key, value in ours.state_dict().items() if key.startswith(("W_k", "W_v"))}
    repeated = {key: repeat_rows(value, 4 // num_kv_heads) for key, value in shared.items()}
    full.load_state_dict(ours.state_dict() | repeated)
    Q, K, V, lens = drawn(2, 3, 5), drawn(2, 8, 6), drawn(2, 8, 7), torch.tensor([8, 0])
    mask = torch.rand(2, 4, 3, 8) > 0.3
    cache = ours.keys_and_values(K, V)
    assert cache[0].shape == cache[1].shape == (2, num_kv_heads, 8, 4)
    restrictions: list[dict[str, Any]] = [{}, {"causal": True}, {"valid_lens": lens}, {"mask": mask}]
    for restriction in restrictions:
        expected = full(Q, K, V, **restriction, need_weights=True)
        for given in ({"keys": K, "values": V}, {"cache": cache}):
            torch.testing.assert_close(ours(Q, **given, **restriction, need_weights=True), expected)
            torch.testing.assert_close(ours(Q, **given, **restriction), expected[0])
    output, weights = ours(Q, cache=cache, valid_lens=lens, need_weights=True)
    assert not output[1].any() and not weights[1].any()  # who sees nothing gets nothing
