"""The decks that `make slides` made, and what the notebooks have."""

import functools
import re
from typing import Any

import nbformat
from lxml import html

from tools import ROOT
from tools.notebooks.files import list_chapters
from tools.teaching.slides import FOLDER

CHAPTERS = list_chapters()
LECTURE = range(8, 31)  # how many slides a chapter has: half a lecture, or a whole one


@functools.cache
def read_deck(name: str) -> Any:
    path = FOLDER / f"{name}.html"
    assert path.exists(), "make slides"
    return html.fromstring(path.read_bytes())


@functools.cache
def read_cells(name: str) -> Any:
    return nbformat.read(ROOT / f"notebooks/{name}.ipynb", as_version=4).cells


def list_slides(name: str) -> list[Any]:
    return list(read_deck(name).xpath("//section"))


def squeeze(text: str) -> str:
    """A text without what is there for its looks: spaces, and the kind of its quotation marks."""
    return re.sub(r"\s+", "", text).translate(str.maketrans("“”‘’", "\"\"''"))
