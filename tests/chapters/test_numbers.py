"""A number in a sentence is shown or set by the code of its section, or `numbers.toml` says where it comes from."""

import re
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.chapters.sentences import find_numbers, is_measured
from tools.notebooks import NOTEBOOKS

BEGINS = re.compile(r"^(?=## |### Exercise)", re.MULTILINE)
ELSEWHERE = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text("utf-8"))


def read(chapter: str) -> Any:
    """A notebook whose cells end where a section or an exercise begins."""
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    parts = [
        (cell, BEGINS.split(cell.source) if cell.cell_type == "markdown" else [cell.source]) for cell in notebook.cells
    ]
    notebook.cells = [nbformat.from_dict({**cell, "source": part}) for cell, pieces in parts for part in pieces if part]
    return notebook


@pytest.mark.parametrize("chapter", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_number_in_a_sentence_was_measured_or_comes_from_somewhere(chapter: str) -> None:
    notebook, elsewhere = read(chapter), ELSEWHERE.get(chapter, {})
    unmeasured = {
        told.text: notebook.cells[told.cell].source
        for told in find_numbers(notebook)
        if not is_measured(told, notebook)
    }
    unknown = {number: source for number, source in unmeasured.items() if number not in elsewhere}
    assert not unknown, f"{chapter}: no cell of the section shows these numbers, and numbers.toml does not know them"
    assert set(elsewhere) == set(unmeasured), "numbers.toml lists what the chapter shows, or does not tell"
    assert all(elsewhere.values())


def test_no_other_chapters_are_listed() -> None:
    assert set(ELSEWHERE) <= {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
