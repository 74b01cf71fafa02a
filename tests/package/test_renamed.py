"""Older names work, and warn."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import d2lmini as d2l

X, MHA = torch.randn(1, 3, 4), d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0.0)
BLOCK = d2l.TransformerDecoderBlock(4, 8, 2, 0.0)
PAIR, ENCODING = MHA.keys_and_values(X, X), d2l.PositionalEncoding(4, 0.0)
STATE = d2l.DecoderOnlyTransformer(5, 4, 8, 2, 1, 0.0).start()._replace(cache=(PAIR,))
OLDER: dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor]]] = {
    "kept": (lambda: MHA(X, kept=PAIR), lambda: MHA(X, cache=PAIR)),
    "past": (lambda: BLOCK(X, PAIR, past=PAIR)[0], lambda: BLOCK(X, PAIR, cache=PAIR)[0]),
    "offset": (lambda: d2l.apply_rotary(X, offset=7), lambda: d2l.apply_rotary(X, start=7)),
    "offset of an encoding": (lambda: ENCODING(X, offset=7), lambda: ENCODING(X, start=7)),
    "past of a state": (lambda: STATE.past[0][0], lambda: STATE.cache[0][0]),
}


def test_what_pools_is_not_kept_under_a_name_that_nobody_runs() -> None:
    with pytest.raises(AttributeError, match="is called pooling"):
        MHA.attention = d2l.AdditiveAttention(2, 2, 5, 0.0)


@pytest.mark.parametrize("name", OLDER)
def test_an_older_name_gives_the_same_and_warns(name: str) -> None:
    older, newer = OLDER[name]
    with pytest.warns(UserWarning, match=f"{name.split(maxsplit=1)[0]} is called"):
        found = older()
    assert torch.equal(found, newer())


def test_another_keyword_is_none() -> None:
    with pytest.raises(TypeError, match="keep"):
        MHA(X, keep=PAIR)
