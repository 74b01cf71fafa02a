"""The layers that are compared, beside layers that do the same."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lmini as d2l
from tests.package.costs.sequences import sequence
from tests.package.refusals import rejected


@given(n=st.integers(1, 9), d=st.integers(1, 9), radius=st.integers(1, 3))
@settings(max_examples=20)
def test_restricted_attention_is_attention_under_a_band_mask(n: int, d: int, radius: int) -> None:
    restricted, X = d2l.RestrictedSelfAttention(d, radius).double(), sequence(n, d)
    near = (torch.arange(n)[:, None] - torch.arange(n)).abs() <= radius
    Q, K, V = restricted.W_q(X), restricted.W_k(X), restricted.W_v(X)
    torch.testing.assert_close(restricted(X), d2l.DotProductAttention(0.0)(Q, K, V, mask=near))


def test_a_separable_convolution_is_a_convolution_of_rank_one_kernels() -> None:
    torch.manual_seed(0)
    separable, full, X = d2l.SeparableConvolution(3, 5).double(), d2l.Convolution(3, 5).double(), sequence(7, 3)
    with torch.no_grad():
        full.conv.weight.copy_(separable.across.weight[:, :, None] * separable.along.weight[:, 0][None])
    torch.testing.assert_close(separable(X), full(X))


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.Convolution(3, 4), "kernel_size must be odd for a centred kernel, got 4"),
    (lambda: d2l.Convolution(0, 3), "d must be an integer of at least 1, got 0"),
    (lambda: d2l.Convolution(3, 3, dilation=0), "dilation must be .* got 0"),
    (lambda: d2l.Convolution(3, 3)(torch.zeros(1, 4, 2)), r"X must have shape \(batch, n, 3\) .* got \(1, 4, 2\)"),
    (lambda: d2l.SeparableConvolution(3, 4), "kernel_size must be odd for a centred kernel, got 4"),
    (lambda: d2l.SeparableConvolution(3, 3)(torch.zeros(1, 4, 2)), r"X must have shape \(batch, n, 3\)"),
    (lambda: d2l.RestrictedSelfAttention(3, 0), "radius must be .* got 0"),
    (lambda: d2l.RestrictedSelfAttention(3, 1)(torch.zeros(1, 4, 2)), r"X must have shape \(batch, n, 3\)"),
    (lambda: d2l.RestrictedSelfAttention(3, 1)(torch.zeros(1, 0, 3)), "n of at least 1, got"),
)
