"""What compares our layer with those of other frameworks: PyTorch stands in for them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from frameworks.same_layer import (
    SameLayer,
    compare_draws,
    compare_with_ours,
    count_runs,
    find_epsilon,
    probe_attention,
    read_results,
)

T = torch.from_numpy


def test_numbers_are_the_same_in_each_call_and_are_not_shared() -> None:
    one, other = SameLayer(), SameLayer()
    one.weights["W_q"][:] = 0
    assert all((one.weights[name] == other.weights[name]).all() and one.weights[name].std() > 0 for name in one.weights)
    assert all((a == b).all() for a, b in zip(one.inputs, other.inputs, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ours_is_the_layer_of_pytorch(dtype: str) -> None:
    """Values and gradients, against the formula written with PyTorch's own attention."""

    def run(same: SameLayer, valid_lens: Any) -> Any:
        W = {name: T(matrix).requires_grad_() for name, matrix in same.weights.items()}
        queries, keys, upstream = map(T, same.inputs)
        queries.requires_grad_()
        keys.requires_grad_()
        Q, K, V = (
            (X @ W[name].T).unflatten(2, (same.num_heads, -1)).transpose(1, 2)
            for X, name in ((queries, "W_q"), (keys, "W_k"), (keys, "W_v"))
        )
        mask = None if valid_lens is None else torch.arange(6) < T(valid_lens).reshape(2, 1, -1, 1)
        output = F.scaled_dot_product_attention(Q, K, V, mask).transpose(1, 2).flatten(2) @ W["W_o"].T
        (upstream * output).sum().backward()
        wanted = {**W, "queries": queries, "keys": keys}
        return output.detach().numpy(), {name: tensor.grad.numpy() for name, tensor in wanted.items()}  # type: ignore[union-attr]

    value, gradient = compare_with_ours(run, dtype)
    assert gradient is not None and max(value, gradient) < 64 * np.finfo(dtype).eps


@pytest.mark.parametrize("kind", [None, 2])
def test_a_difference_in_one_kind_of_valid_lengths_is_found(kind: int | None) -> None:
    """In the first and in the last of the three kinds alone, in values and in each gradient."""

    def change(what: str) -> Any:
        def run(same: SameLayer, valid_lens: Any) -> Any:
            output, gradients = same.run_ours(valid_lens)
            if (None if valid_lens is None else valid_lens.ndim) == kind:
                array = output if what == "output" else gradients[what]
                array.flat[abs(array).argmax()] *= 1.25
            return output, gradients

        return compare_with_ours(run)

    assert change("output") == (pytest.approx(0.25), 0.0)
    for name in ("W_q", "W_k", "W_v", "W_o", "queries", "keys"):
        assert change(name) == (0.0, pytest.approx(0.25))


