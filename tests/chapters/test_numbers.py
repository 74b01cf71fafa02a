"""A number in a sentence is shown or set by the code of its section, or `numbers.toml` says where it comes from."""

import re
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pytest
from book_site.phrases import EXERCISE

from tests.chapters.sentences import find_numbers, is_measured
from tools.notebooks.files import NOTEBOOKS

BEGINS = re.compile(rf"^(?=## |### {EXERCISE})", re.MULTILINE)
ELSEWHERE = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text("utf-8"))


def read(chapter: str) -> Any:
    """A notebook whose cells end where a section or an exercise begins."""
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    parts = [
        (cell, BEGINS.split(cell.source) if cell.cell_type == "markdown" else [cell.source]) for cell in notebook.cells
    ]
    notebook.cells = [nbformat.from_dict({**cell, "source": part}) for cell, pieces in parts for part in pieces if part]
    return notebook


each_chapter = pytest.mark.parametrize("chapter", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))


@each_chapter
def test_the_numbers_of_a_chapter_are_seen(chapter: str) -> None:
    seen = len(list(find_numbers(read(chapter))))
    assert seen, f"{chapter}: its sentences tell no number: a chapter measures, or find_numbers sees none of them"


def test_a_number_beside_han_characters_is_seen() -> None:
    text = "误差只剩37.5倍，准确率是99.9％，共4,096个；norm20不算。"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    told = [(number.text, number.share) for number in find_numbers(notebook)]
    assert told == [("37.5", False), ("99.9", True), ("4,096", False)]


@each_chapter
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
