"""What is folded on a page, and stays plain in the notebook."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def fold_solutions(app: Sphinx, doctree: nodes.document) -> None:
    """Put what follows a heading "Solution" into <details>: no script, found by search, opened by the keyboard."""
    for section in list(doctree.findall(nodes.section)):
        title = section.next_node(nodes.title)
        if title is None or title.parent is not section or title.astext() != "Solution":
            continue
        exercise = section.parent.next_node(nodes.title).astext().partition(" · ")[0]
        summary = f'<details class="solution"><summary>Show the solution of {exercise}</summary>'
        body = section.children[1:]
        section.children = [title]
        section.extend([nodes.raw("", summary, format="html"), *body, nodes.raw("", "</details>", format="html")])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hook."""
    app.connect("doctree-read", fold_solutions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
