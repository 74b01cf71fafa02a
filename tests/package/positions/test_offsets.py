"""Numbers by offset as numbers by pair: the same when run, when compiled, and where there is nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import d2lmini as d2l
from d2lmini.positions.offsets import list_offsets, spread
from tests.package.positions.shared import DOUBLE


@given(st.integers(0, 5), st.integers(0, 5), st.sampled_from([(), (3,), (2, 3)]))
def test_each_pair_gets_the_number_of_its_offset(num_queries: int, more: int, leading: tuple[int, ...]) -> None:
    queries, keys = torch.zeros(num_queries, 1), torch.zeros(num_queries + more, 1)
    offsets = list_offsets(queries, keys)
    pairs = d2l.relative_offsets(num_queries, num_queries + more)
    numbers = torch.randn(*leading, max(2 * num_queries + more - 1, 0))
    expected = numbers[..., pairs + num_queries + more - 1]  # the first offset is that of the first key
    assert torch.equal(spread(numbers, queries, keys), expected)
    if num_queries:
        assert offsets.tolist() == list(range(1 - num_queries - more, num_queries))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.compiler, "is_compiling", lambda: True)
            assert torch.equal(spread(numbers, queries, keys), expected)


def test_offsets_are_those_of_a_square_by_default_and_stay_on_their_device() -> None:
    assert d2l.relative_offsets(2).tolist() == [[0, 1], [-1, 0]]
    assert d2l.relative_offsets(2, 3).tolist() == [[-1, 0, 1], [-2, -1, 0]]
    assert d2l.relative_offsets(2, 3, device=torch.device("meta")).is_meta


@pytest.mark.parametrize("kind", [d2l.PositionalEncoding, d2l.LearnedPositionalEncoding])
def test_each_example_may_begin_elsewhere_on_the_meta_device_too(kind: type) -> None:
    X, offset = torch.zeros(2, 3, 4, device="meta"), torch.tensor([0, 1], device="meta")
    assert kind(4, 0.0, 9, device="meta")(X, offset).is_meta


def test_a_table_that_somebody_changed_moves_as_it_is() -> None:
    encoding = d2l.PositionalEncoding(4, 0.0, 9)
    encoding.P.fill_(3.0)
    assert (encoding.to(DOUBLE).P == 3).all() and encoding.P.dtype == DOUBLE


def test_slopes_have_the_precision_of_the_keys() -> None:
    X = torch.zeros(1, 3, 2, 4, dtype=DOUBLE)
    bias = d2l.ALiBi(3)(X, X)[2]
    assert bias.dtype == DOUBLE
    torch.testing.assert_close(bias[:, 0, 1], -torch.tensor([2**-4, 2**-8, 2**-2], dtype=DOUBLE), atol=0, rtol=0)
    twelve = d2l.ALiBi(12)(*[torch.zeros(1, 12, 2, 4, dtype=DOUBLE)] * 2)[2]
    torch.testing.assert_close(twelve[8, 0, 1].item(), -(2**-0.5), atol=1e-15, rtol=0)
    assert d2l.alibi_slopes(3).dtype == torch.get_default_dtype()
