"""What attention asks of a position scheme, and what it does with the answer."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import d2lmini as d2l
from tests.package.positions.shared import NAMES, drawn, scheme
from tests.package.refusals import Row, refused


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


def test_the_base_class_asks_for_forward() -> None:
    with pytest.raises(NotImplementedError):
        d2l.RelativePositions()(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))


def attend(returned: Any = None, bias: Any = None) -> Any:
    """Heads whose scheme returns this, or queries and keys of the right shape and this bias."""
    returned = (torch.zeros(2, 3, 4, 2), torch.zeros(2, 3, 5, 2), bias) if returned is None else returned
    mha = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=Constant(None))
    mha.positions.forward = lambda queries, keys: returned
    return mha(torch.zeros(2, 4, 6), torch.zeros(2, 5, 6), torch.zeros(2, 5, 6))


def plug(positions: Any) -> Any:
    return d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0, positions=positions)


PAIR = d2l.make_positions("rotary", 6, 3)
FIVE = torch.zeros(1, 5, 6)
WRONG: list[Row] = [
    (plug, "positions", {"'rotary'": ("rotary",), "a pair": (PAIR,), "class": (d2l.ALiBi,)}),
    (attend, "positions", {"tuple": ((1, 2),), "Tensor": (torch.zeros(2, 3, 4, 2),)}),
    (attend, "queries", {"NoneType": ((None, None, None),), "got torch.float32 (1,)": ((torch.zeros(1),) * 3,)}),
    (attend, "bias", {"(4, 4)": (None, torch.zeros(4, 4)), "bool": (None, FIVE.bool()), "float": (None, 1.0)}),
    (plug(scheme("t5", 6).float()), "keys", {"5 queries and 4": (FIVE, FIVE[:, 1:], FIVE[:, 1:])}),
]


test_what_is_no_scheme_and_what_it_may_not_return_is_refused_by_name = refused(WRONG)


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


def test_every_row_that_the_kernel_gets_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = torch.nn.functional.scaled_dot_product_attention

    def spy(*args: Any, attn_mask: Tensor, **kwargs: Any) -> Tensor:
        assert (attn_mask > -math.inf).any(-1).all() and attn_mask.dtype == args[0].dtype
        return kernel(*args, attn_mask=attn_mask, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    Q = torch.randn(1, 3, 4)
    d2l.DotProductAttention(0.0)(Q, Q, Q, torch.tensor([[3, 0, 1]]), bias=torch.randn(3, 3))


def test_a_layer_may_be_exchanged_or_cut_into_other_heads() -> None:
    mha, X = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0), torch.randn(2, 3, 8)
    mha.num_heads = 4
    assert mha(X, X, X, need_weights=True)[1].shape == (2, 4, 3, 3)
    mha.W_k = torch.nn.Linear(5, 8)
    assert mha(X, X[..., :5], X).shape == (2, 3, 8)
    with pytest.raises(ValueError, match="keys must have size 5"):
        mha(X, X, X)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("restriction", [{}, {"valid_lens": torch.tensor([4, 3])}, {"causal": True}])
def test_what_a_scheme_forbids_and_adds_goes_with_what_else_is_forbidden(restriction: Any, need_weights: bool) -> None:
    torch.manual_seed(0)
    mha, X, bias = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0), torch.randn(2, 4, 8), 3 * torch.randn(2, 4, 4)
    plain = mha(X, X, X, **restriction, need_weights=True)[1]  # (batch, num_heads, queries, keys)
    bias[..., 1], bias[1, 0] = -math.inf, -math.inf
    weights = (plain.log() + bias).softmax(-1).nan_to_num(0)
    V = mha.split(mha.W_v(X))  # (batch, num_heads, keys, p)
    mha.positions = Constant(bias)
    found = mha(X, X, X, **restriction, need_weights=need_weights)
    if need_weights:
        torch.testing.assert_close(found[1], weights)
    torch.testing.assert_close(found[0] if need_weights else found, mha.W_o((weights @ V).transpose(1, 2).flatten(2)))
