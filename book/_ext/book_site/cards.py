"""The chapters on the title page, each as a card, or on paper a line: question and time, read from the notebook.

A card has its picture from `thumbnails.svg`, or the first figure of a chapter that has none there.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book_site.phrases import RUNNING_TIME, RUNS_IN

from .folds import raw
from .references import list_parts

THUMBNAILS = Path(__file__).parent / "thumbnails.svg"


def read_opening(notebook: dict[str, Any]) -> tuple[str, str, str]:
    """The title of a chapter, its first paragraph and its running time."""
    text = "\n\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    title, opening, *rest = text.removeprefix("# ").split("\n\n", 2)
    time = re.search(rf"\*\*{RUNNING_TIME}\*\*[:：] ?(.+?)[.。]", "\n\n".join(rest))
    return title, opening, time[1] if time else ""


def find_picture(notebook: dict[str, Any]) -> str | None:
    """The first figure of a chapter, as SVG."""
    outputs = (output for cell in notebook["cells"] for output in cell.get("outputs", ()))
    pictures = ("".join(output.get("data", {}).get("image/svg+xml", "")) for output in outputs)
    return next(filter(None, pictures), None)


class ChapterCards(SphinxDirective):
    """A list of the chapters in the order of the table of contents, part by part."""

    def run(self) -> list[nodes.Node]:
        """Read the notebooks, and store their pictures beside those of the pages."""
        shown, first = list[nodes.Node](), 1
        for part, names in list_parts(self.env.app):
            if self.env.app.tags.has("paper"):
                lines = [f"{number}. {self.write_line(name)}" for number, name in enumerate(names, first)]
                shown += self.parse_text_to_nodes("\n".join([f"**{part}**", "", *lines]))
            else:
                cards = nodes.enumerated_list("", *map(self.make_card, names), classes=["chapter-cards"], start=first)
                shown += [nodes.rubric("", part, **{"heading-level": 3}), cards]
            first += len(names)
        return shown

    def read_chapter(self, name: str) -> dict[str, Any]:
        """The notebook of a chapter, on which the page then depends."""
        path = Path(self.env.srcdir) / f"{name}.ipynb"
        self.env.note_dependency(str(path))
        return json.loads(path.read_text("utf-8"))

    def write_line(self, name: str) -> str:
        """A chapter in the words of its card."""
        title, opening, time = read_opening(self.read_chapter(name))
        return f"[](/{name}.ipynb){'' if title.endswith(('?', '？')) else '.'} {opening} {RUNS_IN.format(time)}"

    def make_card(self, name: str) -> nodes.list_item:
        """The card of one chapter; its title is the link, its picture says nothing that the text does not."""
        notebook = self.read_chapter(name)
        title, opening, time = read_opening(notebook)
        head, tail = [*re.split("(?<=\\w): |：", title, maxsplit=1), ""][:2]
        self.env.note_dependency(str(THUMBNAILS))
        text = f"**[{head}](/{name}.ipynb)** {tail}\n\n{opening}\n\n{RUNS_IN.format(time)}"
        card = nodes.list_item("", nodes.container("", *self.parse_text_to_nodes(text)))
        drawn = re.search(rf'<symbol id="{Path(name).name}">(.*?)</symbol>', THUMBNAILS.read_text("utf-8"), re.DOTALL)
        if drawn:
            card.insert(0, raw(f'<svg class="thumbnail" viewBox="0 0 120 80" aria-hidden="true">{drawn[1]}</svg>'))
        elif svg := find_picture(notebook):
            place = Path(self.env.app.outdir) / f"_images/card-{Path(name).name}.svg"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(svg, "utf-8")
            depth = self.env.app.builder.get_target_uri(self.env.docname).count("/")
            card.insert(0, raw(f'<img src="{"../" * depth}_images/{place.name}" alt="">'))
        return card
