"""What the tests of attention share: drawn problems, and the answer by single steps."""

from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
dtypes = st.sampled_from(list(TOLERANCE))
sizes = st.integers(1, 7)
LENS_KINDS = ["none", "per example", "per query"]
MASK_KINDS = ["none", "causal", "per pair", "per key", "per example"]
lens_kinds, mask_kinds = st.sampled_from(LENS_KINDS), st.sampled_from(MASK_KINDS)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[torch.Generator, dict[str, Tensor]]:
    """Queries, keys and values of random sizes and dtype, and the generator for what goes with them."""
    batch, num_queries, num_keys, d, value_size = (draw(sizes) for _ in range(5))
    rng = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    dtype = draw(dtypes)
    shapes = {"queries": (batch, num_queries, d), "keys": (batch, num_keys, d), "values": (batch, num_keys, value_size)}
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
