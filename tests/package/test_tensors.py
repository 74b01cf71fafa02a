"""Tensors that do not fit are refused by name, with their value and what is allowed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import d2lmini as d2l

X = torch.zeros(2, 3, 4)


LENS = torch.tensor([1, 2])


MASK = torch.ones(3, 4, dtype=torch.bool)


def pool(*shapes: tuple[int, ...], **more: Tensor) -> object:
    return d2l.DotProductAttention(0.0)(*(torch.zeros(shape) for shape in shapes), **more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d2l.masked_softmax(X[0]), r"X must hold floating-point scores of shape .* \(3, 4\)"),
        (lambda: d2l.masked_softmax(X.long()), r"X must hold floating-point scores .* torch.int64"),
        (
            lambda: d2l.masked_softmax(X, torch.tensor([1.5, 2])),
            r"valid_lens must hold whole numbers, got 1.5",
        ),
        (lambda: d2l.masked_softmax(X, [1, 2]), r"valid_lens must be a tensor of whole numbers, got list"),
        (lambda: d2l.masked_softmax(X, torch.tensor([1, 5])), r"valid_lens must lie in 0..4 .* from 1 to 5"),
        (lambda: d2l.masked_softmax(X, torch.tensor([-1, 2])), r"valid_lens must lie in 0..4 .* from -1 to 2"),
        (lambda: d2l.masked_softmax(X, torch.tensor(2)), r"valid_lens must have shape \(batch,\) or .* got \(\)"),
        (lambda: d2l.masked_softmax(X, torch.tensor([1, 2, 3])), r"valid_lens must have shape \(2,\) or \(2, 3\)"),
        (lambda: d2l.masked_softmax(X, torch.ones(2, 2).long()), r"valid_lens must have shape \(2,\) or \(2, 3\)"),
        (lambda: d2l.masked_softmax(X, mask=MASK.float()), r"mask must be a boolean tensor, got torch.float32"),
        (lambda: d2l.masked_softmax(X, mask=[True]), r"mask must be a boolean tensor, got list"),
        (lambda: d2l.masked_softmax(X, mask=MASK.T), r"mask must broadcast to \(2, 3, 4\), got \(4, 3\)"),
        (lambda: d2l.masked_softmax(X, mask=MASK[None, None]), r"mask must broadcast to \(2, 3, 4\), got"),
        (lambda: d2l.causal_mask(-1), r"num_queries=-1"),
        (lambda: d2l.causal_mask(3, 2), r"num_queries=3, num_keys=2"),
        (lambda: d2l.to_mha_mask(MASK.long(), 2), r"mask must be a boolean tensor"),
        (lambda: d2l.to_mha_mask(MASK.expand(2, 3, 3, 4), 2), r"num_heads=2, got \(2, 3, 3, 4\)"),
        (lambda: d2l.to_mha_mask(MASK[0], 2), r"mask must have shape .* got \(4,\)"),
        (lambda: d2l.from_mha_mask(MASK.float(), 2), r"must hold only 0 and -inf"),
        (lambda: d2l.from_mha_mask(MASK.long(), 2), r"attn_mask must be a boolean tensor"),
        (lambda: d2l.from_mha_mask(MASK.expand(3, 3, 4), 2), r"num_heads=2, got \(3, 3, 4\)"),
        (lambda: pool((2, 3), (2, 3, 4), (2, 3, 4)), r"queries must have shape \(batch, steps, size\), got \(2, 3\)"),
        (lambda: pool((2, 3, 4), (1, 3, 4), (1, 3, 4)), r"must have the same batch size"),
        (lambda: pool((2, 3, 4), (2, 5, 4), (2, 3, 4)), r"one value for each key"),
        (
            lambda: pool((2, 3, 4), (2, 5, 3), (2, 5, 4)),
            r"queries and keys must have the same size, .* \(2, 3, 4\)",
        ),
        (lambda: pool((2, 3, 4), (2, 4, 4), (2, 4, 4), valid_lens=LENS + 3), r"valid_lens must lie in 0..4"),
        (lambda: d2l.DotProductAttention(0.0)(X, X.double(), X), r"must share one floating-point dtype"),
        (lambda: d2l.DotProductAttention(0.0)(X.long(), X.long(), X.long()), r"must share one floating-point dtype"),
        (lambda: d2l.AdditiveAttention(4, 5, 2, 0.0)(X, X, X), r"queries must have size 5 .* got \(2, 3, 4\)"),
        (lambda: d2l.AdditiveAttention(5, 4, 2, 0.0)(X, X, X), r"keys must have size 5 .* got \(2, 3, 4\)"),
        (lambda: d2l.DotProductAttention(1.5), r"dropout .*1.5"),
        (lambda: d2l.DotProductAttention(0.0)([1.0], X, X), r"queries must be a tensor, got list"),
        (lambda: d2l.masked_softmax([1.0]), r"X must hold floating-point scores .* got list"),
        (lambda: pool((2, 3, 0), (2, 5, 0), (2, 5, 4)), r"the same size, at least 1"),
        (lambda: d2l.AdditiveAttention(4, 4, 2, 0.0)(*(X.double(),) * 3), r"dtype.* torch.float32, got torch.float64"),
        (lambda: d2l.to_mha_mask(MASK, 0), r"num_heads must be an integer of at least 1, got 0"),
        (lambda: d2l.from_mha_mask([True], 2), r"attn_mask must be a boolean tensor, got list"),
    ],
)
def test_bad_input_is_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
