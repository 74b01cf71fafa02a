"""The chapter on costs notices a wrong formula: any two swapped in its cells, and the cell raises."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from typing import Any

import nbformat
import pytest
import torch

from tools.notebooks import NOTEBOOKS

FORMULA = re.compile(r'"([^"\n]+)": "([^"\n]+)"')


def code_cells() -> list[str]:
    notebook = nbformat.read(NOTEBOOKS / "complexity.ipynb", as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def run(cells: list[str]) -> None:
    names: dict[str, Any] = {"__name__": "chapter"}
    dtype = torch.get_default_dtype()  # the chapter sets another one
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for cell in cells:
                exec(compile(cell, "<cell>", "exec"), names)
    finally:
        torch.set_default_dtype(dtype)


def needed(dictionary: str) -> tuple[list[str], str]:
    """The cells without figures up to the one that checks the formulas of a dictionary, and the one that holds them."""
    cells = code_cells()
    holding = next(i for i, cell in enumerate(cells) if f"\n{dictionary} = {{" in f"\n{cell}")
    checking = next(i for i, cell in enumerate(cells) if f"{dictionary}[name]" in cell and "assert" in cell)
    before = [cell for cell in cells[: checking + 1] if not re.search("show_|draw_", cell)]
    return before, cells[holding]


@pytest.mark.parametrize("dictionary", ["flops", "paths", "to_connect"])
def test_any_two_swapped_formulas_are_noticed(dictionary: str) -> None:
    cells, holding = needed(dictionary)
    run(cells)
    part = holding[holding.index(f"{dictionary} = {{") :].partition("\n}")[0]
    formulas = dict(FORMULA.findall(part))
    assert len(formulas) >= 7
    different = [
        (one, other)
        for one, other in itertools.combinations(formulas, 2)
        if formulas[one] != formulas[other] and not SAME.get(frozenset((formulas[one], formulas[other])))
    ]
    # Each formula takes part in one swap at least; all pairs would take minutes.
    chosen = [next(pair for pair in different if name in pair) for name in formulas]
    for one, other in dict.fromkeys(chosen):
        swapped = part.replace(f'"{one}": "{formulas[one]}"', f'"{one}": "{formulas[other]}"')
        swapped = swapped.replace(f'"{other}": "{formulas[other]}"', f'"{other}": "{formulas[one]}"')
        assert swapped != part
        with pytest.raises(AssertionError):
            run([cell.replace(part, swapped) for cell in cells])


# Written differently, but equal: a vanilla RNN and a causal convolution with kernel 2 cost the same.
SAME = {
    frozenset(("4*n*d**2", "2*n*d**2 + 2*n*d**2")): True,
    frozenset(("ceil((n - 1) / 2)", "ceil((n - 1) / r)")): True,  # r is 2
    frozenset(("ceil((n - 1) / 1)", "n - 1")): True,
}
