"""Attention pooling: equal to PyTorch in values and gradients, blind to padding, without state."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import d2lmini as d2l
from tests.package.attention.shared import TOLERANCE, lens_kinds, mask_kinds, reference, restricted, tensors


@given(tensors(), lens_kinds, mask_kinds, st.booleans(), st.booleans())
@settings(max_examples=80)
def test_values_and_gradients_are_pytorchs(
    drawn: Any, lens_kind: str, mask_kind: str, biased: bool, need_weights: bool
) -> None:
    problem, may = restricted(drawn, lens_kind, mask_kind, biased)
    tolerance = TOLERANCE[problem["values"].dtype]
    before = {name: None if part is None else part.clone() for name, part in problem.items()}
    leaves = [problem[name].requires_grad_() for name in ("queries", "keys", "values", "bias")[: 3 + biased]]
    result = d2l.DotProductAttention(0.0)(**problem, need_weights=need_weights)
    output = result[0] if need_weights else result
    expected = reference(problem, may)
    formula = d2l.attend(*leaves[:3], may, problem["bias"])
    for found in (output, formula):
        torch.testing.assert_close(found.double(), expected, atol=tolerance, rtol=tolerance)
        assert found.dtype == problem["values"].dtype

    ours = torch.autograd.grad(output.double().square().sum(), leaves, materialize_grads=True)
    theirs = torch.autograd.grad(expected.square().sum(), leaves, materialize_grads=True)
    for our_grad, their_grad in zip(ours, theirs, strict=True):
        assert our_grad.isfinite().all()
        torch.testing.assert_close(our_grad, their_grad, atol=10 * tolerance, rtol=10 * tolerance)
    for name, part in problem.items():
        assert part is None or torch.equal(part.nan_to_num(), before[name].nan_to_num()), f"{name} was changed"


@given(tensors(), lens_kinds, mask_kinds, st.booleans())
@settings(max_examples=40)
def test_weights_are_a_distribution_over_what_may_be_attended_to(
    drawn: Any, lens_kind: str, mask_kind: str, biased: bool
) -> None:
    problem, may = restricted(drawn, lens_kind, mask_kind, biased)
    K, Q = problem["keys"], problem["queries"]
    for attention in (d2l.DotProductAttention(0), d2l.AdditiveAttention(K.shape[2], Q.shape[2], 3, 0).to(K.dtype)):
        output, weights = attention(**problem, need_weights=True)
        sums = may.any(-1).to(torch.float64)
        assert ((weights > 0) <= may).all() and (weights >= 0).all()
        torch.testing.assert_close(weights.double().sum(-1), sums, atol=2e-2, rtol=0)
        assert (output[~may.any(-1)] == 0).all()
        torch.testing.assert_close(output, attention(**problem), atol=4e-2, rtol=4e-2)


@given(drawn=tensors())
@settings(max_examples=20)
def test_additive_attention_scores_each_pair_alone_in_values_and_gradients(drawn: Any) -> None:
    queries, keys, values = (drawn[1][name].double() for name in ("queries", "keys", "values"))
    attention = d2l.AdditiveAttention(keys.shape[2], queries.shape[2], 5, 0.0).double()
    bias = torch.randn(queries.shape[1], keys.shape[1], dtype=torch.float64)
    output, weights = attention(queries, keys, values, bias=bias, need_weights=True)
    scores = torch.empty_like(weights)
    for b, q, k in torch.cartesian_prod(*(torch.arange(size) for size in weights.shape)).reshape(-1, 3).tolist():
        hidden = attention.W_q.weight @ queries[b, q] + attention.W_k.weight @ keys[b, k]
        scores[b, q, k] = attention.w_v.weight[0] @ torch.tanh(hidden) + bias[q, k]
    torch.testing.assert_close(weights, scores.softmax(-1))
    torch.testing.assert_close(output, scores.softmax(-1) @ values)
    parameters = list(attention.parameters())
    ours = torch.autograd.grad(output.square().sum(), parameters)
    theirs = torch.autograd.grad((scores.softmax(-1) @ values).square().sum(), parameters)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    "make",
    [d2l.DotProductAttention, partial(d2l.AdditiveAttention, 4, 4, 3), partial(d2l.MultiHeadAttention, 4, 4, 4, 4, 2)],
)
@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_acts_in_training_only_and_on_the_output_only(make: Any, need_weights: bool) -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    sure, dropping = make(0.0), make(0.9)
    dropping.load_state_dict(sure.state_dict())

    def both(attention: torch.nn.Module, **more: Tensor) -> tuple[Tensor, Tensor | None]:
        result = attention(queries, keys, values, need_weights=need_weights, **more)
        return result if need_weights else (result, None)

    (dropped, weights), (kept, sure_weights) = both(dropping.train()), both(sure)
    assert not torch.allclose(dropped, kept)
    assert weights is None or torch.equal(weights, sure_weights)
    torch.testing.assert_close(both(dropping.eval())[0], kept)
    assert (both(dropping.train(), valid_lens=torch.zeros(2, dtype=torch.long))[0] == 0).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@given(tensors(), lens_kinds, mask_kinds, st.booleans())
@settings(max_examples=40)
def test_the_gpu_agrees(drawn: Any, lens_kind: str, mask_kind: str, biased: bool) -> None:
    problem, may = restricted(drawn, lens_kind, mask_kind, biased)
    on_gpu = {name: None if part is None else part.cuda() for name, part in problem.items()}
    tolerance = max(TOLERANCE[problem["values"].dtype], 1e-4)
    for need_weights in (False, True):
        result = d2l.DotProductAttention(0.0)(**on_gpu, need_weights=need_weights)
        output = (result[0] if need_weights else result).cpu().double()
        torch.testing.assert_close(output, reference(problem, may), atol=tolerance, rtol=tolerance)


def test_masked_softmax_with_very_low_scores_never_picks_a_masked_key() -> None:
    X = torch.tensor([[[-2e6, -3e6, 5.0]]])
    assert d2l.masked_softmax(X, torch.tensor([2]))[0, 0].tolist() == [1, 0, 0]


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_masked_softmax_of_nothing_is_zero_and_so_is_its_gradient(dtype: torch.dtype) -> None:
    X = torch.tensor([[[1.0, 2.0], [math.nan, math.inf]]], dtype=dtype, requires_grad=True)
    weights = d2l.masked_softmax(X, torch.tensor([[2, 0]]))
    assert weights.dtype == dtype
    torch.testing.assert_close(weights[0, 0], X[0, 0].softmax(-1))
    assert weights[0, 1].tolist() == [0, 0]
    with torch.autograd.detect_anomaly(check_nan=True):
        weights.square().sum().backward()
    assert X.grad.isfinite().all() and (X.grad[0, 1] == 0).all() and (X.grad[0, 0] != 0).all()
