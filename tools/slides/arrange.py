"""A chapter's notebook as slides, by rule: what a section shows follows from its shape, never from its words.

Shown are headings, predictions, formulas, lists, tables, figures, what is printed, short code, and the sentence of a
section; of a paragraph right below one of them its first sentence, and of one that leads to the next its last. Folds
and exercises are left out, and cells of the slide type *skip*. All text is in the notes of the speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from tools.notebooks import is_aside
from tools.slides.markup import Block, read_blocks, shorten, split_sentences
from tools.slides.measure import PICTURES, count_lines, estimate

ROOM = 540  # pixels below a title
LARGE = 330  # a slide that takes less, and has only text, has larger letters
MOST_LINES = 12  # of code that is shown
SENTENCE = "**In one sentence.**"
HEADINGS = ("title", "heading")
EXERCISE = re.compile(r"^### (Exercise .+)$", re.MULTILINE)
EXERCISES = "{}\n\nIn `notebooks/{}.ipynb`, each with a checker that answers with hints."


@dataclass
class Slide:
    """One slide, with the text of the chapter up to the next one."""

    title: str
    front: bool = False
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Arrangement(Preprocessor):
    """Puts the slides together, so that nbconvert's own preprocessor finds where they begin and end."""

    def preprocess(self, notebook: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Replace the cells of a notebook by those of its slides."""
        slides, above, lead = [Slide("")], "", list[Block]()
        for block, below in pairwise([*read_main(notebook), Block("heading", "")]):
            if block.kind in HEADINGS:
                slides.append(Slide(block.source.lstrip("# "), block.kind == "title"))
            shown, leads = choose(block, above, below) if not slides[-1].front or above == "title" else ([], [])
            for piece in shown:
                place(slides, [*lead, piece])
                lead = []
            if block.cell is None and block.kind not in HEADINGS and block.source not in slides[-1].notes:
                slides[-1].notes.append(block.source)
            above, lead = block.kind, leads
        titles = [f"- {title}" for cell in notebook.cells for title in EXERCISE.findall(cell.source)]
        text = EXERCISES.format("\n".join(titles), resources["metadata"]["name"])
        slides += [Slide("Exercises", blocks=[Block("bullet_list", text)])] if titles else []
        notebook.cells = [cell for slide in slides if slide.blocks for cell in lay_out(slide)]
        return notebook, resources


def read_main(notebook: NotebookNode) -> Iterator[Block]:
    """The blocks above the exercises that are not folded; a cell of code is one block."""
    for cell in notebook.cells:
        if is_aside(cell) or cell.metadata.get("slideshow", {}).get("slide_type") == "skip":
            continue
        for block in read_blocks(cell.source) if cell.cell_type == "markdown" else show_code(cell):
            if block.source == "## Exercises":
                return
            yield block


def choose(block: Block, above: str, below: Block) -> tuple[list[Block], list[Block]]:
    """What a block shows, and what of it comes with the next one, if that shows anything."""
    if block.kind in HEADINGS:
        return [], []
    if block.kind != "paragraph" or block.source.startswith(SENTENCE) or above == "title":
        return [shorten(block)], []
    leads = below.kind in ("math_block", "predict") or (below.cell is not None and block.source[-1] == ":")
    sentences, fit = split_sentences(block.source), 1 if above == "picture" else 2
    most = max(1, len(sentences) - leads)
    first = next((n for n in range(most, 1, -1) if count_lines(" ".join(sentences[:n])) <= fit), 1)
    said, rest = ([], sentences) if above in ("paragraph", "predict") else (sentences[:first], sentences[first:])
    pieces = (" ".join(said), "".join(rest[-1:]) if leads else "")
    shown, later = ([Block("paragraph", piece)] if piece else [] for piece in pieces)
    return shown, later


def show_code(cell: NotebookNode) -> list[Block]:
    """What a cell of code shows: its figure or table alone, or what it prints, below its code if that is short."""
    pictures = [output for output in cell.outputs if output.get("data", {}).keys() & PICTURES]
    cell.outputs = [output for output in pictures or cell.outputs if 'class="touch"' not in str(output.get("data"))]
    if pictures or "hide-input" in cell.metadata.get("tags", []) or len(cell.source.splitlines()) > MOST_LINES:
        cell.metadata.transient = {"remove_source": True}
        return [Block("picture" if pictures else "code", "", cell)] if cell.outputs else []
    return [Block("code", cell.source, cell)]


def place(slides: list[Slide], group: list[Block]) -> None:
    """Put what stays together on the last slide, or on a new one if there is no room, or if it would tell too much."""
    slide, kinds = slides[-1], {block.kind for block in slides[-1].blocks}
    full = sum(map(estimate, [*slide.blocks, *group])) > ROOM
    asks, shows = group[-1].kind == "predict", group[-1].kind == "picture"
    if kinds and (full or (asks and kinds & {"picture", "code"}) or (shows and "predict" in kinds)):
        slides.append(slide := Slide(slide.title, notes=slide.notes[-1:]))
    for block in group:
        block.later = bool(slide.blocks) and (asks or bool(kinds & {"predict", "picture", "code"}))
        block.joined = block is not group[0] and block.cell is None
    slide.blocks += group


def make_cell(source: str, kind: str) -> NotebookNode:
    """A cell of text."""
    return new_markdown_cell(source, metadata={"slideshow": {"slide_type": kind}})


def lay_out(slide: Slide) -> list[NotebookNode]:
    """The cells of a slide: its title, its notes, and what it shows."""
    heading = make_cell(f"{'#' if slide.front else '##'} {slide.title}", "slide")
    height, said = sum(map(estimate, slide.blocks)), all(block.cell is None for block in slide.blocks)
    sparse, dense = said and height < LARGE, said and height > ROOM
    heading.metadata.size = "front" if slide.front else "large" if sparse else "dense" if dense else "plain"
    cells = [heading, make_cell("\n\n".join(slide.notes), "notes")]
    for block in slide.blocks:
        if block.joined:
            cells[-1].source += f"\n\n{block.source}"
        else:
            cells.append(block.cell or make_cell(block.source, ""))
            cells[-1].metadata.slideshow = {"slide_type": "fragment" if block.later else "-"}
    return cells
