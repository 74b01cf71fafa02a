"""Attention against PyTorch's own, against closed forms, and against the known bugs of others."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l

TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
dtypes = st.sampled_from(list(TOLERANCE))
sizes = st.integers(1, 7)


LENS_KINDS = ["none", "per example", "per query"]
MASK_KINDS = ["none", "causal", "per pair", "per key", "per example"]
every_kind = pytest.mark.parametrize(("lens_kind", "mask_kind"), list(itertools.product(LENS_KINDS, MASK_KINDS)))


@st.composite
def tensors(draw: st.DrawFn) -> tuple[torch.Generator, dict[str, Tensor]]:
    """Queries, keys and values of random sizes and dtype, and the generator for what goes with them."""
    batch, num_queries, num_keys, d, value_size = (draw(sizes) for _ in range(5))
    rng = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    dtype = draw(dtypes)
    shapes = {
        "queries": (batch, num_queries, d),
        "keys": (batch, num_keys, d),
        "values": (batch, num_keys, value_size),
    }
    return rng, {name: torch.randn(*shape, generator=rng).to(dtype) for name, shape in shapes.items()}


def restricted(drawn: tuple[torch.Generator, dict[str, Tensor]], lens_kind: str, mask_kind: str) -> dict[str, Any]:
    """The same with valid_lens and a mask of the given kinds; rows may be left without a key."""
    rng, problem = drawn
    batch, num_queries, num_keys = *problem["queries"].shape[:2], problem["keys"].shape[1]
    lens_shape = {"none": None, "per example": (batch,), "per query": (batch, num_queries)}[lens_kind]
    shapes = {"per pair": (num_queries, num_keys), "per key": (batch, 1, num_keys), "per example": (batch, 1, 1)}
    mask = torch.rand(shapes[mask_kind], generator=rng) < 0.7 if mask_kind in shapes else None
    if mask_kind == "causal":
        mask = torch.ones(num_queries, num_keys, dtype=torch.bool).tril()
    lens = None if lens_shape is None else torch.randint(0, num_keys + 1, lens_shape, generator=rng)
    return {**problem, "valid_lens": lens, "mask": mask}


def allowed(problem: dict[str, Any]) -> Tensor:
    """What both restrictions together allow, spelled out entry by entry."""
    queries, keys, lens, mask = (problem[name] for name in ("queries", "keys", "valid_lens", "mask"))
    shape = (*queries.shape[:2], keys.shape[1])
    result = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape).clone()
    if lens is not None:
        for b in range(shape[0]):
            for q in range(shape[1]):
                result[b, q, int(lens[b] if lens.dim() == 1 else lens[b, q]) :] = False
    return result


def reference(problem: dict[str, Any]) -> Tensor:
    """PyTorch's attention in float64, query by query, so that no row without keys ever reaches it."""
    queries, keys, values = (problem[name].double() for name in ("queries", "keys", "values"))
    may = allowed(problem)
    rows = []
    for b in range(queries.shape[0]):
        for q in range(queries.shape[1]):
            seen = may[b, q].nonzero()[:, 0]
            if len(seen) == 0:
                rows.append(values[b].sum(0) * 0 + queries[b, q].sum() * 0)
            else:
                arguments = queries[b, q : q + 1], keys[b, seen], values[b, seen]
                rows.append(F.scaled_dot_product_attention(*(a[None] for a in arguments))[0, 0])
    return torch.stack(rows).unflatten(0, queries.shape[:2])


@every_kind
@pytest.mark.parametrize("need_weights", [False, True])
@given(drawn=tensors())
@settings(max_examples=12)
def test_dot_product_attention_equals_pytorch_in_values_and_gradients(
    drawn: Any, lens_kind: str, mask_kind: str, need_weights: bool
) -> None:
    problem = restricted(drawn, lens_kind, mask_kind)
    tolerance = TOLERANCE[problem["values"].dtype]
    before = {name: None if part is None else part.clone() for name, part in problem.items()}
    leaves = [problem[name].requires_grad_() for name in ("queries", "keys", "values")]
    result = d2l.DotProductAttention(0.0)(**problem, need_weights=need_weights)
    output = result[0] if need_weights else result
    expected = reference(problem)
    torch.testing.assert_close(output.double(), expected, atol=tolerance, rtol=tolerance)
    assert output.dtype == problem["values"].dtype

    ours = torch.autograd.grad(output.double().square().sum(), leaves, materialize_grads=True)
    theirs = torch.autograd.grad(expected.square().sum(), leaves, materialize_grads=True)
    for our_grad, their_grad in zip(ours, theirs, strict=True):
        assert our_grad.isfinite().all()
        torch.testing.assert_close(our_grad, their_grad, atol=10 * tolerance, rtol=10 * tolerance)
    for name, part in problem.items():
        assert part is None or torch.equal(part, before[name]), f"{name} was changed"


