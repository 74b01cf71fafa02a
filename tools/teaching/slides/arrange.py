"""A chapter's notebook as slides, by rule: what a section shows follows from its shape, never from its words.

All is shown but paragraphs, long code, folds, exercises and cells of the slide type *skip*. Of a paragraph right below
what is shown come the first sentences, of one that leads to it the last one. All text is in the notes of the speaker.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from book_site.phrases import EXERCISE, EXERCISES, TAKEAWAY
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from tools.teaching.slides.blocks import Block, read_main, shorten, split_sentences
from tools.teaching.slides.measure import count_lines, estimate

ROOM, LARGE = 540, 330  # pixels below a title; text that takes less than the second has larger letters
TASK = re.compile(rf"^### ({EXERCISE} .+)$", re.MULTILINE)
TASKS = "{}\n\nIn `notebooks/{}.ipynb`, each with a checker that answers with hints."


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
            if block.kind in ("title", "heading"):
                slides.append(Slide(block.source.lstrip("# "), block.kind == "title"))
            shown, leads = choose(block, above, below) if not slides[-1].front or above == "title" else ([], [])
            if shown:
                extend(slides, [*lead, *shown])
            if block.cell is None and block.kind not in ("title", "heading") and block.source not in slides[-1].notes:
                slides[-1].notes.append(block.source)
            above, lead = block.kind, leads
        titles = [f"- {title}" for cell in notebook.cells for title in TASK.findall(cell.source)]
        last = Block("bullet_list", TASKS.format("\n".join(titles), resources["metadata"]["name"]))
        slides += [Slide(EXERCISES, blocks=[last])] * bool(titles)
        notebook.cells = [cell for slide in slides if slide.blocks for cell in lay_out(slide)]
        return notebook, resources


def choose(block: Block, above: str, below: Block) -> tuple[list[Block], list[Block]]:
    """What a block shows, and what of it comes with the next one, if that shows anything."""
    if block.kind in ("title", "heading"):
        return [], []
    if block.kind != "paragraph" or block.source.startswith(f"**{TAKEAWAY}") or above == "title":
        return [shorten(block)], []
    leads = below.kind in ("math_block", "predict") or (below.cell is not None and block.source[-1] in ":：")
    sentences, fit = split_sentences(block.source), 1 if above == "picture" else 2
    most = max(1, len(sentences) - leads)
    first = next((n for n in range(most, 1, -1) if count_lines(" ".join(sentences[:n])) <= fit), 1)
    said, rest = ([], sentences) if above in ("paragraph", "predict") else (sentences[:first], sentences[first:])
    with_next = rest[-1:] if leads else []
    return [Block("paragraph", " ".join(said))] if said else [], [Block("paragraph", last) for last in with_next]


def extend(slides: list[Slide], group: list[Block]) -> None:
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


def lay_out(slide: Slide) -> list[NotebookNode]:
    """The cells of a slide: its title, its notes, and what it shows."""
    height, said = sum(map(estimate, slide.blocks)), all(block.cell is None for block in slide.blocks)
    size = "front" if slide.front else "large" if said and height < LARGE else "dense" if said and height > ROOM else ""
    title, notes = f"{'#' if slide.front else '##'} {slide.title}", "\n\n".join(slide.notes)
    cells = [new_markdown_cell(title, metadata={"slideshow": {"slide_type": "slide"}, "size": size or "plain"})]
    cells.append(new_markdown_cell(notes, metadata={"slideshow": {"slide_type": "notes"}}))
    for block in slide.blocks:
        if block.joined:
            cells[-1].source += f"\n\n{block.source}"
        else:
            cells.append(block.cell or new_markdown_cell(block.source))
            cells[-1].metadata.slideshow = {"slide_type": "fragment" if block.later else "-"}
    return cells
