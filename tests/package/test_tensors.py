"""Tensors that do not fit are refused by name, with their value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

import d2lmini as d2l
from d2lmini import tensors

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
        (lambda: d2l.DotProductAttention(1.5), r"dropout must be a number from 0 to 1, got 1\.5"),
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


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


HALF, DOUBLE, WHOLE, META = torch.bfloat16, torch.float64, torch.int64, torch.device("meta")
QUERIES, KEYS = zeros(2, 3, 4, 6), zeros(2, 3, 5, 6)
# What each check lets in, and what it says to the rest.
RIGHT: list[Callable[[], Any]] = [
    lambda: tensors.check_integers("x", zeros(2, dtype=torch.uint8)),
    lambda: tensors.check_broadcast("x", zeros(1, 4), (2, 3, 4)),
    lambda: tensors.check_broadcast("x", zeros(), (2, 3, 4)),
    lambda: tensors.check_divisible(zeros(6, 1, 1), 3),
    lambda: tensors.check_sequences(X=X, Y=zeros(1, 0, 0)),
    lambda: tensors.check_same_size(X, zeros(1, 1, 4)),
    lambda: tensors.check_kept(zeros(2, 4, 9), QUERIES, QUERIES, 3, 6),
    lambda: tensors.check_lengths("x", torch.tensor([0, 5]), 5),
    lambda: tensors.check_lengths("x", torch.tensor([[0.0, 5.0]]), 5),
    lambda: tensors.check_lengths("x", zeros(0), 0),
    lambda: tensors.check_lengths("x", zeros(0, dtype=WHOLE), 0),
    lambda: tensors.check_lengths("x", zeros(2).to(META), 0),
    lambda: tensors.check_mask(zeros(1, 4, 5, dtype=torch.bool), (2, 3, 4, 5)),
    lambda: tensors.check_mask(zeros(4, 1, 5, dtype=torch.bool), (4, 4, 5)),
    lambda: tensors.check_steps(0, 0),
    lambda: tensors.check_steps(2, 2),
    lambda: tensors.check_steps(1, 2),
    lambda: tensors.check_room(X, 0, 3, 4),
    lambda: tensors.check_room(X, 6, 9, 4),
    lambda: tensors.check_room(X, torch.tensor([6, 0]), 9, 4),
    lambda: tensors.check_room(X, torch.tensor([6, 0]).to(META), 1, 4),
    lambda: tensors.check_room(zeros(0, 3, 4), zeros(0, dtype=WHOLE), 3, 4),
    lambda: tensors.check_pairs(zeros(3, 2)),
    lambda: tensors.check_pairs(zeros(1, 2, 4, 6, dtype=HALF)),
    lambda: tensors.check_rotation(1, "adjacent"),
    lambda: tensors.check_rotation(1e300, "halves"),
    lambda: tensors.check_buckets(4, 3, 2),
    lambda: tensors.check_buckets(1, 2, 1),
    lambda: tensors.check_positions(QUERIES, KEYS),
    lambda: tensors.check_positions(QUERIES, QUERIES, 3, 6),
    lambda: tensors.check_even_size(zeros(1, 2), zeros(1, 2)),
    lambda: tensors.check_even_size(zeros(1, 2, 3, 4), zeros(1, 5, 3, 4)),
    lambda: tensors.check_placed((QUERIES, KEYS, None), QUERIES, KEYS),
    lambda: tensors.check_dimensions(X, "(a, b, c)"),
    lambda: tensors.check_causal(True, 3, 3),
    lambda: tensors.check_causal(False, 4, 3),
    lambda: tensors.check_causal(True, 2, 3),
    lambda: tensors.check_bias(X[:1], (2, 3, 4), X.device),
]
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: tensors.check_integers("x", zeros(2)), "x must be a tensor of integers, got torch.float32 (2,)"),
    (lambda: tensors.check_integers("x", [1]), "x must be a tensor of integers, got list"),
    (lambda: tensors.check_boolean("x", zeros(2)), "x must be a boolean tensor, got torch.float32 (2,)"),
    (lambda: tensors.check_broadcast("x", zeros(3, 2), (2, 3, 4)), "x must broadcast to (2, 3, 4), got (3, 2)"),
    (lambda: tensors.check_broadcast("x", zeros(1, 1, 1), (3, 4)), "x must broadcast to (3, 4), got (1, 1, 1)"),
    (lambda: tensors.check_dimensions(zeros(2, 3), "(a, b, c)"), "X must have shape (a, b, c), got (2, 3)"),
    (lambda: tensors.check_dimensions([1], "(a, b, c)"), "X must have shape (a, b, c), got list"),
    (lambda: tensors.check_divisible(X, 0), "num_heads must be an integer of at least 1, got 0"),
    (
        lambda: tensors.check_divisible(zeros(4, 1, 1), 3),
        "the first dimension of X must be divisible by num_heads, got shape (4, 1, 1) and num_heads=3",
    ),
    (lambda: tensors.check_sequences(X=X, Y=[1]), "Y must be a tensor, got list"),
    (lambda: tensors.check_sequences(X=X, Y=X[0]), "Y must have shape (batch, steps, size), got (3, 4)"),
    (
        lambda: tensors.check_sequences(X=X, Y=X.double()),
        "X, Y must share one floating-point dtype, got [torch.float32, torch.float64]",
    ),
    (lambda: tensors.check_sequences(X=X.long()), "X must share one floating-point dtype, got [torch.int64]"),
    (lambda: tensors.check_projected("x", [1], 4, nn.Linear(4, 4)), "x must be a tensor, got list"),
    (
        lambda: tensors.check_projected("x", X, 9, nn.Linear(5, 4)),
        "x must have size 5 in their last dimension, got (2, 3, 4)",
    ),
    (
        lambda: tensors.check_projected("x", X, 9, nn.Sequential()),
        "x must have size 9 in their last dimension, got (2, 3, 4)",
    ),
    (
        lambda: tensors.check_projected("x", X, 4, nn.Linear(4, 4).double()),
        "x must have the dtype of the weights, torch.float64, got torch.float32",
    ),
    (
        lambda: tensors.check_scores(X.long()),
        "X must hold floating-point scores of shape (batch, queries, keys), got torch.int64 (2, 3, 4)",
    ),
    (lambda: tensors.check_inputs(X, X, [1]), "values must be a tensor, got list"),
    (
        lambda: tensors.check_inputs(X, X[:1], X),
        "queries, keys and values must have the same batch size, got [(2, 3, 4), (1, 3, 4), (2, 3, 4)]",
    ),
    (
        lambda: tensors.check_inputs(X, X, zeros(2, 5, 4)),
        "there must be one value for each key, got [(2, 3, 4), (2, 5, 4)]",
    ),
    (
        lambda: tensors.check_same_size(X, zeros(2, 3, 5)),
        "queries and keys must have the same size, at least 1, in their last dimension, got (2, 3, 4) and (2, 3, 5)",
    ),
    *(
        (
            lambda K=K, V=V: tensors.check_kept(zeros(2, 4, 9), K, V, 3, 6),
            f"K and V must have shape (batch, num_heads, keys, p) = {(2, 3, K.shape[2], 6)}, got {found}",
        )
        for K, V, found in [
            (QUERIES, KEYS, "(2, 3, 4, 6) and (2, 3, 5, 6)"),
            (QUERIES[:1], QUERIES[:1], "(1, 3, 4, 6) and (1, 3, 4, 6)"),
            (QUERIES, [1], "(2, 3, 4, 6) and list"),
        ]
    ),
    (
        lambda: tensors.check_kept(zeros(2, 4, 9), QUERIES, QUERIES.double(), 3, 6),
        "queries, K and V must share one floating-point dtype, got torch.float32, torch.float32 and torch.float64",
    ),
    (lambda: tensors.check_lengths("x", [1], 4), "x must be a tensor of whole numbers, got list"),
    (lambda: tensors.check_lengths("x", MASK[0], 4), "x must be a tensor of whole numbers, got torch.bool (4,)"),
    (lambda: tensors.check_lengths("x", X, 4), "x must have shape (batch,) or (batch, queries), got (2, 3, 4)"),
    (
        lambda: tensors.check_lengths("x", torch.tensor([1, 5]), 4),
        "x must lie in 0..4 (the number of keys), got values from 1 to 5",
    ),
    (lambda: tensors.check_lengths("x", torch.tensor([1.0, 2.5]), 4), "x must hold whole numbers, got 2.5"),
    (lambda: tensors.check_one_length_each("x", X, (2,), (2, 3)), "x must have shape (2,) or (2, 3), got (2, 3, 4)"),
    (lambda: tensors.check_causal(1, 2, 3), "causal must be True or False, got 1"),
    (
        lambda: tensors.check_causal(True, 4, 3),
        "causal=True needs at least as many keys as queries, got 4 queries and 3 keys",
    ),
    *(
        (
            lambda first=first: tensors.check_mask(zeros(first, 1, 5, dtype=torch.bool), (2, 3, 4, 5)),
            f"mask of shape ({first}, 1, 5) is ambiguous: "
            "for one mask per example write mask[:, None], for one mask per head mask[None]",
        )
        for first in (2, 3)
    ),
    (
        lambda: tensors.check_mask(zeros(4, 1, 5, dtype=torch.bool), (2, 3, 4, 5)),
        "mask must broadcast to (2, 3, 4, 5), got (4, 1, 5)",
    ),
    (
        lambda: tensors.check_bias(X.long(), (2, 3, 4), X.device),
        "bias must be a tensor of floating-point numbers, got torch.int64 (2, 3, 4)",
    ),
    (
        lambda: tensors.check_bias(X, (2, 3, 4), META),
        "bias must be on the device of the queries, meta, got cpu",
    ),
    (lambda: tensors.check_bias(X, (2, 3, 5), X.device), "bias must broadcast to (2, 3, 5), got (2, 3, 4)"),
    *(
        (lambda n=n: tensors.check_steps(*n), f"num_queries and num_keys must be integers, got {n[0]!r} and {n[1]!r}")
        for n in [(True, 1), (1, True), (1.0, 2), (1, "2")]
    ),
    *(
        (
            lambda n=n: tensors.check_steps(*n),
            "the queries are the last of the keys, so 0 <= num_queries <= num_keys must hold, "
            f"got num_queries={n[0]}, num_keys={n[1]}",
        )
        for n in [(-1, 1), (3, 2), (1, 0)]
    ),
    (lambda: tensors.check_room(X[0], 0, 9, 4), "X must have shape (batch, steps, size), got (3, 4)"),
    (
        lambda: tensors.check_room(X, 0, 9, 5),
        "X must have size num_hiddens=5 in its last dimension, got (2, 3, 4)",
    ),
    (lambda: tensors.check_room(X, 0, 2, 4), "a sequence of length 3 does not fit into max_len=2"),
    *(
        (
            lambda offset=offset: tensors.check_room(X, offset, 9, 4),
            "a sequence of length 3 that begins at position offset=7 does not fit into max_len=9",
        )
        for offset in (7, torch.tensor([1, 7]))
    ),
    (
        lambda: tensors.check_room(X, -1, 9, 4),
        "offset must be an integer of at least 0 (and at most 2**52), got -1",
    ),
    (
        lambda: tensors.check_room(X, torch.tensor(1), 9, 4),
        "offset must be an integer of at least 0 (and at most 2**52), got tensor(1)",
    ),
    (lambda: tensors.check_room(X, zeros(2), 9, 4), "offset must be a tensor of integers, got torch.float32 (2,)"),
    (lambda: tensors.check_room(X, zeros(3, dtype=WHOLE), 9, 4), "offset must have shape (2,), got (3,)"),
    (lambda: tensors.check_room(X, zeros(2, 1, dtype=WHOLE), 9, 4), "offset must have shape (2,), got (2, 1)"),
    *(
        (
            lambda wrong=wrong: tensors.check_pairs(wrong),
            f"X must hold floating-point numbers of shape (..., steps, size), got {found}",
        )
        for wrong, found in [
            ([1.0], "list"),
            (zeros(2), "torch.float32 (2,)"),
            (zeros(2, 2, dtype=WHOLE), "torch.int64 (2, 2)"),
        ]
    ),
    *(
        (
            lambda size=size: tensors.check_pairs(zeros(1, 2, size)),
            f"rotary embedding turns pairs: the size must be even and at least 2, got {size}",
        )
        for size in (0, 1, 3)
    ),
    *(
        (lambda base=base: tensors.check_rotation(base, "halves"), f"base must be a number of at least 1, got {base!r}")
        for base in (0.9, 2e300, math.inf, math.nan, True, "2", None)
    ),
    (lambda: tensors.check_rotation(2, "all"), "pairing must be one of 'adjacent', 'halves', got 'all'"),
    *(
        (
            lambda sizes=sizes: tensors.check_buckets(*sizes, 2),
            "num_buckets must be divisible by 2 and max_distance be more than num_buckets / 2, "
            f"got num_buckets={sizes[0]}, max_distance={sizes[1]}",
        )
        for sizes in [(5, 9), (4, 2), (4, 1)]
    ),
    (lambda: tensors.check_buckets(0, 9, 2), "num_buckets must be an integer of at least 1, got 0"),
    (lambda: tensors.check_buckets(4, 0, 2), "max_distance must be an integer of at least 1, got 0"),
    *(
        (lambda pair=pair: tensors.check_positions(*pair), f"queries and keys must be tensors, got {found}")
        for pair, found in [
            ((QUERIES, [1]), "torch.float32 (2, 3, 4, 6) and list"),
            (([1], KEYS), "list and torch.float32 (2, 3, 5, 6)"),
        ]
    ),
    *(
        (
            lambda pair=pair: tensors.check_positions(*pair),
            "queries and keys must have shape (batch, num_heads, steps, size), with the same batch and heads, "
            f"got {tuple(pair[0].shape)} and {tuple(pair[1].shape)}",
        )
        for pair in [(QUERIES[0], KEYS[0]), (QUERIES, KEYS[..., None]), (QUERIES[..., None], KEYS), (QUERIES, KEYS[:1])]
    ),
    (
        lambda: tensors.check_positions(QUERIES, KEYS, 2),
        "the positions were made for num_heads=2, the layer has 3",
    ),
    (lambda: tensors.check_positions(QUERIES, KEYS, 3, 5), "queries must have head_size=5, got (2, 3, 4, 6)"),
    (
        lambda: tensors.check_positions(KEYS, QUERIES),
        "with relative positions the queries are the last of the keys, so there must be at least as many keys: "
        "got 5 queries and 4 keys",
    ),
    *(
        (
            lambda sizes=sizes: tensors.check_even_size(zeros(1, sizes[0]), zeros(1, sizes[1])),
            f"for rotary embedding queries and keys must share an even size, got {sizes[0]} and {sizes[1]}",
        )
        for sizes in [(2, 4), (4, 2), (3, 3), (1, 1), (0, 0)]
    ),
    *(
        (
            lambda returned=returned: tensors.check_placed(returned, QUERIES, KEYS),
            f"positions must return queries, keys and a bias or None, got {type(returned).__name__}",
        )
        for returned in [(QUERIES, KEYS), [QUERIES, KEYS, None], QUERIES]
    ),
    *(
        (
            lambda returned=returned: tensors.check_placed((*returned, None), QUERIES, KEYS),
            f"positions must return {message}",
        )
        for returned, message in [
            ((None, KEYS), "queries of torch.float32 (2, 3, 4, 6), got NoneType"),
            ((KEYS, KEYS), "queries of torch.float32 (2, 3, 4, 6), got torch.float32 (2, 3, 5, 6)"),
            ((QUERIES, KEYS.double()), "keys of torch.float32 (2, 3, 5, 6), got torch.float64 (2, 3, 5, 6)"),
        ]
    ),
]


@pytest.mark.parametrize("call", RIGHT)
def test_what_fits_comes_in(call: Callable[[], Any]) -> None:
    call()


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_each_check_says_what_came_and_what_may(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        call()
    assert str(refused.value) == message


def test_a_layer_of_another_kind_may_cast_by_itself() -> None:
    """Only of a plain layer is it known that it does not."""

    class Casts(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return super().forward(input.to(self.weight.dtype))

    hooked = nn.Linear(4, 4).double()
    hooked.register_forward_pre_hook(lambda layer, given: given[0].double())
    weightless, quantised = nn.Module(), nn.Module()
    weightless.in_features = 4
    quantised.weight = torch.zeros(4, 4, dtype=torch.int8)
    for layer in (Casts(4, 4).double(), hooked, weightless, quantised):
        tensors.check_projected("x", X, 4, layer)
    with torch.autocast("cpu", dtype=HALF):
        tensors.check_projected("x", X.to(HALF), 4, nn.Linear(4, 4))
        tensors.check_kept(X, zeros(2, 3, 5, 6), zeros(2, 3, 5, 6, dtype=HALF), 3, 6)
        with pytest.raises(ValueError, match="queries, K and V must share one"):
            tensors.check_kept(X, zeros(2, 3, 5, 6), zeros(2, 3, 5, 6, dtype=DOUBLE), 3, 6)


def test_numbers_are_read_where_there_are_some() -> None:
    assert tensors.read_range(torch.tensor([3, -1, 2])) == (-1, 3)
    assert tensors.read_range(torch.tensor([4])) == (4, 4)
    assert tensors.read_range(zeros(0)) is None
    assert tensors.read_range(zeros(3).to(META)) is None
    found = []
    torch.func.vmap(lambda numbers: (found.append(tensors.read_range(numbers)), numbers)[1])(X)
    torch.jit.trace(lambda numbers: (found.append(tensors.read_range(numbers)), numbers + 1)[1], X, check_trace=False)
    make_fx(lambda numbers: (found.append(tensors.read_range(numbers)), numbers)[1], tracing_mode="symbolic")(X)
    assert found and set(found) == {None}


def test_what_is_no_number_yet_fits_into_any_table() -> None:
    """While a graph is recorded the position of the first token stands for all that will come."""
    offsets = []

    def rotate(X: Tensor, offset: Tensor) -> Tensor:
        tensors.check_room(X, offset, 4, 4)
        offsets.append(offset)
        return X + offset

    torch.jit.trace(rotate, (X, torch.tensor(9)), check_trace=False)
    make_fx(lambda X: rotate(X, X.shape[1]), tracing_mode="symbolic")(X)
    assert [type(offset) for offset in offsets] == [Tensor, torch.SymInt]
