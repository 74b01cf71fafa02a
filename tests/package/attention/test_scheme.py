"""What attention asks of a position scheme, and what it does with the answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import d2lmini as d2l
from tests.package.positions.shared import NAMES, drawn, scheme


class Constant(d2l.RelativePositions):
    """A scheme of one's own, as an instructor would write it."""

    def __init__(self, bias: Any) -> None:
        super().__init__()
        self.bias = bias

    def forward(self, queries: Tensor, keys: Tensor) -> Any:
        return queries, keys, self.bias


@pytest.mark.parametrize("shape", [(), (5,), (4, 5), (1, 4, 5), (3, 4, 5), (2, 1, 4, 5), (2, 3, 4, 5), (2, 3, 1, 1)])
def test_a_bias_of_ones_own_broadcasts(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    bias = 3 * torch.randn(shape)
    mha, X, Y = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0), torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    plain = mha(X, Y, Y, need_weights=True)[1]
    mha.positions = Constant(bias)
    output, weights = mha(X, Y, Y, need_weights=True)
    torch.testing.assert_close(weights, (plain.log() + bias).softmax(-1))
    torch.testing.assert_close(mha(X, Y, Y), output)


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        (torch.zeros(4, 4), r"bias must broadcast to \(2, 3, 4, 5\), got \(4, 4\)"),
        (torch.zeros(1, 2, 3, 4, 5), r"bias must broadcast to \(2, 3, 4, 5\)"),
        (torch.zeros(4, 5, dtype=torch.bool), "bias must be a tensor of floating-point numbers, got torch.bool"),
        (1.0, "bias must be a tensor of floating-point numbers, got float"),
    ],
)
def test_a_bias_that_does_not_fit_is_refused(bias: Any, message: str) -> None:
    mha = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=Constant(bias))
    with pytest.raises(ValueError, match=message):
        mha(torch.zeros(2, 4, 6), torch.zeros(2, 5, 6), torch.zeros(2, 5, 6))


def test_the_base_class_asks_for_forward() -> None:
    with pytest.raises(NotImplementedError):
        d2l.RelativePositions()(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))


@pytest.mark.parametrize("positions", ["rotary", d2l.make_positions("rotary", 6, 3), d2l.RotaryEmbedding])
def test_what_is_no_scheme_is_refused_at_the_door(positions: Any) -> None:
    with pytest.raises(ValueError, match=r"positions must be a RelativePositions or None, got .*a pair"):
        d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=positions)


class Returns(d2l.RelativePositions):
    def __init__(self, make: Callable[[Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.make = make

    def forward(self, queries: Tensor, keys: Tensor) -> Any:
        return self.make(queries, keys)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda q, k: (q, k), "must return queries, keys and a bias or None, got tuple"),
        (lambda q, k: q, "must return queries, keys and a bias or None, got Tensor"),
        (lambda q, k: (None, k, None), r"queries of torch.float32 \(2, 3, 4, 2\), got NoneType"),
        (
            lambda q, k: (q[:, :, :1], k, None),
            r"queries of .*\(2, 3, 4, 2\), got torch.float32 \(2, 3, 1, 2\)",
        ),
        (lambda q, k: (q, k.double(), None), r"keys of torch.float32 \(2, 3, 4, 2\), got torch.float64"),
        (lambda q, k: (q.repeat(1, 1, 1, 2), k.repeat(1, 1, 1, 2), None), r"got torch.float32 \(2, 3, 4, 4\)"),
        (lambda q, k: (q, k, torch.zeros(4, 4, dtype=torch.long)), "floating-point numbers, got torch.int64"),
    ],
)
def test_what_a_scheme_returns_is_checked(make: Callable[[Tensor, Tensor], Any], message: str) -> None:
    mha, X = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=Returns(make)), torch.zeros(2, 4, 6)
    with pytest.raises(ValueError, match=message):
        mha(X, X, X)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("masked", [False, True])
