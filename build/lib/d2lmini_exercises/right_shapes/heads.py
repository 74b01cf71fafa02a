"""A test of how heads are split and joined, judged by mutants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import checker
from d2lmini_exercises.right_shapes.judging import Note, Subject, disguise, judge

Split = Callable[[Tensor, int], Tensor]
Join = Callable[[Tensor], Tensor]


def _split(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(2, (num_heads, -1)).transpose(1, 2)


def _join(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


def _split_by_reshape(X: Tensor, num_heads: int) -> Tensor:
    b, n, _ = X.shape
    return X.reshape(b, num_heads, n, -1)


def _join_by_reshape(heads: Tensor) -> Tensor:
    b, _, n, _ = heads.shape
    return heads.reshape(b, n, -1)


def _split_interleaved(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2)


def _mix_examples(X: Tensor, num_heads: int) -> Tensor:
    b, n, _ = X.shape
    return X.reshape(b, n, num_heads, -1).transpose(1, 2).reshape(num_heads, b, n, -1).transpose(0, 1)


def _unmix_examples(heads: Tensor) -> Tensor:
    b, num_heads, n, _ = heads.shape
    return _join(heads.transpose(0, 1).reshape(b, num_heads, n, -1))


def _split_into_chunks(X: Tensor, num_heads: int) -> Tensor:
    return torch.stack(X.chunk(num_heads, dim=2), dim=1)


def _join_one_by_one(heads: Tensor) -> Tensor:
    return torch.cat([heads[:, i] for i in range(heads.shape[1])], dim=2)


def _subject(hint: str, split: Split = _split, join: Join = _join) -> Subject:
    def make(note: Note) -> tuple[Any, ...]:
        return disguise(split, note), disguise(join, note)

    return Subject(hint, make)


_RIGHT = [
    _subject("a right pair: try it on unflatten(2, (num_heads, -1)).transpose(1, 2) and its inverse"),
    _subject("a right pair that stacks chunks and joins them one by one", _split_into_chunks, _join_one_by_one),
    _subject(
        "a right pair whose results are contiguous: judge by the numbers",
        lambda X, num_heads: _split(X, num_heads).contiguous(),
        lambda heads: _join(heads.contiguous()).clone(),
    ),
]
_MUTANTS = [
    _subject("forgets a transpose on the way in", split=_split_by_reshape),
    _subject("forgets a transpose on the way out", join=_join_by_reshape),
    _subject("is wrong twice, and there and back everything is in its place", _split_by_reshape, _join_by_reshape),
    _subject(
        "gives each head other numbers of a token than it should, and puts them back",
        _split_interleaved,
        lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
    ),
    _subject(
        "takes the heads in another order, and puts them back",
        lambda X, num_heads: _split(X, num_heads).flip(1),
        lambda heads: _join(heads.flip(1)),
    ),
    _subject("mixes the examples of a batch, and sorts them again", _mix_examples, _unmix_examples),
    _subject(
        "turns time round inside the heads, and back",
        lambda X, num_heads: _split(X, num_heads).flip(2),
        lambda heads: _join(heads.flip(2)),
    ),
    _subject(
        "has one head several times", lambda X, num_heads: _split(X, num_heads)[:, :1].expand(-1, num_heads, -1, -1)
    ),
    _subject("joins the heads in the wrong order", join=lambda heads: _join(heads.flip(1))),
    _subject(
        "makes 0 of numbers that it should only move, if they are negative",
        lambda X, num_heads: _split(X, num_heads).clamp(min=0),
    ),
]


@checker("test-heads")
def check_test_heads(answer: Any) -> str:
    """A test of `split(X, num_heads)` and `join(heads)`."""
    return judge(answer, _RIGHT, _MUTANTS)