def test_what_has_no_gradients_is_compared_by_its_values() -> None:
    assert compare_with_ours(lambda same, lens: (same.run_ours(lens)[0], {})) == (0.0, None)


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (lambda same, lens: (same.run_ours(lens)[0].astype("float64"), {}), "must be float32 of shape .* got float64"),
        (lambda same, lens: (same.run_ours(lens)[0][:1], {}), r"got float32 of shape \(1, 4, 20\)"),
        (lambda same, lens: (same.run_ours(lens)[0], {"W_q": same.weights["W_q"]}), "gradients must be those of W_q"),
    ],
)
def test_what_is_not_comparable_is_refused(run: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        compare_with_ours(run)
    with pytest.raises(ValueError, match="'float16'"):
        SameLayer("float16")


def pool(tokens_first: bool, inverted: bool, nothing: str, scale: str = "1/√d") -> Callable[..., Any]:
    """An attention with these habits."""

    def attend(Q: Any, K: Any, V: Any, mask: Any) -> Any:
        Q, K, V = (T(X).transpose(1, 2) if tokens_first else T(X) for X in (Q, K, V))
        seen = ~T(mask) if inverted else T(mask)
        scores = Q @ K.mT / (1 if scale == "1" else Q.shape[-1] ** 0.5)
        scores = scores.masked_fill(~seen, -torch.inf if nothing == "NaN" else -1e6)
        weights = F.softmax(scores, dim=-1)
        weights = weights * seen.any(-1, keepdim=True) if nothing == "zeros" else weights
        return ((weights @ V).transpose(1, 2) if tokens_first else weights @ V).numpy()

    return attend


@pytest.mark.parametrize("tokens_first", [True, False])
@pytest.mark.parametrize("inverted", [True, False])
@pytest.mark.parametrize(("nothing", "scale"), [("zeros", "1/√d"), ("the mean", "1"), ("NaN", "1/√d")])
def test_habits_are_found(tokens_first: bool, inverted: bool, nothing: str, scale: str) -> None:
    axes = "batch, tokens, heads" if tokens_first else "batch, heads, tokens"
    meaning = "is hidden" if inverted else "may attend"
    found = probe_attention(pool(tokens_first, inverted, nothing, scale))
    assert found == {"axes": axes, "True": meaning, "scale": scale, "nothing to attend to": nothing}


@pytest.mark.parametrize(
    ("attend", "told"),
    [
        (lambda Q, K, V, mask: V, "no axes, no meaning"),
        (lambda Q, K, V, mask: pool(False, False, "zeros")(Q, K, V, mask) + ~mask.any(-1)[..., None], "neither NaN"),
    ],
)
def test_what_is_no_attention_is_refused(attend: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        probe_attention(attend)


@pytest.mark.parametrize("eps", [1e-6, 1e-5, 1e-3, 2.5e-4])
def test_epsilon_is_found(eps: float) -> None:
    assert find_epsilon(lambda X: F.layer_norm(T(X), (2,), eps=eps).numpy()) == pytest.approx(eps, rel=0.05)


@pytest.mark.parametrize(
    "normalize", [lambda X: X * 0, lambda X: X + 1, lambda X: X / abs(X), lambda X: np.array([(-0.5, 0.501)])]
)
def test_what_is_no_layer_norm_is_refused(normalize: Any) -> None:
    with pytest.raises(ValueError, match="normalize must give -y and y"):
        find_epsilon(normalize)


def test_results_are_read_from_what_was_printed(tmp_path: Path) -> None:
    code = {"cell_type": "code", "source": ["a = 1\n", "\n", "b = 2"], "outputs": []}
    heading = {"cell_type": "markdown", "source": ["## The layer\n", "as it is"]}
    said = {"text": ["framework: Mine\n", "epsilon: 1e-05\n", "ok\n"]}
    printed = {"cell_type": "code", "source": [], "outputs": [said]}
    for name, cells in {"b": [heading, code, printed], "a": [heading, code], "c": [printed]}.items():
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
    assert read_results(tmp_path) == {"Mine": {"framework": "Mine", "epsilon": "1e-05", "lines": "2"}}
    assert read_results(tmp_path / "nowhere") == {}


def test_python_runs_in_each_call_or_once_for_each_shape_or_once() -> None:
    """Nothing is kept; what was made is kept for each shape; it is kept for all."""

    def once_each_shape(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        kept: dict[Any, Any] = {}

        def call(X: torch.Tensor) -> Any:
            if X.shape not in kept:
                kept[X.shape] = function(X)
            return kept[X.shape]

        return call

    def once(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        kept = function(torch.zeros(2))
        return lambda X: kept

    assert count_runs(lambda function: function, torch.zeros) == "3 of 3"
    assert count_runs(once_each_shape, torch.zeros) == "2 of 3"
    assert count_runs(once, torch.zeros) == "1 of 3"


def test_a_state_goes_on_and_a_seed_given_each_time_does_not() -> None:
    state = torch.Generator().manual_seed(0)
    assert compare_draws(lambda: torch.randn((), generator=state)) == "differ"
    assert compare_draws(lambda: torch.randn((), generator=torch.Generator().manual_seed(0))) == "equal"
