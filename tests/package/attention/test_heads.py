"""Self-attention and multi-head attention against PyTorch's own, and against the cells of the sources."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from tests.package.attention.shared import TOLERANCE, lens_kinds, mask_kinds, restrict
from tests.package.refusals import Row, refused

sizes = st.integers(1, 5)


@st.composite
def problems(draw: st.DrawFn) -> tuple[d2l.MultiHeadAttention, list[Tensor]]:
    """A multi-head attention and its queries, keys and values, of random sizes and dtype."""
    batch, num_queries, num_keys, width, num_heads, query_size, key_size, value_size = (draw(sizes) for _ in range(8))
    bias, dtype = draw(st.booleans()), draw(st.sampled_from(list(TOLERANCE)))
    torch.manual_seed(draw(st.integers(0, 10_000)))
    mha = d2l.MultiHeadAttention(key_size, query_size, value_size, width * num_heads, num_heads, 0.0, bias)
    shapes = (batch, num_queries, query_size), (batch, num_keys, key_size), (batch, num_keys, value_size)
    return mha.to(dtype), [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


def pytorchs(mha: d2l.MultiHeadAttention, inputs: list[Tensor], may: Tensor) -> tuple[Tensor, Tensor]:
    """What nn.MultiheadAttention computes with these weights: the output, and the weights of each head."""
    layers = [mha.W_q, mha.W_k, mha.W_v]
    num_hiddens = mha.W_o.out_features
    queries, keys, values = (tensor.transpose(0, 1) for tensor in inputs)
    output, weights = F.multi_head_attention_forward(
        queries @ layers[0].weight.T,  # the function wants queries of the width of the output
        keys,
        values,
        *(num_hiddens, mha.num_heads, None),
        *(None if mha.W_q.bias is None else torch.cat([layer.bias for layer in layers]), None, None),
        **{"add_zero_attn": False, "dropout_p": 0.0, "attn_mask": d2l.to_mha_mask(may, mha.num_heads)},
        **{"out_proj_weight": mha.W_o.weight, "out_proj_bias": mha.W_o.bias, "average_attn_weights": False},
        use_separate_proj_weight=True,
        q_proj_weight=torch.eye(num_hiddens, dtype=queries.dtype),
        k_proj_weight=layers[1].weight,
        v_proj_weight=layers[2].weight,
    )
    return output.transpose(0, 1), weights


@given(problems(), lens_kinds, mask_kinds, st.booleans())
@settings(max_examples=40)
def test_values_and_gradients_are_pytorchs(problem: Any, lens_kind: str, mask_kind: str, need_weights: bool) -> None:
    mha, inputs = problem
    dtype, num_heads = inputs[0].dtype, mha.num_heads
    shape = (inputs[0].shape[0], num_heads, inputs[0].shape[1], inputs[1].shape[1])
    restricted, may = restrict(shape, lens_kind, mask_kind)
    result = mha(*inputs, **restricted, need_weights=need_weights)
    output = result[0] if need_weights else result

    given = [layer.in_features for layer in (mha.W_k, mha.W_q, mha.W_v)]
    exact = d2l.MultiHeadAttention(*given, mha.W_o.out_features, num_heads, 0.0, mha.W_q.bias is not None).double()
    exact.load_state_dict(mha.state_dict())
    same = [tensor.detach().double().requires_grad_() for tensor in inputs]
    seen = may.any(-1, keepdim=True)  # (batch, num_heads, queries, 1)
    # PyTorch's gives NaN for a head that sees nothing: it is shown everything there, and not compared.
    expected, expected_weights = pytorchs(exact, same, may | ~seen)
    compared = seen.all(1)  # (batch, queries, 1)
    tolerance = {"atol": TOLERANCE[dtype], "rtol": TOLERANCE[dtype]}
    torch.testing.assert_close(output.double() * compared, expected * compared, **tolerance)
    assert output.dtype == dtype and (output * ~seen.any(1) == 0).all() and output.isfinite().all()
    if need_weights:
        torch.testing.assert_close(result[1].double(), expected_weights * seen, **tolerance)
        assert result[1].dtype == dtype and result[1].shape == shape

    ours = torch.autograd.grad((output.double() * compared).square().sum(), [*inputs, *mha.parameters()])
    theirs = torch.autograd.grad((expected * compared).square().sum(), [*same, *exact.parameters()])
    scale = max(1.0, *(float(grad.abs().max()) for grad in theirs))
    for our_grad, their_grad in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our_grad.double(), their_grad, atol=scale * tolerance["atol"], rtol=0.05)


def test_additive_attention_as_the_pooling_of_the_heads() -> None:
    torch.manual_seed(0)
    mha, X, lens = d2l.MultiHeadAttention(6, 6, 6, 6, 3, 0.0), torch.randn(2, 4, 6), torch.tensor([4, 2])
    mha.pooling = d2l.AdditiveAttention(2, 2, 5, 0.0)
    output, weights = mha(X, X, X, lens, need_weights=True)
    Q, K, V = mha.W_q(X), mha.W_k(X), mha.W_v(X)
    heads = [mha.pooling(*(part[..., i : i + 2] for part in (Q, K, V)), lens) for i in (0, 2, 4)]
    torch.testing.assert_close(output, mha.W_o(torch.cat(heads, -1)))
    assert weights.shape == (2, 3, 4, 4) and (weights[1, :, :, 2:] == 0).all()


# ---- splitting into heads ----


def test_transpose_qkv_says_which_number_goes_where() -> None:
    X = torch.arange(2 * 3 * 4).reshape(2, 3, 4)
    split = d2l.transpose_qkv(X, 2)
    assert split.shape == (4, 3, 2)
    for b, head, step, i in itertools.product(range(2), range(2), range(3), range(2)):
        assert split[b * 2 + head, step, i] == X[b, step, head * 2 + i]


@given(sizes, sizes, sizes, sizes)
@settings(max_examples=20)
def test_transpose_output_undoes_it(batch: int, steps: int, width: int, num_heads: int) -> None:
    X = torch.randn(batch, steps, width * num_heads)
    assert torch.equal(d2l.transpose_output(d2l.transpose_qkv(X, num_heads), num_heads), X)


# ---- self-attention ----


@st.composite
def sequences(draw: st.DrawFn) -> tuple[d2l.SelfAttention, Tensor]:
    d_model, dtype = draw(sizes), draw(st.sampled_from(list(TOLERANCE)))
    torch.manual_seed(draw(st.integers(0, 10_000)))
    return d2l.SelfAttention(d_model).to(dtype), torch.randn(draw(sizes), draw(sizes), d_model).to(dtype)


@given(sequences(), lens_kinds, mask_kinds)
@settings(max_examples=40)
def test_self_attention_is_pytorchs_attention_of_three_projections(drawn: Any, lens_kind: str, mask_kind: str) -> None:
    layer, X = drawn
    restriction, may = restrict((*X.shape[:2], X.shape[1]), lens_kind, mask_kind)
    output, weights = layer(X, **restriction)
    seen = may.any(-1, keepdim=True)
    exact = d2l.SelfAttention(X.shape[2]).double()
    exact.load_state_dict(layer.state_dict())
    Q, K, V = (W(X.double()) for W in (exact.W_q, exact.W_k, exact.W_v))
    expected = seen * F.scaled_dot_product_attention(Q, K, V, attn_mask=may | ~seen)
    tolerance = TOLERANCE[X.dtype]
    assert all(projection.bias is not None for projection in (layer.W_q, layer.W_k, layer.W_v))
    torch.testing.assert_close(output.double(), expected, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close((weights @ layer.W_v(X)).double(), expected, atol=2 * tolerance, rtol=tolerance)
    ours = torch.autograd.grad(output.double().square().sum(), list(layer.parameters()))
    theirs = torch.autograd.grad(expected.square().sum(), list(exact.parameters()))
    scale = max(1.0, *(float(grad.abs().max()) for grad in theirs))
    for our_grad, their_grad in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our_grad.double(), their_grad, atol=2 * scale * tolerance, rtol=0.05)


# ---- what is refused ----

SIZES: Any = {"key_size": 4, "query_size": 4, "value_size": 4, "num_hiddens": 4, "num_heads": 2, "dropout": 0.0}
HEADS, GROUPED = d2l.MultiHeadAttention(**SIZES), d2l.MultiHeadAttention(**SIZES, num_kv_heads=1)
X, SPREAD = torch.zeros(2, 3, 4), torch.ones(2, 3, 1, 4).bool()
WRONG: list[Row] = [
    (d2l.MultiHeadAttention, "num_heads", {"num_hiddens=10 and num_heads=3": (4, 4, 4, 10, 3, 0.0)}),
    (d2l.MultiHeadAttention, "dropout", {"-0.1": (4, 4, 4, 4, 2, -0.1)}),
    *[
        (lambda name=name: d2l.MultiHeadAttention(**SIZES | {name: 0}), name, {"got 0": ()})
        for name in ("key_size", "query_size", "value_size", "num_kv_heads")
    ],
    (HEADS, "queries", {"(3, 4)": (X[0], X, X), "(2, 3, 5)": (X[..., [0] * 5], X, X), "float64": (X.double(),) * 3}),
    (HEADS, "keys", {"(2, 3, 3)": (X, X[..., 1:], X)}),
    (HEADS, "values", {"(2, 3, 3)": (X, X, X[..., 1:])}),
    (HEADS, "valid_lens", {"to 4": (X, X, X, torch.tensor([1, 4]))}),
    (lambda mask: HEADS(X, X, X, mask=mask), "mask", {"(2, 4, 4)": (torch.ones(2, 4, 4).bool(),)}),
    (lambda flag: HEADS(X, X, X, causal=flag), "causal", {"got 1": (1,)}),
    (HEADS.keys_and_values, "keys", {"(3, 4)": (X[0], X), "(2, 3, 3)": (X[..., 1:], X)}),
    (HEADS.keys_and_values, "values", {"(3, 4)": (X, X[0]), "got torch.float64": (X, X.double())}),
    (lambda K: GROUPED(X, cache=(K, K)), "cache[0]", {"num_kv_heads=1, got (2, 2, 3, 2)": (torch.zeros(2, 2, 3, 2),)}),
    (d2l.SelfAttention, "d_model", {"got 0": (0,)}),
    (d2l.SelfAttention(5), "X", {"(2, 3, 4)": (X,), "(3, 4)": (X[0],)}),
    (d2l.transpose_qkv, "num_heads", {"num_hiddens=4 and num_heads=3": (X, 3)}),
    (d2l.transpose_qkv, "X", {"(3, 4)": (X[0], 2)}),
    (d2l.transpose_output, "num_heads", {"X=2 and num_heads=3": (X, 3)}),
    (d2l.transpose_output, "X", {"(3, 4)": (X[0], 2)}),
    (lambda Q: d2l.AdditiveAttention(4, 5, 2, 0.0)(Q, X, X), "queries", {"(2, 3, 4)": (X,), "list": ([1.0],)}),
    (lambda K: d2l.DotProductAttention(0.0)(X, K, X), "keys", {"(2, 3, 3)": (X[..., 1:],)}),
    (lambda Q: d2l.DotProductAttention(0.0)(Q, Q, X), "queries", {"at least 1": (X[..., :0],)}),
    (lambda flag: d2l.DotProductAttention(0.0)(X, X, X, causal=flag), "causal", {"got 1": (1,)}),
    (
        lambda bias: d2l.DotProductAttention(0.0)(X, X, X, bias=bias),
        "bias",
        {"(2, 3, 3), got (5, 3)": (X.new_zeros(5, 3),)},
    ),
    (d2l.DotProductAttention, "dropout", {"1.5": (1.5,)}),
    (d2l.masked_softmax, "X", {"(3, 4)": (X[0],), "int64": (X.long(),)}),
    (d2l.masked_softmax, "valid_lens", {"to 5": (X, torch.tensor([1, 5]))}),
    (lambda mask: d2l.masked_softmax(X, mask=mask), "mask", {"list": ([True],)}),
    (d2l.causal_mask, "num_queries", {"num_queries=3, num_keys=2": (3, 2)}),
    (d2l.to_mha_mask, "mask", {"int64": (X.long(), 2), "(4,)": (X[0, 0].bool(), 2), "(2, 3, 1, 4)": (SPREAD, 2)}),
    (d2l.to_mha_mask, "num_heads", {"got 0": (X.bool(), 0)}),
    (d2l.from_mha_mask, "attn_mask", {"int64": (X.long(), 2), "list": ([True], 2), "(2, 3, 4)": (X.bool(), 3)}),
    (d2l.from_mha_mask, "attn_mask", {"0 and -inf": (X + 1, 2), "(4,)": (X[0, 0] > 0, 2), "=0": (X.bool(), 0)}),
]


test_what_does_not_fit_is_refused_by_name = refused(WRONG)


@pytest.mark.parametrize(
    ("make", "weights"),
    [
        (lambda: d2l.SelfAttention(4), {"W_q": "X"}),
        (lambda: d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0.0), {"W_q": "queries", "W_k": "keys", "W_v": "values"}),
        (lambda: d2l.AdditiveAttention(4, 4, 5, 0.0), {"W_q": "queries", "W_k": "keys"}),
    ],
)
def test_each_projection_guards_its_own_input(make: Any, weights: dict[str, str]) -> None:
    """Also one that was exchanged for a layer that does not say how large its input is."""
    for name, argument in weights.items():
        given = {key: torch.randn(2, 3, 4) for key in (["X"] if argument == "X" else ["queries", "keys", "values"])}
        layer = make()
        getattr(layer, name).double()
        with pytest.raises(ValueError, match=f"{argument} must have the dtype of the weights, torch.float64"):
            layer(**given)
        layer = make()
        setattr(layer, name, nn.Sequential(nn.Linear(4, getattr(layer, name).out_features, bias=False)))
        with pytest.raises(ValueError, match=rf"{argument} must have size 4 in their last dimension, got \(2, 3, 3\)"):
            layer(**given | {argument: torch.randn(2, 3, 3)})
