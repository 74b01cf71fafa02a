"""A chapter's notebook as slides, by rule: each figure, table, formula, toy or output is one, and so is a question.

The title of a slide is its point: what its section says in one sentence, but up to the last question of the section a
question, asked or still to come. All text that is not folded is in the notes of the speaker.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from book_site.guesses import is_answer
from book_site.opening import without_opening
from book_site.phrases import EXERCISE, EXERCISES, PREDICT, TAKEAWAY
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from tools.notebooks.files import is_aside
from tools.teaching.slides.markup import read_blocks

MOST_LINES = 6  # of code that is shown above what it prints
SEEN = ("math_block", "table", "bullet_list", "ordered_list")
DRAWN = {"image/svg+xml", "image/png", "text/html"}
TASK = re.compile(rf"^### ({EXERCISE} .+)$", re.MULTILINE)
TASKS = "{}\n\nIn `notebooks/{}.ipynb`, each with a checker that answers with hints."


@dataclass
class Slide:
    """One slide: what it is about, what it shows, and the text of the chapter up to the next one."""

    kind: str
    title: str = ""  # none yet: the section decides
    shown: NotebookNode | None = None
    notes: list[str] = field(default_factory=list)

    def lay_out(self) -> list[NotebookNode]:
        """Its cells, as nbconvert wants them."""
        head = f"{'#' if self.kind == 'front' else '##'} {self.title}"
        kind = f"{self.kind} long" if len(self.title) > 100 else self.kind
        cells = [new_markdown_cell(head, metadata={"slideshow": {"slide_type": "slide"}, "kind": kind})]
        cells += [self.shown] * (self.shown is not None)
        return [*cells, new_markdown_cell("\n\n".join(self.notes), metadata={"slideshow": {"slide_type": "notes"}})]


class Arrangement(Preprocessor):
    """Puts the slides together, so that nbconvert's own preprocessor finds where they begin and end."""

    def preprocess(self, notebook: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Replace the cells of a notebook by those of its slides."""
        name, front = resources["metadata"]["name"], Slide("front")
        sections, titles = [[front]], [title for cell in notebook.cells for title in TASK.findall(cell.source)]
        asked = ""
        for cell, kind, source in list_main(notebook):
            asked = "" if is_answer(cell) else asked
            if kind == "code":
                sections[-1] += [Slide("show", asked, cell)] * (len(sections) > 1 and choose_outputs(cell))
            elif kind == "title":
                front.title = source.removeprefix("# ")
            elif source.startswith("## "):
                sections.append([Slide("say", source.removeprefix("## "))])
            elif kind == "predict":
                asked = re.sub(rf"^\*\*{PREDICT}[^*]*\*\* *", "", source)
                sections[-1].append(Slide("ask", asked, notes=[source]))
            else:
                add_block(sections[-1], kind, source)
        tasks = new_markdown_cell(TASKS.format("\n".join(f"- {title}" for title in titles), name))
        sections.append([Slide("tasks", EXERCISES, tasks)] * bool(titles))
        slides = [slide for section in sections for slide in give_titles(section)]
        notebook.cells = [cell for slide in slides for cell in slide.lay_out()]
        return notebook, resources


def list_main(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str, str]]:
    """Cells of code, and blocks of text, above the exercises that are neither folded nor left out."""
    for cell in notebook.cells:
        if is_aside(cell) or cell.metadata.get("slideshow", {}).get("slide_type") == "skip":
            continue
        text = without_opening(cell.source)
        for kind, source in read_blocks(text) if cell.cell_type == "markdown" else [("code", "")]:
            if source == f"## {EXERCISES}":
                return
            yield cell, kind, source


def choose_outputs(cell: NotebookNode) -> bool:
    """Leave a cell its figure, toy or table alone, or what it prints below its code, if short; no panel of buttons."""
    drawn = [output for output in cell.outputs if output.get("data", {}).keys() & DRAWN]
    cell.outputs = [out for out in drawn or cell.outputs if "touch" not in str(out) or "data-play" in str(out)]
    if drawn or "hide-input" in cell.metadata.get("tags", []) or len(cell.source.splitlines()) > MOST_LINES:
        cell.metadata.transient = {"remove_source": True}
    cell.metadata.slideshow = {"slide_type": "-"}
    return bool(cell.outputs)


def add_block(section: list[Slide], kind: str, source: str) -> None:
    """Show a formula, a list or a table; choices belong to their question, and all other text to the notes."""
    last = section[-1]
    if (last.kind == "ask" and last.shown is None) or (last.kind == "front" and not last.notes):
        last.shown = new_markdown_cell(source)
    elif kind in SEEN and last.kind == "show" and last.shown and last.shown.cell_type == "markdown":
        last.shown.source += f"\n\n{source}"
    elif kind in SEEN and last.kind != "front":
        section.append(Slide("show", shown=new_markdown_cell(source)))
    section[-1].notes.append(source)


def give_titles(section: list[Slide]) -> list[Slide]:
    """The slides of a section with their titles; its heading has one where there is nothing else."""
    if not section or section[0].kind in ("front", "tasks"):
        return section
    head, *others = section
    said = [note.split("** ", 1)[-1] for slide in section for note in slide.notes if note.startswith(f"**{TAKEAWAY}")]
    point, ahead = said[-1] if said else head.title, ""
    for slide in reversed(others):
        slide.title = slide.title if slide.kind == "ask" else (slide.title or ahead if ahead else point)
        ahead = slide.title if slide.kind == "ask" else ahead
    if not others:
        return [Slide("say", point, notes=head.notes)]
    others[0].notes = [f"*{head.title}*", *head.notes, *others[0].notes]
    return others
