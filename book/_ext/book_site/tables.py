"""A table and a figure from one cell: the caption of the cell is that of the figure."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def free_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Take what has no picture out of a figure, if there is a picture beside it: only that one has the caption."""
    for figure in list(doctree.findall(nodes.figure)):
        pictured = any(True for _ in figure.findall(nodes.image))
        if not pictured and any(True for _ in figure.parent.findall(nodes.image)):
            figure.replace_self([part for part in figure.children if not isinstance(part, nodes.caption)])


def setup(app: Sphinx) -> dict[str, bool]:
    """Before the figures are numbered."""
    app.connect("doctree-read", free_tables, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