def test_both_paths_of_attention_use_the_scheme(name: str, masked: bool) -> None:
    """The fused kernel, the path with weights, and the definition written out agree, gradients included."""
    torch.manual_seed(0)
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, bias=True, positions=scheme(name)).double()
    X = drawn(2, 7, 12).requires_grad_()
    lens = torch.tensor([7, 4]) if masked else None
    mask = d2l.causal_mask(7) if masked else torch.ones(7, 7, dtype=torch.bool)
    allowed = mask if lens is None else mask & d2l.valid_lens_mask(lens, 7)[:, None]
    Q, K, V = (layer(X).unflatten(2, (3, 4)).transpose(1, 2) for layer in (mha.W_q, mha.W_k, mha.W_v))
    Q, K, bias = mha.positions(Q, K)
    scores = Q @ K.mT / 2 + (0 if bias is None else bias)
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    expected = mha.W_o((weights @ V).transpose(1, 2).flatten(2))

    fused = mha(X, X, X, lens, mask=mask if masked else None)
    output, got_weights = mha(X, X, X, lens, mask=mask if masked else None, need_weights=True)
    torch.testing.assert_close(got_weights, weights)
    wanted = [X, *mha.parameters()]
    grads = torch.autograd.grad(expected.square().sum(), wanted)
    for got in (fused, output):
        torch.testing.assert_close(got, expected)
        for ours, theirs in zip(torch.autograd.grad(got.square().sum(), wanted), grads, strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_who_sees_nothing_still_gets_nothing(name: str) -> None:
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, bias=True, positions=scheme(name)).double()
    X = drawn(2, 4, 12)
    lens = torch.tensor([4, 0])
    output, weights = mha(X, X, X, lens, need_weights=True)
    assert not output[1].any() and not weights[1].any() and not mha(X, X, X, lens)[1].any()


@pytest.mark.parametrize("name", NAMES)
def test_more_queries_than_keys_are_refused(name: str) -> None:
    mha = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, positions=scheme(name)).double()
    with pytest.raises(ValueError, match="got 5 queries and 4 keys"):
        mha(drawn(1, 5, 12), drawn(1, 4, 12), drawn(1, 4, 12))


def test_every_row_that_the_kernel_gets_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = torch.nn.functional.scaled_dot_product_attention

    def spy(*args: Any, attn_mask: Tensor, **kwargs: Any) -> Tensor:
        assert (attn_mask > -math.inf).any(-1).all() and attn_mask.dtype == args[0].dtype
        return kernel(*args, attn_mask=attn_mask, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    Q = torch.randn(1, 3, 4)
    d2l.DotProductAttention(0.0)(Q, Q, Q, torch.tensor([[3, 0, 1]]), bias=torch.randn(3, 3))


class Forbids(d2l.RelativePositions):
    """Nobody may attend to token 2."""

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        bias = torch.zeros(queries.shape[-2], keys.shape[-2], dtype=keys.dtype)
        bias[:, 2] = -math.inf
        return queries, keys, bias


@pytest.mark.parametrize("need_weights", [False, True])
def test_what_a_scheme_forbids_may_hold_anything(need_weights: bool) -> None:
    torch.manual_seed(0)
    mha = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0, True, positions=Forbids())
    X = torch.randn(2, 4, 8)
    spoiled = X.clone()
    spoiled[:, 2] = math.nan
    found, expected = (mha(X, keys, keys, need_weights=need_weights) for keys in (spoiled, X))
    torch.testing.assert_close(found, expected)


def test_a_layer_may_be_exchanged_or_cut_into_other_heads() -> None:
    mha, X = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0), torch.randn(2, 3, 8)
    mha.num_heads = 4
    assert mha(X, X, X, need_weights=True)[1].shape == (2, 4, 3, 3)
    mha.W_k = torch.nn.Linear(5, 8)
    assert mha(X, X[..., :5], X).shape == (2, 3, 8)
    with pytest.raises(ValueError, match="keys must have size 5"):
        mha(X, X, X)


class Limits(d2l.RelativePositions):
    """Nobody may attend to token 1, token 0 sees nothing in head 1, and the rest gets numbers."""

    def __init__(self, bias: Tensor) -> None:
        super().__init__()
        self.bias = bias

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return queries, keys, self.bias


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("restriction", [{}, {"valid_lens": torch.tensor([4, 3])}, {"causal": True}])
def test_what_a_scheme_forbids_and_what_it_adds_go_with_what_is_forbidden_anyway(
    restriction: dict[str, Any], need_weights: bool
) -> None:
    torch.manual_seed(0)
    mha, X, bias = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0), torch.randn(2, 4, 8), 3 * torch.randn(2, 4, 4)
    plain = mha(X, X, X, **restriction, need_weights=True)[1]  # (batch, num_heads, queries, keys)
    bias[..., 1], bias[1, 0] = -math.inf, -math.inf
    weights = (plain.log() + bias).softmax(-1).nan_to_num(0)
    V = mha.split(mha.W_v(X))  # (batch, num_heads, keys, p)
    mha.positions = Limits(bias)
    found = mha(X, X, X, **restriction, need_weights=need_weights)
    if need_weights:
        torch.testing.assert_close(found[1], weights)
    torch.testing.assert_close(found[0] if need_weights else found, mha.W_o(mha.join(weights @ V)))
