"""A Sphinx extension that writes the book as one page, with ids that are unique in it and the order of a book."""

import re

from book_site.folds import is_cell
from book_site.references import number_figures
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.singlehtml import SingleFileHTMLBuilder

from tools.paper.arrange import arrange_book, name_anchor

MOST_LINES_TOGETHER = 20  # of a cell and what it prints; a longer one may go on on the next page
MOST_LINES_ABOVE_FIGURE = 14
PANEL_LINK = re.compile(r'(?<=<a href=")([\w-]+)\.html#([\w-]+)(?=")')


class PaperBuilder(SingleFileHTMLBuilder):
    """One page on which the chapters stand side by side, and each id once."""

    def assemble_doctree(self) -> nodes.document:
        """Put the book together, in the order of a printed one."""
        lists = self.env.get_doctree(self.config.root_doc).findall(addnodes.toctree)
        parts = [(listed.get("caption") or "", list(listed["includefiles"])) for listed in lists]
        tree = super().assemble_doctree()
        arrange_book(tree, parts, self.config)
        return tree

    def fix_refuris(self, tree: nodes.Node) -> None:
        """Make ids and links unique: each chapter has a section "Exercises", and Sphinx leads to the first of them."""
        root = self.config.root_doc
        files = list(tree.findall(addnodes.start_of_file))
        owners = {node: file["docname"] for file in files for node in file.findall(nodes.Element)}
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
        for part in tree.findall(nodes.raw):  # a panel leads from chapter to chapter
            led = PANEL_LINK.sub(lambda link: f"#{name_anchor(f'notebooks/{link[1]}', link[2])}", part.astext())
            part.children = [nodes.Text(led)]


def number_all_figures(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Number the figures of each chapter: what the site does page by page."""
    for file in doctree.findall(addnodes.start_of_file):
        number_figures(app, file, file["docname"])


def keep_together(app: Sphinx, doctree: nodes.document) -> None:
    """Mark what a page must not cut: short cells with what they print or draw, and a line that leads to the next."""
    for block in doctree.findall(nodes.literal_block):
        if len(block.astext().splitlines()) <= MOST_LINES_TOGETHER:
            block["classes"].append("together")
    for cell in filter(is_cell, doctree.findall(nodes.container)):
        lines = len(cell.astext().splitlines())
        drawn = any(True for _ in cell.findall(nodes.image))
        if lines <= (MOST_LINES_ABOVE_FIGURE if drawn else MOST_LINES_TOGETHER):
            cell["classes"].append("together")
    for paragraph in doctree.findall(nodes.paragraph):
        if paragraph.astext().endswith(":"):
            paragraph["classes"].append("leads")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the builder and its hooks."""
    app.add_builder(PaperBuilder, override=True)
    app.connect("doctree-resolved", number_all_figures)
    app.connect("doctree-read", keep_together, priority=410)  # after what is left out
    return {"parallel_read_safe": True, "parallel_write_safe": True}
