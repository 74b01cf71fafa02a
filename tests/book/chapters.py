"""The chapters as notebooks, and their cells, for the tests that read them."""

import functools
from collections import Counter
from typing import Any

import nbformat
import pytest
import yaml

from tools import ROOT
from tools.notebooks.files import NOTEBOOKS, PAGES, TEXTS, is_chapter, is_notebook, locate, to_text

TEXT_CHAPTERS = {path.stem for path in TEXTS.glob("*.md") if is_chapter(path)}
NOTEBOOK_CHAPTERS = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
CHAPTERS = sorted(TEXT_CHAPTERS & NOTEBOOK_CHAPTERS)

TEXT_PAGES = {path.stem for path in TEXTS.glob("*.md") if is_notebook(path)} - TEXT_CHAPTERS
NOTEBOOK_PAGES = {path.stem for path in PAGES.glob("*.ipynb")}

SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"].get("config", {})
COMPLETE = set(SETTINGS.get("complete_chapters", []))

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)
each_notebook = pytest.mark.parametrize("chapter", [*CHAPTERS, *sorted(TEXT_PAGES & NOTEBOOK_PAGES)])


@functools.cache
def read_text(chapter: str) -> str:
    return (TEXTS / f"{chapter}.md").read_text("utf-8")


def find(chapter: str, piece: str, last: bool = False) -> str:
    """File and line of the first or the last place where a piece of the text stands."""
    text = read_text(chapter)
    place = text.rfind(piece) if last else text.find(piece)
    return f"book/{chapter}.md:{text.count(chr(10), 0, max(place, 0)) + 1}"


@functools.cache
def read(chapter: str) -> Any:
    return nbformat.read(locate(chapter), as_version=4)


@functools.cache
def convert(chapter: str) -> str:
    """The text that stands for the stored notebook."""
    return to_text(read(chapter))


def cells(chapter: str, kind: str | None = None) -> list[tuple[str, Any]]:
    """Where each cell is, for the message, and the cell; of one kind, if one is given."""
    return [(where, cell) for where, cell in find_places(chapter) if kind in (None, cell.cell_type)]


@functools.cache
def find_places(chapter: str) -> list[tuple[str, Any]]:
    """Where each cell is, and the cell. Code cells are counted as nbval counts them."""
    found_cells = []
    counts: Counter[str] = Counter()
    text, place = read_text(chapter), 0
    for cell in read(chapter).cells:
        found = text.find(cell.source, place)  # -1 if text and notebook disagree: then the last cell's line is told
        place = max(found, place)
        line = text.count("\n", 0, place) + 1
        where = f"book/{chapter}.md:{line}, {cell.cell_type} cell {counts[cell.cell_type]} ({cell.source[:50]!r})"
        place += len(cell.source) if found >= 0 else 0
        counts[cell.cell_type] += 1
        found_cells.append((where, cell))
    return found_cells


def is_solution(cell: Any) -> bool:
    return "solution" in cell.metadata.get("tags", [])


def get_printed(cell: Any) -> str:
    return "".join(out.get("text", "") for out in cell.outputs)
