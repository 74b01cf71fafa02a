"""The chapter on costs notices a wrong formula: put another one in its place, and the cell that checks it raises."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import nbformat
import pytest
import torch

import d2lmini as d2l
from tools.notebooks import NOTEBOOKS

FORMULA = re.compile(r'"([^"\n]+)": (lambda [^:\n]+: .+),\n')

# Written differently, but equal: a vanilla RNN and a causal convolution with kernel 2 cost the same.
SAME = (
    {"lambda n, d: 4 * n * d**2", "lambda n, d: 2 * n * d**2 + 2 * n * d**2"},
    {"lambda n: math.ceil((n - 1) / 2)", "lambda n: math.ceil((n - 1) / r)"},  # r is 2
)


@pytest.fixture(autouse=True)
def same_dtype_afterwards() -> Iterator[None]:
    """The chapter sets another one."""
    dtype = torch.get_default_dtype()
    yield
    torch.set_default_dtype(dtype)


def run(cells: list[str], names: dict[str, Any]) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells:
            exec(compile(cell, "<cell>", "exec"), names)
    return names


def split(dictionary: str) -> tuple[list[str], list[str]]:
    """The cells (no figures, no %pip) before the one that holds a dictionary, and those from there to its check."""
    notebook = nbformat.read(NOTEBOOKS / "complexity.ipynb", as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    cells = [source for source in sources if not re.search("show_|draw_|%pip", source)]
    holding = next(i for i, cell in enumerate(cells) if f"\n{dictionary} = {{" in f"\n{cell}")
    checking = next(i for i, cell in enumerate(cells) if f"{dictionary}[name]" in cell and "assert" in cell)
    return cells[:holding], cells[holding : checking + 1]


def measure_once(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> Callable[[], None]:
    """Instruments that, after each call of what is returned, give again what they measured the first time."""
    measured: dict[str, list[Any]] = {name: [] for name in names}
    calls: dict[str, Iterator[int]] = {}

    def again(name: str, instrument: Callable[..., Any]) -> Callable[..., Any]:
        def measure(*arguments: Any) -> Any:
            if (call := next(calls[name])) == len(measured[name]):
                measured[name].append(instrument(*arguments))
            return measured[name][call]

        return measure

    for name in names:
        monkeypatch.setattr(d2l, name, again(name, getattr(d2l, name)))
    return lambda: calls.update({name: itertools.count() for name in names})


@pytest.mark.parametrize("dictionary", ["flops", pytest.param("paths", marks=pytest.mark.thorough)])
def test_a_formula_in_the_place_of_another_is_noticed(dictionary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, cells = split(dictionary)
    names = run(before, {"__name__": "chapter"})
    begin_again = measure_once(monkeypatch, ("count_flops", "find_maximum_path_length"))
    begin_again()
    run(cells, dict(names))
    part = cells[0][cells[0].index(f"{dictionary} = {{") :].partition("}")[0]
    formulas = dict(FORMULA.findall(part))
    assert len(formulas) >= 7
    for name, wrong in itertools.product(formulas, set(formulas.values())):
        if formulas[name] == wrong or {formulas[name], wrong} in SAME:
            continue
        changed = part.replace(f'"{name}": {formulas[name]}', f'"{name}": {wrong}')
        assert changed != part
        begin_again()
        with pytest.raises(AssertionError):
            run([cell.replace(part, changed) for cell in cells], dict(names))
