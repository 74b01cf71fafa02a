"""Both sides of a translation: the units of an English text, and the entries that translate them."""

import hashlib
import io
import json
import re
import tokenize
from collections.abc import Container
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import nbformat
from book_site.opening import without_opening
from nbformat import NotebookNode

from tools.notebooks.files import NOTEBOOKS, TEXTS, list_chapters
from tools.translating import LANGUAGES

HEAD = re.compile(r"^\+\+\+ (\{.*\})[ ]*$", re.MULTILINE)
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
MACHINE = ("# NBVAL_", "# @title Installs", "# Installs d2lmini")  # what a program reads, or what all notebooks share
SHAPE = re.compile(r"#\s*\([\w\s,./×-]+\)$")  # a comment that is the same in all languages


@dataclass
class Unit:
    """What is translated at once: the text of a cell or section, the words of a figure, the comments of a cell."""

    key: str  # the id of the cell, or the heading of the section as an address
    part: str  # text, figure or comments
    english: str

    @property
    def digest(self) -> str:
        """Eight letters that change with the words, and not with the line breaks."""
        return hashlib.sha256(" ".join(self.english.split()).encode()).hexdigest()[:8]


@dataclass
class Entry:
    """What a translator wrote for a unit, and the digest of the English that it translates."""

    key: str
    part: str
    english: str
    text: str
    options: dict[str, Any] = field(default_factory=dict)  # {"waive": ["score"]}: terms that do not occur for a reason


def is_translated(language: str, name: str) -> bool:
    """Whether a language has a text."""
    return (LANGUAGES / language / f"{name}.md").exists()


def list_texts(language: str) -> list[str]:
    """The texts that a language has, chapters first, in their order."""
    names = [path.stem for path in sorted((LANGUAGES / language).glob("*.md")) if (TEXTS / path.name).exists()]
    chapters = list_chapters()
    return sorted(names, key=lambda name: (name not in chapters, chapters.index(name) if name in chapters else 0, name))


def read_notebook(name: str) -> NotebookNode:
    """The English notebook of a chapter, without the picture that it has below its question."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    notebook.cells[0].source = without_opening(notebook.cells[0].source)
    notebook.cells[0].pop("attachments", None)
    return notebook


def split_sections(text: str) -> list[tuple[str, str]]:
    """The sections of a prose page, each with its address; what stands above the first has that of the title."""
    hidden = FENCE.sub(lambda fence: re.sub(r"[^\n]", "x", fence[0]), text)
    places = [0, *(found.start() for found in SECTION.finditer(hidden)), len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(places) if begin < end]
    return [(slug(piece.partition("\n")[0]), piece.strip()) for piece in pieces]


def slug(heading: str) -> str:
    """The anchor of a heading, as MyST makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).strip().replace(" ", "-")


def list_units(name: str, common: Container[str] = ()) -> list[Unit]:
    """What there is to translate of a text, in its order, without the comments that many chapters share."""
    if name not in list_chapters():
        text = (TEXTS / f"{name}.md").read_text("utf-8")
        return [Unit(key, "text", section) for key, section in split_sections(text)]
    units = []
    for cell in read_notebook(name).cells:
        if cell.cell_type == "markdown":
            units.append(Unit(cell.id, "text", cell.source))
        else:
            comments = dict.fromkeys(said for _, _, said in list_comments(cell.source) if said not in common)
            found = Unit(cell.id, "figure", write_figure(cell)), Unit(cell.id, "comments", "\n".join(comments))
            units += [unit for unit in found if not all(map(SHAPE.match, unit.english.splitlines()))]
    return units


def write_figure(cell: NotebookNode) -> str:
    """Caption and description of the figure of a cell; nothing without one."""
    figure = cell.metadata.get("mystnb", {})
    said = {"caption": figure.get("figure", {}).get("caption"), "alt": figure.get("image", {}).get("alt")}
    return "\n".join(f"{name}: {text}" for name, text in said.items() if text)


def list_comments(code: str) -> list[tuple[int, int, str]]:
    """Row, column and text of the comments that speak to a reader."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
        found = [(*token.start, token.string) for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):  # a line of IPython: whole lines only
        lines = list(enumerate(code.split("\n"), 1))
        found = [(row, len(line) - len(line.lstrip()), line.strip()) for row, line in lines if line.lstrip()[:1] == "#"]
    return [one for one in found if not one[2].startswith(MACHINE) and re.search(r"[^\W\d_]", one[2])]


def read_entries(language: str, name: str) -> list[Entry]:
    """The entries of a text, in their order; none where nobody has begun."""
    path = LANGUAGES / language / f"{name}.md"
    return parse_entries(path.read_text("utf-8")) if path.exists() else []


def parse_entries(text: str) -> list[Entry]:
    """The entries of a work sheet or a translation."""
    pieces = HEAD.split(text)[1:]
    entries = []
    for head, body in zip(pieces[::2], pieces[1::2], strict=True):
        options = json.loads(head)
        key, part, english = options.pop("cell"), options.pop("part", "text"), options.pop("en", "")
        entries.append(Entry(key, part, english, body.strip(), options))
    return entries


def write_entries(entries: list[Entry]) -> str:
    """The one text of a translation."""
    pieces = []
    for entry in entries:
        head = {"cell": entry.key} | ({"part": entry.part} if entry.part != "text" else {})
        head |= ({"en": entry.english} if entry.english else {}) | entry.options
        pieces.append(f"+++ {json.dumps(head, ensure_ascii=False)}\n\n{entry.text}\n")
    return "\n".join(pieces)


def read_common(language: str) -> dict[str, str]:
    """The comments that many chapters share, by their English."""
    found = dict[str, str]()
    for entry in read_entries(language, "common"):
        found |= read_comments(entry.text)
    return found


def read_comments(text: str) -> dict[str, str]:
    """The comments of an entry: the English line, then `=> ` and the translation; `=> -` leaves it out."""
    return dict(re.findall(r"^(?!=>)(.+)\n+=> (.*\S)", text, re.MULTILINE))
