"""The ends of the instruments: words of messages, first and last cases, and what is given to the caller's function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import d2lmini as d2l
from d2lmini.instruments.elsewhere import compare_with_ours, count_runs, find_epsilon, probe_attention, read_results
from tests.package.instruments.sequences import sequence


def write_notebook(folder: Path, cells: list[dict[str, Any]]) -> None:
    (folder / "one.ipynb").write_text(json.dumps({"cells": cells}, ensure_ascii=False), "utf-8")


def test_the_layer_is_the_first_code_after_its_heading(tmp_path: Path) -> None:
    def code(source: list[str], *outputs: dict[str, Any]) -> dict[str, Any]:
        return {"cell_type": "code", "source": source, "outputs": list(outputs)}

    said = {"text": ["framework: 框架\n", "scale: 1/√d: as here\n", "no fact\n"]}
    cells = [
        code(["a\n", "b\n", "c\n"], {"data": {}}),
        {"cell_type": "markdown", "source": ["## The layer"]},
        {"cell_type": "markdown", "source": ["one\n", "two\n", "three\n", "four"]},
        code(["a\n", " \n", "b\n"], said),
        code(["a"]),
    ]
    write_notebook(tmp_path, cells)
    assert read_results(tmp_path) == {"框架": {"framework": "框架", "scale": "1/√d: as here", "lines": "2"}}


def test_a_difference_counts_wherever_it_comes_first() -> None:
    """In the first of the three kinds of valid lengths alone."""

    def run(same: Any, valid_lens: Any) -> Any:
        output, gradients = same.run_ours(valid_lens)
        if valid_lens is None:
            for array in (output, gradients["W_k"]):
                array.flat[abs(array).argmax()] *= 1.25
        return output, gradients

    assert compare_with_ours(run) == (pytest.approx(0.25), pytest.approx(0.25))


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match=r"^the output must be float32 of shape"):
        compare_with_ours(lambda same, lens: (same.run_ours(lens)[0][:1], {}))

    def cut(same: Any, lens: Any) -> Any:
        output, gradients = same.run_ours(lens)
        return output, {**gradients, "keys": gradients["keys"][:1]}

    with pytest.raises(ValueError, match=r"^the gradient of keys must be float32 of shape"):
        compare_with_ours(cut)


def test_a_framework_is_given_single_precision() -> None:
    given: list[np.dtype[Any]] = []

    def attend(Q: Any, K: Any, V: Any, mask: Any) -> Any:
        given.extend((Q.dtype, K.dtype, V.dtype))
        tensors = map(torch.from_numpy, (Q, K, V, mask))
        return torch.nn.functional.scaled_dot_product_attention(*tensors).numpy()

    def normalize(X: Any) -> Any:
        given.append(X.dtype)
        return torch.nn.functional.layer_norm(torch.from_numpy(X), (2,)).numpy()

    probe_attention(attend)
    find_epsilon(normalize)
    assert set(given) == {np.dtype("float32")}


@pytest.mark.parametrize("pair", [(-0.5, 0.9), (-0.9, 0.5), (0.5, -0.5), (-1.0, 1.0), (-0.5, 0.501)])
def test_only_opposite_numbers_are_a_layer_norm(pair: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="normalize must give -y and y"):
        find_epsilon(lambda X: np.array([pair]))


def test_the_second_call_has_the_shape_of_the_first() -> None:
    asked: list[int] = []

    def zeros(n: int) -> list[int]:
        asked.append(n)
        return [0] * n

    count_runs(lambda function: lambda X: X, zeros)
    assert asked[0] == asked[1] != asked[2]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: d2l.SeparableConvolution(0, 3), "d"),
        (lambda: d2l.SeparableConvolution(3, 0), "kernel_size"),
        (lambda: d2l.RestrictedSelfAttention(0, 1), "d"),
    ],
)
def test_a_size_that_is_refused_is_named(make: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        make()


def test_restricted_attention_has_three_matrices_and_nothing_else() -> None:
    shapes = [tuple(weight.shape) for weight in d2l.RestrictedSelfAttention(6, 1).parameters()]
    assert shapes == [(6, 6)] * 3


def test_an_input_that_is_refused_is_named() -> None:
    with pytest.raises(ValueError, match=r"^X must"):
        d2l.RestrictedSelfAttention(6, 1)(torch.zeros(1, 4, 5))


def test_nothing_reaches_the_last_output_but_what_the_first_input_sends() -> None:
    """The last output depends on all but the first input, the second on the first."""

    def skip(X: torch.Tensor) -> torch.Tensor:
        rest = X[:, 1:].sum(1, keepdim=True)  # (batch, 1, d)
        return torch.cat([X[:, :-1], rest], 1)

    X = sequence(5, 2)
    assert d2l.find_maximum_path_length([skip], X) is None
    assert d2l.find_maximum_path_length([lambda X: X.flip(1)], X) == 1
    assert d2l.find_maximum_path_length([lambda X: X.flip(1)] * 2, X) == 1


def test_no_token_is_no_chain() -> None:
    with pytest.raises(ValueError, match="X must"):
        d2l.find_maximum_path_length([lambda X: X], torch.zeros(1, 0, 2).double())
