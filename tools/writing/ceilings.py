"""What a chapter has of what a reader can bear, counted: `python -m tools.writing.ceilings x`, or all chapters.

Counted is the main line: what stands above *Exercises* and in no fold. The box *In a real model*, whose text and code
have a tag, is counted apart; in the chapter that is all about one, only the code has it. A formula is one word; what a
picture is described by, and the address of a link, are none.
"""

import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import nbformat
from book_site.opening import without_opening
from book_site.phrases import EXERCISE, EXERCISES, PREDICT, PREREQUISITES, RUNNING_TIME, SOLUTION, TAKEAWAY

from tools.notebooks.files import NEEDS_MODEL, NOTEBOOKS, is_aside
from tools.teaching.slides.markup import read_blocks

# What may be reached in the main line, in each paragraph, Predict, statement and solution. `long` are cells of more
# than 20 lines, `opening` is how many words stand above the first picture, `concepts` are terms in bold.
CEILINGS = {"words": 1600, "cells": 18, "lines": 170, "long": 1, "opening": 150, "pictures": 7, "columns": 4}
CEILINGS |= {"paragraph": 80, "questions": 1, "asserts": 0, "concepts": 14}
CEILINGS |= {"exercises": 5, "statement": 60, "solution": 80}
CEILINGS |= {"box words": 80, "box cells": 1, "box lines": 12, "takeaways": 7}
FLOORS = {"pictures": 4, "takeaways": 5, "guesses": 3, "bets": 1}  # of a complete chapter
# The chapters that are written for one event, and what they may have; what they call a box counts with the main line.
OF_ONE_EVENT: tuple[str, ...] = ("attention-pooling", "self-attention", "multi-head-attention", "complexity")
OF_ONE_EVENT += ("positional-encoding",)
AIR = CEILINGS | {"words": 1500, "cells": 14, "lines": 80, "pictures": 5, "concepts": 12, "longest": 14, "doubts": 5}
AIR |= {"sections": 5, "takeaways": 5, "guesses": 4, "bets": 1, "minutes": 36}
AIR_FLOORS = {"pictures": 3, "sections": 4, "takeaways": 4, "guesses": 3, "bets": 1}
LINES = 20
WORDS_A_MINUTE, SECONDS_A_LINE, SECONDS_A_GUESS = 230, 20, 30

_NOTHING = re.compile(r"<[^>]*>|(?<=\])\([^)\s]*\)|^[|\s:-]+$|^#+ ", re.MULTILINE)
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL)
_HAN = re.compile(r"[\u3400-\u9fff]")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_EXERCISE = re.compile(rf"^### {EXERCISE}.*$", re.MULTILINE)
_DOUBT = re.compile(r"^\*[^*\n]*[?？]\*", re.MULTILINE)
_CHOICES = re.compile(rf"(^\*\*{PREDICT}[^\n]*)\n\n(?:\*[^*\n]+\*|(?:- [^\n]*\n?)+)\Z", re.MULTILINE)
_MARKERS = re.compile("|".join(map(re.escape, (PREDICT, TAKEAWAY, PREREQUISITES, RUNNING_TIME))))


@dataclass
class Chapter:
    """The cells of a chapter, sorted by what they are."""

    main: list[Any] = field(default_factory=list)
    box: list[Any] = field(default_factory=list)
    exercises: list[list[Any]] = field(default_factory=list)  # the cells of each, the first with its statement
    doubts: list[Any] = field(default_factory=list)  # what is folded at the end of a section


@cache
def read(name: str) -> Chapter:
    """Sort the cells of a stored notebook."""
    chapter, below = Chapter(), False
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    cells[0].source = without_opening(cells[0].source)
    boxed = any(cell.cell_type == "markdown" and NEEDS_MODEL in cell.metadata.get("tags", []) for cell in cells)
    boxed = boxed and name not in OF_ONE_EVENT
    for cell in cells:
        text = cell.source if cell.cell_type == "markdown" else ""
        above, heading, _ = text.partition(f"## {EXERCISES}\n")
        if heading and not below:  # the last section and the summary may stand in the same cell
            below = True
            chapter.main.append(nbformat.v4.new_markdown_cell(above))
        if not below:
            part = chapter.box if boxed and NEEDS_MODEL in cell.metadata.get("tags", []) else chapter.main
            (chapter.doubts if is_aside(cell) else part).append(cell)
        elif _EXERCISE.search(text):
            chapter.exercises.append([cell])
        elif chapter.exercises:
            chapter.exercises[-1].append(cell)
    return chapter


def count_words(text: str) -> int:
    """The words of a text in Markdown; of Han characters, which stand without blanks, 1.6 are as much as a word.

    Where there are fewer of them than words they are examples in an English text, and count as words.
    """
    plain = _NOTHING.sub(" ", _FORMULA.sub(" formula ", text))
    rest, characters = _HAN.subn(" ", plain)
    words, others = (sum(any(map(str.isalnum, word)) for word in part.split()) for part in (plain, rest))
    return words if characters <= words else math.ceil(characters / 1.6) + others


def list_texts(cells: Iterable[Any]) -> list[str]:
    """The texts of the Markdown cells, of a question without what may be chosen."""
    return [_CHOICES.sub(r"\1", cell.source) for cell in cells if cell.cell_type == "markdown"]


