"""What may come in, and that what may not is refused by name and value: tensors and plain arguments."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from d2lmini import checks as t
from tests.package.refusals import Row, refused


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


def whole(*numbers: int) -> Tensor:
    return torch.tensor(numbers, dtype=torch.int64)


def mask(*shape: int) -> Tensor:
    return zeros(*shape, dtype=torch.bool)


def divides(whole: int, part: int) -> None:
    t.check_divides("num_heads", part, "num_hiddens", whole)


def shapes(X: Any, Y: Any = None) -> None:
    more = {} if Y is None else {"Y": (Y, "one size")}
    t.check_shapes({"rows": 2}, X=(X, "rows columns size"), **more)


def positions(queries: Any, keys: Any, known: Any = None) -> None:
    t.check_positions(queries, keys, **(known or {}))


HALF, DOUBLE, META, CPU = torch.bfloat16, torch.float64, torch.device("meta"), torch.device("cpu")
X, Q, K = zeros(2, 3, 4), zeros(2, 3, 4, 6), zeros(2, 3, 5, 6)
ALL = (2, 3, 4, 5)
RIGHT: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (t.check_size, [("x", 1), ("x", 10**9), ("x", np.int64(2))]),
    (t.check_flag, [("x", True), ("x", False)]),
    (t.check_number, [("x", 0, 0, 1), ("x", 1, 0, 1), ("x", 0.5, 0, 1)]),
    (t.check_choice, [("x", "a", ("a", "b")), ("x", "b", ("a", "b"))]),
    (t.check_start, [(0,), (1,), (2**52,)]),
    (t.check_names, [("x", ["a", "b"], 2, "rows"), ("x", ("a", "b"), 2, "rows"), ("x", None, 2, "rows")]),
    (divides, [(1, 1), (6, 3), (8, 8)]),
    (t.check_integers, [("x", zeros(2, dtype=torch.uint8))]),
    (t.check_broadcast, [("x", zeros(1, 4), (2, 3, 4)), ("x", zeros(), (2, 3, 4))]),
    (shapes, [(zeros(2, 0, 5),), (zeros(2, 3, 5),)]),
    (lambda *numbers: t.check_floats(X=X, Y=numbers[0]), [(zeros(1),)]),
    (t.check_lengths, [("x", n, 5) for n in (whole(0, 5), torch.tensor([[0.0, 5.0]]))]),
    (t.check_lengths, [("x", n, 0) for n in (zeros(0), whole(), zeros(2).to(META))]),
    (t.check_mask, [(mask(1, 4, 5), ALL), (mask(4, 1, 5), (4, 4, 5))]),
    (t.check_steps, [(0, 0), (2, 2), (1, 2)]),
    (t.check_first, [(X, 0, 4), (X, whole(6, 0), 4), (zeros(0, 3, 4), whole(), 4)]),
    (t.check_room, [(3, 0, 3), (3, 6, 9), (3, whole(6, 0), 9), (3, whole(6, 0).to(META), 1), (3, whole(), 3)]),
    (t.check_pairs, [("x", zeros(3, 2)), ("x", zeros(1, 2, 4, 6, dtype=HALF))]),
    (positions, [(Q, K), (Q, Q, {"num_heads": 3, "head_size": 6})]),
    (t.check_causal, [(True, 3, 3), (False, 4, 3), (True, 2, 3)]),
    (t.check_bias, [(X[:1], (2, 3, 4), CPU)]),
    (t.check_tokens, [(whole(0, 6)[None], 7), (mask(2, 0).long(), 1), (mask(2, 3).int().to(META), 1)]),
]
WRONG: list[Row] = [
    (t.check_size, "x", {repr(n): ("x", n) for n in (0, -1, 2.0, True, "3", None)}),
    (t.check_flag, "x", {repr(n): ("x", n) for n in (1, 0, "yes", None)}),
    (t.check_number, "x", {repr(n): ("x", n, 0, 1) for n in (-1e-9, 1.5, math.nan, True, "0", None)}),
    (t.check_choice, "x", {repr(n): ("x", n, ("a", "b")) for n in ("c", "", None)}),
    (t.check_start, "start", {repr(n): (n,) for n in (-1, 2**52 + 1, True, 1.0, "0", None)}),
    (t.check_names, "x", {"1": ("x", ["a"], 2, "rows"), "0": ("x", [], 2, "rows"), "'ab'": ("x", "ab", 2, "rows")}),
    (divides, "num_heads", {"num_hiddens=6 and num_heads=4": (6, 4), "0": (6, 0)}),
    (divides, "num_hiddens", {"0": (0, 1)}),
    (t.check_integers, "x", {"torch.float32 (2,)": ("x", zeros(2)), "list": ("x", [1])}),
    (t.check_boolean, "x", {"torch.float32 (2,)": ("x", zeros(2)), "list": ("x", [True])}),
    (t.check_broadcast, "x", {"got (3, 2)": ("x", zeros(3, 2), (2, 3, 4)), "(1, 1, 1)": ("x", zeros(1, 1, 1), (3, 4))}),
    (shapes, "X", {"(2, 3)": (X[..., 0],), "list": ([1],), "rows=2, got (3, 3, 4)": (zeros(3, 3, 4),)}),
    (shapes, "Y", {"size=4, as X has, got (9, 3)": (X, zeros(9, 3)), "(one, size), got (4,)": (X, zeros(4))}),
    (lambda Y: t.check_floats(X=X, Y=Y), "Y", {"float64": (X.double(),)}),
    (lambda X: t.check_floats(X=X), "X", {"int64": (X.long(),)}),
    (t.check_projected, "x", {"list": ("x", [1], 4, nn.Linear(4, 4)), "size 5": ("x", X, 9, nn.Linear(5, 4))}),
    (t.check_projected, "x", {"size 9": ("x", X, 9, nn.Sequential()), "64": ("x", X, 4, nn.Linear(4, 4).double())}),
    (t.check_inputs, "keys", {"list": (X, [1], X), "(3, 4)": (X, X[0], X)}),
    (t.check_inputs, "values", {"list": (X, X, [1])}),
    (t.check_inputs, "keys", {"batch=2, as queries has, got (1, 3, 4)": (X, X[:1], X)}),
    (t.check_inputs, "values", {"keys=3, as keys has, got (2, 5, 4)": (X, X, zeros(2, 5, 4))}),
    (lambda K: t.check_inputs(X, K, K, one_size=True), "keys", {"(2, 3, 5)": (zeros(2, 3, 5),)}),
    (t.check_lengths, "x", {"list": ("x", [1], 4), "bool": ("x", mask(4), 4), "(2, 3, 4)": ("x", X, 4)}),
    (t.check_lengths, "x", {"1 to 5": ("x", whole(1, 5), 4), "-1": ("x", whole(-1), 4), "2.5": ("x", whole(5) / 2, 4)}),
    (t.check_one_length_each, "x", {"got (2, 3, 4)": ("x", X, (2,), (2, 3))}),
    (t.check_causal, "causal", {"got 1": (1, 2, 3), "4 queries and 3 keys": (True, 4, 3)}),
    (t.check_mask, "mask[None]", {f"({first}, 1, 5)": (mask(first, 1, 5), ALL) for first in (2, 3)}),
    (t.check_mask, "mask", {"got (4, 1, 5)": (mask(4, 1, 5), ALL), "list": ([True], ALL)}),
    (t.check_bias, "bias", {"int64": (X.long(), X.shape, CPU), "cpu": (X, X.shape, META), "5": (X, ALL[1:], CPU)}),
    (t.check_tokens, "tokens", {"-1": (whole(-1)[None], 7), "list": ([[1]], 7), "int64 (1,)": (whole(1), 7)}),
    (t.check_tokens, "tokens", {str(of): (zeros(1, 1, dtype=of), 7) for of in (HALF, torch.uint8, torch.bool)}),
    (t.check_steps, "num_queries", {f"{n!r} and {k!r}": (n, k) for n, k in [(True, 1), (1, True), (1.0, 2), (1, "2")]}),
    (t.check_steps, "num_queries", {f"{n}, num_keys={k}": (n, k) for n, k in [(-1, 1), (3, 2), (1, 0)]}),
    (t.check_first, "X", {"got (3, 4)": (X[0], 0, 4), "num_hiddens=5": (X, 0, 5)}),
    (t.check_room, "max_len", {"3 does": (3, 0, 2), "start=7": (3, 7, 9), "=7": (3, whole(1, 7), 9)}),
    (t.check_first, "start", {"-1": (X, -1, 4), "tensor(1)": (X, torch.tensor(1), 4), "32": (X, zeros(2), 4)}),
    (t.check_first, "start", {f"({n}, 1)": (X, whole(*range(n))[:, None], 4) for n in (2, 3)}),
    (t.check_first, "start", {"(3,)": (X, whole(1, 2, 3), 4)}),
    (t.check_pairs, "x", {"list": ("x", [1.0]), "(2,)": ("x", zeros(2)), "int64": ("x", X.long())}),
    (t.check_pairs, "x", {f"got {size}": ("x", zeros(1, 2, size)) for size in (0, 1, 3)}),
    (positions, "queries", {"list": ([1], K), "(3, 4, 6)": (Q[0], K[0]), "6, 1)": (Q[..., None], K)}),
    (positions, "keys", {"list": (Q, [1]), "(1, 3, 5, 6)": (Q, K[:1]), "head_size=6": (Q, K[..., 1:])}),
    (positions, "queries", {"num_heads=2": (Q, K, {"num_heads": 2}), "=5": (Q, K, {"head_size": 5})}),
    (positions, "queries", {"5 queries and 4": (K, Q)}),
]


@pytest.mark.parametrize(("check", "calls"), RIGHT)
def test_what_fits_comes_in(check: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    for given in calls:
        check(*given)


test_what_does_not_fit_is_refused_by_name = refused(WRONG)


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
        t.check_projected("x", X, 4, layer)
    with torch.autocast("cpu", dtype=HALF):
        t.check_projected("x", X.to(HALF), 4, nn.Linear(4, 4))
        t.check_floats(X=X, Y=X.to(HALF))
        with pytest.raises(ValueError, match="X, Y must share one"):
            t.check_floats(X=X, Y=X.to(DOUBLE))


def test_numbers_are_read_where_there_are_some() -> None:
    assert t.read_range(torch.tensor([3, -1, 2])) == (-1, 3)
    assert t.read_range(torch.tensor([4])) == (4, 4)
    assert t.read_range(zeros(0)) is None
    assert t.read_range(zeros(3).to(META)) is None
    found = []
    torch.func.vmap(lambda numbers: (found.append(t.read_range(numbers)), numbers)[1])(X)
    torch.jit.trace(lambda numbers: (found.append(t.read_range(numbers)), numbers + 1)[1], X, check_trace=False)
    make_fx(lambda numbers: (found.append(t.read_range(numbers)), numbers)[1], tracing_mode="symbolic")(X)
    assert found and set(found) == {None}


def test_what_is_no_number_yet_fits_into_any_table() -> None:
    """While a graph is recorded the position of the first token stands for all that will come."""
    offsets = []

    def rotate(X: Tensor, offset: Tensor) -> Tensor:
        t.check_first(X, offset, 4)
        t.check_room(3, offset, 4)
        offsets.append(offset)
        return X + offset

    torch.jit.trace(rotate, (X, torch.tensor(9)), check_trace=False)
    make_fx(lambda X: rotate(X, X.shape[1]), tracing_mode="symbolic")(X)
    assert [type(offset) for offset in offsets] == [Tensor, torch.SymInt]
