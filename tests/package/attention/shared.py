"""What the tests of attention share: drawn problems, and the answer by single steps."""

import itertools
import math
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
dtypes = st.sampled_from(list(TOLERANCE))
sizes = st.integers(1, 7)
LENS_KINDS = ["none", "per example", "per query"]
MASK_KINDS = ["none", "causal", "per pair", "per key", "per example", "per head", "each"]
lens_kinds, mask_kinds = st.sampled_from(LENS_KINDS), st.sampled_from(MASK_KINDS)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[torch.Generator, dict[str, Tensor]]:
    """Queries, keys and values of random sizes and dtype, and the generator for what goes with them."""
    batch, num_queries, num_keys, d, value_size = (draw(sizes) for _ in range(5))
    rng = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    dtype = draw(dtypes)
    shapes = {"queries": (batch, num_queries, d), "keys": (batch, num_keys, d), "values": (batch, num_keys, value_size)}
    return rng, {name: torch.randn(*shape, generator=rng).to(dtype) for name, shape in shapes.items()}


def restrict(
    shape: tuple[int, ...], lens_kind: str, mask_kind: str, rng: torch.Generator | None = None
) -> tuple[dict[str, Any], Tensor]:
    """valid_lens and mask of the given kinds, and what both allow, spelled out entry by entry."""
    batch, *heads, num_queries, num_keys = shape
    every = [1] * len(heads)
    shapes: dict[str, tuple[int, ...]] = {
        "per pair": (num_queries, num_keys),
        "per key": (batch, *every, 1, num_keys),
        "per example": (batch, *every, 1, 1),
        "per head": (1, *heads, 1, num_keys),
        "each": shape,
    }
    mask = torch.rand(shapes[mask_kind], generator=rng) < 0.7 if mask_kind in shapes else None
    if mask_kind == "causal":
        mask = torch.ones(num_queries, num_keys, dtype=torch.bool).tril()
    may = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape).clone()
    lens_shape = {"none": None, "per example": (batch,), "per query": (batch, num_queries)}[lens_kind]
    lens = None if lens_shape is None else torch.randint(0, num_keys + 1, lens_shape, generator=rng)
    for b, q in itertools.product(range(batch), range(num_queries)) if lens is not None else ():
        may[b, ..., q, int(lens[b] if lens.dim() == 1 else lens[b, q]) :] = False
    return {"valid_lens": lens, "mask": mask}, may


def restricted(
    drawn: tuple[torch.Generator, dict[str, Tensor]], lens_kind: str, mask_kind: str, biased: bool
) -> tuple[dict[str, Any], Tensor]:
    """The same with valid_lens, a mask and a bias, and who may attend to what; rows may be left without a key.

    Some of the bias hides keys, by infinity or by what overflows in float32; where nobody may look, it is NaN.
    """
    rng, problem = drawn
    restriction, may = restrict((*problem["queries"].shape[:2], problem["keys"].shape[1]), lens_kind, mask_kind, rng)
    if not biased:
        return {**problem, **restriction, "bias": None}, may
    hidden = torch.rand(may.shape, generator=rng) < 0.3
    bias = 3 * torch.randn(may.shape, generator=rng, dtype=torch.float64)
    bias[hidden] = -math.inf if problem["values"].dtype == torch.float64 else -1e300
    return {**problem, **restriction, "bias": bias.masked_fill(~may, math.nan)}, may & ~hidden


def reference(problem: dict[str, Any], may: Tensor) -> Tensor:
    """PyTorch's attention in float64, query by query, so that no row without keys ever reaches it."""
    queries, keys, values = (problem[name].double() for name in ("queries", "keys", "values"))
    rows = []
    for b in range(queries.shape[0]):
        for q in range(queries.shape[1]):
            seen = may[b, q].nonzero()[:, 0]
            if len(seen) == 0:
                rows.append(values[b].sum(0) * 0 + queries[b, q].sum() * 0)
            else:
                arguments = queries[b, q : q + 1], keys[b, seen], values[b, seen]
                bias = None if problem["bias"] is None else problem["bias"][b, q : q + 1, seen]
                rows.append(F.scaled_dot_product_attention(*arguments, attn_mask=bias)[0])
    return torch.stack(rows).unflatten(0, queries.shape[:2])