def is_picture(cell: Any) -> bool:
    """Whether a cell shows a figure, or a panel."""
    shown = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/svg+xml" in data or 'class="touch"' in "".join(data.get("text/html", "")) for data in shown)


def count_before_picture(cells: list[Any]) -> int:
    """The words above the first picture; of a text with one, those that stand before it."""
    words = 0
    for cell in cells:
        if is_picture(cell):
            break
        before, picture, _ = cell.source.partition("![") if cell.cell_type == "markdown" else ("", "", "")
        words += count_words(before)
        if picture:
            break
    return words


def count_columns(cell: Any) -> int:
    """Of the widest table that a cell shows."""
    tables = ["".join(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", [])]
    tables = [table for table in tables if 'class="touch"' not in table]
    rows = [row for table in tables for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]
    rows += re.findall(r"^\|.*\|$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else []
    return max((len(re.findall(r"<t[dh]", row)) or row.count("|") - 1 for row in rows), default=0)


@cache
def measure(name: str) -> dict[str, int]:
    """The figures of a chapter, as the ceilings name them."""
    chapter = read(name)
    texts = list_texts(chapter.main)
    first = next((i for i, cell in enumerate(chapter.main) if "\n## " in f"\n{cell.source}"), 0)
    code = [cell for cell in chapter.main[first:] if cell.cell_type == "code"]  # below the set-up and the imports
    boxed, visible = (
        [cell.source for cell in part if cell.cell_type == "code" and "hide-input" not in cell.metadata.get("tags", [])]
        for part in (chapter.box, code)
    )
    blocks = [block for text in texts for block in read_blocks(text)]
    asked = [source for kind, source in blocks if kind == "predict"]
    bold = {term for text in texts for term in _BOLD.findall(text) if len(term.split()) < 6}
    statements = [_EXERCISE.split(list_texts(cells)[0])[-1] for cells in chapter.exercises]
    folded = ["\n".join(list_texts(filter(is_aside, cells))) for cells in chapter.exercises]
    solutions = [text.replace(f"#### {SOLUTION}", "") for text in folded]
    words, lines = sum(map(count_words, texts)), sum(len(source.splitlines()) for source in visible)
    guesses = [cell.metadata["guess"] for cell in chapter.main if "guess" in cell.metadata]
    seconds = 60 * words / WORDS_A_MINUTE + SECONDS_A_LINE * lines + SECONDS_A_GUESS * len(guesses)
    return {
        "words": words,
        "cells": len(visible),
        "lines": lines,
        "long": sum(len(source.splitlines()) > LINES for source in visible),
        "opening": count_before_picture(chapter.main),
        "pictures": sum(map(is_picture, chapter.main)),
        "columns": max(map(count_columns, chapter.main)),
        "paragraph": max((count_words(source) for kind, source in blocks if kind == "paragraph"), default=0),
        "questions": max((source.count("?") + source.count("？") for source in asked), default=0),
        "asserts": sum(len(re.findall(r"^\s*assert ", source, re.MULTILINE)) for source in visible),
        "concepts": sum(not _MARKERS.match(term) for term in bold),
        "exercises": len(chapter.exercises),
        "statement": max(map(count_words, statements), default=0),
        "solution": max(map(count_words, solutions), default=1) - 1,  # without its heading
        "longest": max((len(source.splitlines()) for source in visible), default=0),
        "sections": sum(text.count("\n## ") + text.startswith("## ") for text in texts) - 1,  # without the summary
        "takeaways": sum(text.count(f"**{TAKEAWAY}**") for text in texts),
        "guesses": len(guesses),
        "bets": sum("bet" in guess for guess in guesses),
        "doubts": sum(len(_DOUBT.findall(text)) for text in list_texts(chapter.doubts)),
        "minutes": round(seconds / 60),
        "box words": sum(map(count_words, list_texts(chapter.box))),
        "box cells": len(boxed),
        "box lines": sum(len(source.splitlines()) for source in boxed),
    }


def find_exceeded(name: str) -> dict[str, str]:
    """What of a chapter is beyond its ceiling, and where that is."""
    most = AIR if name in OF_ONE_EVENT else CEILINGS
    return {
        what: f"{found}, at most {most[what]}" for what, found in measure(name).items() if found > most.get(what, found)
    }


def find_missing(name: str) -> dict[str, str]:
    """What a complete chapter has too little of."""
    least = AIR_FLOORS if name in OF_ONE_EVENT else FLOORS
    return {
        what: f"{measure(name)[what]}, at least {most}" for what, most in least.items() if measure(name)[what] < most
    }


def main(names: list[str]) -> None:
    """Print a row for each chapter; what exceeds its ceiling has a mark."""
    names = names or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    print(f"{'':24}" + "".join(f"{what:>{len(what) + 2}}" for what in measure(names[0])))
    for name in names:
        marked = {**find_exceeded(name), **find_missing(name)}
        row = (f"{str(n) + '!' * (what in marked):>{len(what) + 2}}" for what, n in measure(name).items())
        print(f"{name:24}" + "".join(row))


if __name__ == "__main__":
    main(sys.argv[1:])
