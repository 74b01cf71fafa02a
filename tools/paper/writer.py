"""A Sphinx extension that writes the book as one page, with ids that are unique in it and the order of a book."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.singlehtml import SingleFileHTMLBuilder
from sphinx.util import logging

from tools.paper.arrange import arrange_book, find_parts, name_anchor
from tools.repository import FIRST_LINE

LOGGER = logging.getLogger(__name__)
MACHINERY = ("# NBVAL_IGNORE_OUTPUT", "# @title")
MOST_LINES_TOGETHER = 20  # of a cell and what it prints; a longer one may go on on the next page
MOST_LINES_ABOVE_FIGURE = 14


class PaperBuilder(SingleFileHTMLBuilder):
    """One page on which the chapters stand side by side, and each id once."""

    def assemble_doctree(self) -> nodes.document:
        """Put the book together, in the order of a printed one."""
        parts = find_parts(self.env.get_doctree(self.config.root_doc))
        tree = super().assemble_doctree()
        arrange_book(tree, parts, self.config)
        report_dead_links(tree)
        return tree

    def fix_refuris(self, tree: nodes.Node) -> None:
        """Make ids and links unique: each chapter has a section "Exercises", and Sphinx leads to the first of them."""
        root = self.config.root_doc
        owners = {
            node: file["docname"]
            for file in tree.findall(addnodes.start_of_file)
            for node in file.findall(nodes.Element)
        }
        for node in tree.findall(nodes.Element):
            docname = owners.get(node, root)
            node["ids"] = [name_anchor(docname, name) for name in node["ids"]]
            if "refid" in node:
                node["refid"] = name_anchor(docname, node["refid"])
        for link in tree.findall(nodes.reference):
            head, document, rest = link.get("refuri", "").partition("#document-")
            docname, _, name = rest.partition("#")
            if document and not head:
                whole = "introduction" if docname == root else f"document-{docname}"
                link["refuri"] = f"#{name_anchor(docname, name) if name else whole}"

    def assemble_toc_fignumbers(self) -> dict[str, dict[str, dict[str, tuple[int, ...]]]]:
        """Find the numbers of figures under their unique ids."""
        found = super().assemble_toc_fignumbers()
        return {
            root: {
                kind: {name_anchor(kind.rpartition("/")[0], name): number for name, number in numbers.items()}
                for kind, numbers in kinds.items()
            }
            for root, kinds in found.items()
        }


def report_dead_links(tree: nodes.document) -> None:
    """Warn of a link inside the book to a place that the book does not have."""
    places = {name for node in tree.findall(nodes.Element) for name in node["ids"]}
    places |= {f"document-{file['docname']}" for file in tree.findall(addnodes.start_of_file)} | {"introduction"}
    for link in tree.findall(nodes.reference):
        target = link.get("refuri", "#")[1:] if link.get("refuri", "").startswith("#") else link.get("refid")
        if target and target not in places:
            LOGGER.warning("the book has no place called %s, to which a link leads", target)


def drop_machinery(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out what only a tool reads: the cell that installs, comments to nbval and Colab, marks of folded cells."""
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") != "cell_code":
            continue
        cell.attributes.pop("hide_mode", None)
        if cell.astext().startswith(FIRST_LINE):
            cell.parent.remove(cell)
    for block in doctree.findall(nodes.literal_block):
        lines = [line for line in block.rawsource.splitlines() if not line.startswith(MACHINERY)]
        block.rawsource = "\n".join(lines)
        block.children = [nodes.Text(block.rawsource)]


def keep_together(app: Sphinx, doctree: nodes.document) -> None:
    """Mark what a page must not cut: short cells with what they print or draw, and a line that leads to the next."""
    for block in doctree.findall(nodes.literal_block):
        if len(block.astext().splitlines()) <= MOST_LINES_TOGETHER:
            block["classes"].append("together")
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            lines = len(cell.astext().splitlines())
            drawn = any(True for _ in cell.findall(nodes.image))
            if lines <= (MOST_LINES_ABOVE_FIGURE if drawn else MOST_LINES_TOGETHER):
                cell["classes"].append("together")
    for paragraph in doctree.findall(nodes.paragraph):
        if paragraph.astext().endswith(":"):
            paragraph["classes"].append("leads")


def write_formula(self: Any, node: nodes.math) -> None:
    """Leave TeX in the line: the printer of the PDF and the maker of the EPUB set it in their own way."""
    self.body.append(f'<span class="math">{escape(node.astext())}</span>')
    raise nodes.SkipNode


def write_display(self: Any, node: nodes.math_block) -> None:
    """Leave TeX on a line of its own, as it was written."""
    self.body.append(f'<div class="math">{escape(node.astext().strip())}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register builder, formulas and what is left out."""
    app.add_builder(PaperBuilder, override=True)
    app.add_html_math_renderer("paper", (write_formula, None), (write_display, None))
    for change in (drop_machinery, keep_together):
        app.connect("doctree-read", change, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