@every_kind
@given(drawn=tensors())
@settings(max_examples=12)
def test_weights_are_a_distribution_over_what_may_be_attended_to(drawn: Any, lens_kind: str, mask_kind: str) -> None:
    problem = restricted(drawn, lens_kind, mask_kind)
    for attention in (
        d2l.DotProductAttention(0.0),
        d2l.AdditiveAttention(problem["keys"].shape[2], problem["queries"].shape[2], 3, 0.0).to(problem["keys"].dtype),
    ):
        output, weights = attention(**problem, need_weights=True)
        may = allowed(problem)
        sums = may.any(-1).to(torch.float64)
        assert ((weights > 0) <= may).all() and (weights >= 0).all()
        torch.testing.assert_close(weights.double().sum(-1), sums, atol=2e-2, rtol=0)
        assert (output[~may.any(-1)] == 0).all()
        torch.testing.assert_close(output, attention(**problem), atol=4e-2, rtol=4e-2)


@given(drawn=tensors())
def test_additive_attention_scores_each_pair_alone_in_values_and_gradients(drawn: Any) -> None:
    queries, keys, values = (drawn[1][name].double() for name in ("queries", "keys", "values"))
    attention = d2l.AdditiveAttention(keys.shape[2], queries.shape[2], 5, 0.0).double()
    output, weights = attention(queries, keys, values, need_weights=True)
    scores = torch.empty_like(weights)
    for b, q, k in torch.cartesian_prod(*(torch.arange(size) for size in weights.shape)).reshape(-1, 3).tolist():
        hidden = attention.W_q.weight @ queries[b, q] + attention.W_k.weight @ keys[b, k]
        scores[b, q, k] = attention.w_v.weight[0] @ torch.tanh(hidden)
    torch.testing.assert_close(weights, scores.softmax(-1))
    torch.testing.assert_close(output, scores.softmax(-1) @ values)
    parameters = list(attention.parameters())
    ours = torch.autograd.grad(output.square().sum(), parameters)
    theirs = torch.autograd.grad((scores.softmax(-1) @ values).square().sum(), parameters)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("attention", [d2l.DotProductAttention(0.0), d2l.AdditiveAttention(4, 4, 3, 0.0)])
def test_one_query_does_not_influence_another(attention: torch.nn.Module) -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(1, 5, 4), torch.randn(1, 5, 4), torch.randn(1, 5, 4)
    changed = queries.clone()
    changed[0, 3] += 1
    moved = (attention(changed, keys, values) - attention(queries, keys, values)).abs().sum(-1)[0]
    assert (moved > 1e-4).tolist() == [False, False, False, True, False]


def test_the_hand_made_dictionary() -> None:
    """One match returns its value, two equal matches their mean: no shape or scale can be wrong here."""
    keys = torch.tensor([[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]])
    values = torch.tensor([[[10.0], [20], [40], [80]]])
    queries = 100 * torch.tensor([[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]])
    output = d2l.DotProductAttention(0.0)(queries, keys, values)
    torch.testing.assert_close(output, torch.tensor([[[10.0], [30], [37.5]]]))


def test_the_scale_is_the_root_of_the_width() -> None:
    ones = torch.ones(1, 1, 16)
    keys = torch.stack([torch.ones(16), torch.zeros(16)])[None]
    _, weights = d2l.DotProductAttention(0.0)(ones, keys, keys, need_weights=True)
    torch.testing.assert_close(weights[0, 0], torch.tensor([4.0, 0]).softmax(0))  # 16 / sqrt(16) = 4


