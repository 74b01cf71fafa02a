"""The first screen of a chapter: its question, the picture that asks it, and in one line how to run it."""

import re

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

from book_site.phrases import PREREQUISITES, SHOWN_ABOVE

from .folds import is_cell, raw

OPENING = "tag_opening"  # what myst-nb makes of the tag of the cell
ATTACHED = "attachment:opening.png"  # where a notebook has the picture as well


def without_opening(text: str) -> str:
    """A text without the picture that a notebook has below its question."""
    return re.sub(rf"!\[[^\]]*\]\({ATTACHED}\)\n\n", "", text)


def drop_attached(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leave out the picture of a notebook, while it is read: the page shows what the cell shows."""
    if source[0].startswith("{"):
        notebook = nbformat.reads(source[0], as_version=4)
        notebook.cells[0].source = without_opening(notebook.cells[0].source)
        notebook.cells[0].pop("attachments", None)
        source[0] = nbformat.writes(notebook)


def open_with_picture(app: Sphinx, doctree: nodes.document) -> None:
    """Show what the cell with that tag shows below the question, and a link where it was."""
    chapter = next(iter(doctree.findall(nodes.section)), None)
    cells = [cell for cell in doctree.findall(nodes.container) if is_cell(cell) and OPENING in cell["classes"]]
    about = next((node for node in chapter or () if node.astext().startswith(PREREQUISITES)), None)
    if chapter is None or about is None:
        return
    begin = chapter.index(about)
    for cell in cells:
        output = next(part for part in cell.children if is_cell(part, "cell_code_output"))
        shown = [part for part in output.children if is_picture(part)]
        for part in shown:
            output.replace(part, raw(f'<p class="shown-above"><a href="#opening">{SHOWN_ABOVE}</a></p>'))
        moved = nodes.container("", *shown, classes=output["classes"], nb_element="cell_code_output")
        chapter.insert(begin, nodes.container("", moved, classes=["cell", "opening"], ids=["opening"]))
    gather(chapter, about)


def is_picture(part: nodes.Node) -> bool:
    """Whether a part of an output is a figure, or a panel that is touched."""
    return bool(list(part.findall(nodes.image))) or any('class="touch"' in r.astext() for r in part.findall(nodes.raw))


def gather(chapter: nodes.section, about: nodes.Node) -> None:
    """Put what one needs, how to run it and the switch of the answers into one small line."""
    first = next(i for i, node in enumerate(chapter) if isinstance(node, nodes.section))
    above = chapter.children[:first]
    switch = [node for node in above if 'class="cover-switch' in node.astext()]
    rest = above[above.index(about) :]
    for node in [*switch, *rest]:
        chapter.remove(node)
    place = len(above) - len(switch) - len(rest)
    chapter[place:place] = [raw('<div class="about-chapter">'), *switch, *rest, raw("</div>")]
