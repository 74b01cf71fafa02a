"""What a printed book and an e-reader have in common: no buttons, and nothing to open."""

from __future__ import annotations

from book_site.folds import drop_machinery, is_cell, link_pages
from docutils import nodes
from sphinx.application import Sphinx

from tools.notebooks import SETUP


def open_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Show folded cells, and leave out the one that installs the package."""
    for cell in list(filter(is_cell, doctree.findall(nodes.container))):
        cell.attributes.pop("hide_mode", None)
        if cell.astext().startswith(SETUP):
            cell.parent.remove(cell)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what is left out."""
    for change in (open_cells, drop_machinery, link_pages):
        app.connect("doctree-read", change, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
