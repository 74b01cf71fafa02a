"""What a printed book and an e-reader have in common: no buttons, nothing to open, and a list for the cards."""

from __future__ import annotations

import json
from pathlib import Path

from book_site.cards import read_opening
from book_site.folds import drop_machinery, is_cell, link_pages
from book_site.references import list_chapters
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.notebooks import SETUP


class ChapterList(SphinxDirective):
    """The chapters in the words that the site has on their cards, without the pictures."""

    def run(self) -> list[nodes.Node]:
        """Read the first sentences of each notebook."""
        lines = []
        for name in list_chapters(self.env.app):
            notebook = json.loads((Path(self.env.srcdir) / f"{name}.ipynb").read_text("utf-8"))
            title, opening, time = read_opening(notebook)
            stop = "" if title.endswith("?") else "."
            lines.append(f"1. [](/{name}.ipynb){stop} {opening} Runs in {time}.")
        return self.parse_text_to_nodes("\n".join(lines))


def open_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Show folded cells, and leave out the one that installs the package."""
    for cell in list(filter(is_cell, doctree.findall(nodes.container))):
        cell.attributes.pop("hide_mode", None)
        if cell.astext().startswith(SETUP):
            cell.parent.remove(cell)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the list and what is left out."""
    app.add_directive("chapter-cards", ChapterList)
    for change in (open_cells, drop_machinery, link_pages):
        app.connect("doctree-read", change, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
