"""A chapter's notebook as slides: which cells begin one, what is shown of them, what the speaker has in the notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from tools.notebooks import is_aside
from tools.slides.trim import Block, Part, choose, read_parts, trim

SHOWN = ("slide", "fragment", "notes")
MOST_LINES = 12  # of code that is shown with what it prints; a longer cell shows what it prints alone
PICTURES = {"image/svg+xml", "image/png", "text/html"}  # figures and tables
BREAK = "---"  # among what a cell shows: what comes after it stands on the next slide
SPARSE = 620  # letters: a slide with fewer, and nothing but text, has larger ones; a formula counts as ten
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL)
EXERCISE = re.compile(r"^### (Exercise .+)$", re.MULTILINE)
EXERCISES = """## Exercises

{exercises}

In `notebooks/{name}.ipynb`, each with a checker that answers with hints.
"""


@dataclass
class Slide:
    """One slide: its cells, and the whole text that they were taken from."""

    title: str
    level: int = 2
    cells: list[NotebookNode] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def slide_type(cell: NotebookNode) -> str:
    """What a cell is in the deck: only what says so is in it."""
    chosen = cell.metadata.get("slideshow", {}).get("slide_type", "skip")
    return chosen if chosen in SHOWN else "skip"


def make_cell(blocks: list[Block], kind: str = "-") -> NotebookNode:
    """A cell of text for a slide."""
    cell = new_markdown_cell("\n\n".join(block.source for block in blocks))
    cell.metadata.slideshow = {"slide_type": kind}
    return cell


def hides_code(cell: NotebookNode) -> bool:
    """Whether only what a cell shows is on the slide: figures and tables speak for themselves."""
    shows = cell.metadata.get("slideshow", {}).get("shows")
    if shows:
        return "code" not in shows
    pictures = any(output.get("data", {}).keys() & PICTURES for output in cell.outputs)
    return pictures or (bool(cell.outputs) and len(cell.source.splitlines()) > MOST_LINES)


class Arrangement(Preprocessor):
    """Puts the slides of a notebook together, so that nbconvert's own preprocessor finds where they begin and end."""

    def preprocess(self, notebook: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Replace the cells of a notebook by those of its slides."""
        name = resources["metadata"]["name"]
        slides: list[Slide] = []
        title = ""  # the heading that we are below
        below_exercises = False
        for cell in notebook.cells:
            if is_aside(cell):
                continue
            parts = read_parts(cell.source) if cell.cell_type == "markdown" else []
            kind = slide_type(cell)
            below_exercises |= any(part.heading == "Exercises" for part in parts)
            if kind == "notes" or (parts and kind == "skip" and slides and not below_exercises):
                slides[-1].notes.append(cell.source)
            elif parts and kind != "skip":
                add_text(slides, cell, parts, title, name)
            elif cell.cell_type == "code" and kind != "skip":
                add_code(slides, cell, title)
            title = next((part.heading for part in reversed(parts) if part.heading), title)
        titles = [title for cell in notebook.cells for title in EXERCISE.findall(cell.source)]
        if titles:
            text = EXERCISES.format(exercises="\n".join(f"- {title}" for title in titles), name=name)
            slides.append(Slide("Exercises", 2, [make_cell(read_parts(text)[0].blocks)]))
        notebook.cells = [cell for slide in slides for cell in lay_out(slide)]
        return notebook, resources


def add_text(slides: list[Slide], cell: NotebookNode, parts: list[Part], title: str, name: str) -> None:
    """Add what a cell of text shows. A heading begins a slide, whatever the type of the cell.

    Raises:
        SystemExit: if the cell chooses what it does not have.
    """
    shows = cell.metadata.slideshow.get("shows", [])
    missing = set(shows) - {BREAK}
    groups = [list(group) for breaks, group in groupby(shows, BREAK.__eq__) if not breaks] or [[]]
    for part in parts:
        begins = bool(part.heading) or slide_type(cell) == "slide" or not slides
        if part.heading.startswith("Exercise"):  # the last slide names them
            continue
        for group in groups:
            shown = choose(part, group, missing) if shows else trim(part)
            if shown or not (shows or part.blocks):  # a heading alone may stand above code
                add_part(slides, part, shown, part.heading or title, begins)
                begins = True
    if missing:
        wanted = " or ".join(sorted(map(repr, missing)))
        raise SystemExit(f"{name}: nothing begins with {wanted} in the cell that begins with {cell.source[:40]!r}")


def add_part(slides: list[Slide], part: Part, shown: list[Block], title: str, begins: bool) -> None:
    """Add what is shown of a part: a prediction comes after the words, and never below a picture."""
    said = [block for block in shown if block.kind != "predict"]
    asked = [block for block in shown if block.kind == "predict"]
    if begins:
        slides.append(Slide(title, part.level or 2))
    if said:
        slides[-1].cells.append(make_cell(said, "-" if begins else "fragment"))
    keep(slides[-1], part)
    if asked and any(cell.get("outputs") for cell in slides[-1].cells):
        slides.append(Slide(title))
        keep(slides[-1], part)
    if asked:
        slides[-1].cells.append(make_cell(asked, "fragment" if slides[-1].cells else "-"))


def keep(slide: Slide, part: Part) -> None:
    """Give the speaker of a slide the whole text of a part."""
    if part.text and part.text not in slide.notes:
        slide.notes.append(part.text)


def add_code(slides: list[Slide], cell: NotebookNode, title: str) -> None:
    """Add what a cell of code shows."""
    kind = slide_type(cell)
    if kind == "slide" or not slides:
        slides.append(Slide(title))
        kind = "-"
    if hides_code(cell):
        cell.metadata.transient = {"remove_source": True}
    pictures = [output for output in cell.outputs if output.get("data", {}).keys() & PICTURES]
    if "output" not in cell.metadata.slideshow.get("shows", ["output"]):
        cell.outputs = []
    elif pictures:  # what is printed beside a figure or a table would take its room
        cell.outputs = pictures
    cell.metadata.slideshow = {"slide_type": kind}
    slides[-1].cells.append(cell)


def lay_out(slide: Slide) -> list[NotebookNode]:
    """The cells of a slide: its title, what it shows, and its notes before anything that comes later."""
    heading = make_cell([Block("heading", f"{'#' * min(slide.level, 2)} {slide.title}")], "slide")
    text = "\n".join(FORMULA.sub("x" * 10, cell.source) for cell in slide.cells)
    sparse = len(text) + 30 * text.count("\n") < SPARSE and all(cell.cell_type == "markdown" for cell in slide.cells)
    heading.metadata.size = "front" if slide.level == 1 else "large" if sparse else "plain"
    notes = make_cell([Block("paragraph", "\n\n".join(slide.notes))], "notes")
    return [heading, *([notes] if slide.notes else []), *slide.cells]