@pytest.mark.parametrize("kind", ["dot product", "additive"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_acts_in_training_only_and_on_the_output_only(kind: str, need_weights: bool) -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    sure, dropping = (
        d2l.DotProductAttention(p) if kind == "dot product" else d2l.AdditiveAttention(4, 4, 3, p) for p in (0.0, 0.9)
    )
    dropping.load_state_dict(sure.state_dict())

    def both(attention: torch.nn.Module, **more: Tensor) -> tuple[Tensor, Tensor | None]:
        result = attention(queries, keys, values, need_weights=need_weights, **more)
        return result if need_weights else (result, None)

    (dropped, weights), (kept, sure_weights) = both(dropping.train()), both(sure)
    assert not torch.allclose(dropped, kept)
    assert weights is None or torch.equal(weights, sure_weights)
    torch.testing.assert_close(both(dropping.eval())[0], kept)
    assert (both(dropping.train(), valid_lens=torch.zeros(2, dtype=torch.long))[0] == 0).all()


@pytest.mark.parametrize("attention", [d2l.DotProductAttention(0.0), d2l.AdditiveAttention(4, 4, 3, 0.0)])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("junk", [math.nan, math.inf])
def test_padding_may_hold_anything(attention: torch.nn.Module, need_weights: bool, junk: float) -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    lens = torch.tensor(
        [[3, 3, 0], [0, 0, 0]]
    )  # two padded keys, a padded query, an example that is padding throughout
    results = []
    for filling in (0.0, junk):
        hidden = torch.arange(5)[:, None] >= lens[:, :1, None]
        leaves = [queries.masked_fill(lens[..., None] == 0, filling)]
        leaves += [keys.masked_fill(hidden, filling), values.masked_fill(hidden, filling)]
        leaves = [leaf.requires_grad_() for leaf in leaves]
        output = attention(*leaves, lens, need_weights=need_weights)
        output = output[0] if need_weights else output
        results.append([output, *torch.autograd.grad(output.square().sum(), leaves)])
    for clean, padded in zip(*results, strict=True):
        assert padded.isfinite().all() and torch.equal(clean, padded)


def test_no_state_is_kept() -> None:
    attention = d2l.DotProductAttention(0.0)
    before = set(vars(attention))
    attention(torch.randn(1, 2, 3), torch.randn(1, 2, 3), torch.randn(1, 2, 3), need_weights=True)
    assert set(vars(attention)) == before


def test_no_keys_at_all() -> None:
    queries, keys, values = torch.randn(2, 3, 4), torch.randn(2, 0, 4), torch.randn(2, 0, 5)
    output, weights = d2l.DotProductAttention(0.0)(queries, keys, values, need_weights=True)
    assert output.shape == (2, 3, 5) and (output == 0).all() and weights.shape == (2, 3, 0)
    assert torch.equal(d2l.DotProductAttention(0.0)(queries, keys, values), output)


def test_float16_scores_beyond_65504_do_not_overflow() -> None:
    queries = torch.full((1, 1, 64), 200.0, dtype=torch.float16)
    keys = torch.stack([torch.full((64,), 200.0), torch.full((64,), 100.0)])[None].half()
    values = torch.tensor([[[1.0], [2.0]]]).half()
    for need_weights in (False, True):
        result = d2l.DotProductAttention(0.0)(queries, keys, values, need_weights=need_weights)
        assert (result[0] if need_weights else result).item() == 1.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_both_paths_agree_under_autocast(dtype: torch.dtype) -> None:
    queries, keys = (
        torch.full((1, 1, 64), 200.0),
        torch.stack([torch.full((64,), 200.0), torch.full((64,), 100.0)])[None],
    )
    values = torch.tensor([[[1.0], [2.0]]])
    attention = d2l.DotProductAttention(0.0)
    with torch.autocast("cpu", dtype=dtype):
        output, weights = attention(queries, keys, values, need_weights=True)
        fused = attention(queries, keys, values)
    assert (
        weights.tolist() == [[[1, 0]]] and output.item() == fused.item() == 1 and output.dtype == fused.dtype == dtype
    )


def test_it_prints_as_in_the_sources() -> None:
    assert str(d2l.DotProductAttention(0.5)) == ("DotProductAttention(\n  (dropout): Dropout(p=0.5, inplace=False)\n)")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@every_kind
@given(drawn=tensors())
@settings(max_examples=12)
def test_the_gpu_agrees(drawn: Any, lens_kind: str, mask_kind: str) -> None:
    problem = restricted(drawn, lens_kind, mask_kind)
    on_gpu = {name: None if part is None else part.cuda() for name, part in problem.items()}
    tolerance = max(TOLERANCE[problem["values"].dtype], 1e-4)
    for need_weights in (False, True):
        result = d2l.DotProductAttention(0.0)(**on_gpu, need_weights=need_weights)
        output = (result[0] if need_weights else result).cpu().double()
        torch.testing.assert_close(output, reference(problem), atol=tolerance, rtol=tolerance)


# ---- masked_softmax: what goes wrong elsewhere ----


def test_masked_softmax_on_the_sources_example() -> None:
    torch.manual_seed(0)
    X = torch.rand(2, 2, 4)
    by_example = d2l.masked_softmax(X, torch.tensor([2, 3]))
    torch.testing.assert_close(by_example[0, :, :2], X[0, :, :2].softmax(-1))
    assert (by_example[0, :, 2:] == 0).all() and (by_example[1, :, 3:] == 0).all()
    by_query = d2l.masked_softmax(X, torch.tensor([[1, 3], [2, 4]]))
    assert by_query[0, 0].tolist() == [1, 0, 0, 0]
    torch.testing.assert_close(by_query[1, 1], X[1, 1].softmax(-1))


def test_masked_softmax_leaves_its_argument_alone() -> None:
    X = torch.rand(2, 2, 4)
    before = X.clone()
    d2l.masked_softmax(X, torch.tensor([1, 2]), mask=d2l.causal_mask(2, 4))
    assert torch.equal(X, before)


def test_masked_softmax_with_very_low_scores_never_picks_a_masked_key() -> None:
    X = torch.tensor([[[-2e6, -3e6, 5.0]]])
    assert d2l.masked_softmax(X, torch.tensor([2]))[0, 0].tolist() == [1, 0, 0]


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_masked_softmax_of_nothing_is_zero_and_so_is_its_gradient(dtype: torch.dtype) -> None:
    X = torch.tensor([[[1.0, 2.0], [math.nan, math.inf]]], dtype=dtype, requires_grad=True)
    weights = d2l.masked_softmax(X, torch.tensor([[2, 0]]))
    assert weights.dtype == dtype
    assert weights[0, 1].tolist() == [0, 0]
    with torch.autograd.detect_anomaly(check_nan=True):
        weights.square().sum().backward()
    assert X.grad.isfinite().all() and (X.grad[0, 1] == 0).all() and (X.grad[0, 0] != 0).all()


def test_a_masked_key_may_hold_anything() -> None:
    X = torch.tensor([[[1.0, 2.0, math.nan, math.inf]]])
    torch.testing.assert_close(d2l.masked_softmax(X, torch.tensor([2]))[0, 0, :2], X[0, 0, :2].softmax(-1))


def test_masked_softmax_without_a_mask_is_softmax() -> None:
    X = torch.randn(2, 3, 4)
    assert torch.equal(d2l.masked_softmax(X), X.softmax(-1))


# ---- masks ----


def test_valid_lens_mask() -> None:
    assert d2l.valid_lens_mask(torch.tensor([0, 2]), 3).tolist() == [[[False] * 3], [[True, True, False]]]
    per_query = d2l.valid_lens_mask(torch.tensor([[1, 3]]), 3)
    assert per_query.tolist() == [[[True, False, False], [True, True, True]]]
    assert d2l.valid_lens_mask(torch.tensor([], dtype=torch.long), 3).shape == (0, 1, 3)


@given(st.integers(0, 6), st.integers(0, 6))
def test_causal_mask(num_queries: int, more_keys: int) -> None:
    num_keys = num_queries + more_keys
    mask = d2l.causal_mask(num_queries, num_keys)
    assert mask.shape == (num_queries, num_keys) and mask.dtype == torch.bool
    assert mask.sum(1).tolist() == list(range(more_keys + 1, num_keys + 1))
    assert (mask[:, 1:] <= mask[:, :-1]).all()  # no gap: the keys seen are the first ones
    if more_keys == 0:
        assert torch.equal(mask, d2l.causal_mask(num_queries))


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.sampled_from([2, 3, 4]))
def test_mha_masks_mean_the_same_to_mha(batch: int, num_heads: int, num_queries: int, num_keys: int, dim: int) -> None:
    rng = torch.Generator().manual_seed(batch + 10 * num_heads + 100 * num_queries + 1000 * num_keys)
    shape = {
        2: (num_queries, num_keys),
        3: (batch, num_queries, num_keys),
        4: (batch, num_heads, num_queries, num_keys),
    }
    mask = torch.rand(shape[dim], generator=rng) < 0.5
    mask[..., 0] = True  # nn.MultiheadAttention returns NaN for a query without keys
    mha = torch.nn.MultiheadAttention(num_heads * 2, num_heads, batch_first=True)
    queries, keys = torch.randn(batch, num_queries, num_heads * 2), torch.randn(batch, num_keys, num_heads * 2)
    _, weights = mha(queries, keys, keys, attn_mask=d2l.to_mha_mask(mask, num_heads), average_attn_weights=False)
    per_head = mask[:, None] if dim == 3 else mask
    assert torch.equal(weights > 0, per_head.expand_as(weights))
    back = d2l.from_mha_mask(d2l.to_mha_mask(mask, num_heads), num_heads)
    assert torch.equal(back, per_head.expand_as(back))


def test_from_mha_mask_reads_additive_masks() -> None:
    attn_mask = torch.nn.Transformer.generate_square_subsequent_mask(4)  # 0 and -inf
    assert torch.equal(d2l.from_mha_mask(attn_mask, 2), d2l.causal_mask(4))


# ---- errors at the door ----

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
            lambda: d2l.masked_softmax(X, torch.tensor([1.0, 2])),
            r"valid_lens must be a tensor of integers, got .*float",
        ),
        (lambda: d2l.masked_softmax(X, [1, 2]), r"valid_lens must be a tensor of integers, got list"),
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
        (lambda: d2l.to_mha_mask(MASK, 0), r"num_heads must be at least 1, got 0"),
        (lambda: d2l.from_mha_mask([True], 2), r"attn_mask must be a boolean tensor, got list"),
    ],
)
def test_bad_input_is_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
