"""The chapters on the title page, each as a card: picture, question and time, all of it read from the notebook."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .references import list_chapters


def read_opening(notebook: dict[str, Any]) -> tuple[str, str, str]:
    """The title of a chapter, its first paragraph as plain text, and its running time."""
    text = "\n\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    title, opening, *rest = text.removeprefix("# ").split("\n\n", 2)
    time = re.search(r"\*\*Running time\*\*: (.+?)\.", "\n\n".join(rest))
    return title, re.sub(r"[*$]", "", opening), time[1] if time else ""


def find_picture(notebook: dict[str, Any]) -> str | None:
    """The first figure of a chapter, as SVG."""
    outputs = (output for cell in notebook["cells"] for output in cell.get("outputs", ()))
    pictures = ("".join(output.get("data", {}).get("image/svg+xml", "")) for output in outputs)
    return next(filter(None, pictures), None)


class ChapterCards(SphinxDirective):
    """A list of the chapters in the order of the table of contents."""

    def run(self) -> list[nodes.Node]:
        """Read the notebooks, and store their pictures beside those of the pages."""
        cards = [self.make_card(name) for name in list_chapters(self.env.app)]
        return [nodes.raw("", f'<ol class="chapter-cards">{"".join(cards)}</ol>', format="html")]

    def make_card(self, name: str) -> str:
        """The card of one chapter; its title is the link, its picture says nothing that the text does not."""
        path = Path(self.env.srcdir) / f"{name}.ipynb"
        self.env.note_dependency(str(path))
        notebook = json.loads(path.read_text("utf-8"))
        title, opening, time = map(escape, read_opening(notebook))
        head, _, tail = title.partition(": ")
        up, picture = "../" * self.env.docname.count("/"), ""
        if svg := find_picture(notebook):
            place = Path(self.env.app.outdir) / f"_images/card-{path.stem}.svg"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(svg, "utf-8")
            picture = f'<img src="{up}_images/{place.name}" alt="" loading="lazy">'
        named = f'<a href="{up}{name}.html">{head}</a>' + (f"<span>{tail}</span>" if tail else "")
        return f"<li>{picture}<div><h3>{named}</h3><p>{opening}</p><p>Runs in {time}.</p></div></li>"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("chapter-cards", ChapterCards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
