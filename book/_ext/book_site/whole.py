"""The drawing of the whole Transformer, `{whole-transformer}`, whose parts lead to the chapters that explain them."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .folds import raw
from .references import list_chapters

# The palette of the figures, by what the page has for it.
COLOURS = {
    "#ffffff": "--pst-color-background",
    "#1f2328": "--pst-color-text-base",
    "#59636e": "--pst-color-text-muted",
    "#0a5fb4": "--pst-color-primary",
    "#b34700": "--code-number",
    "#00785c": "--code-text",
}
LINK = re.compile(r'<a xlink:href="([\w-]+)\.ipynb"[^>]*>')


def is_map(cell: dict[str, Any]) -> bool:
    """Whether a cell has the drawing."""
    return "map" in cell["metadata"].get("tags", []) and bool(cell.get("outputs"))


class Whole(SphinxDirective):
    """The figure of the cell tagged `map`, in the page itself: so its parts are links, and can have a colour."""

    def run(self) -> list[nodes.Node]:
        """Nothing on paper, where the chapter has it."""
        if self.env.app.tags.has("paper"):
            return []
        root = Path(self.env.srcdir)
        names = list_chapters(self.env.app)
        notebooks = {name: json.loads((root / f"{name}.ipynb").read_text("utf-8")) for name in names}
        titles = {
            Path(name).name: "".join(held["cells"][0]["source"]).split("\n")[0] for name, held in notebooks.items()
        }
        found = next((cell for held in notebooks.values() for cell in held["cells"] if is_map(cell)), None)
        if found is None:
            raise self.error("no cell of a chapter is tagged map")
        for name in names:
            self.env.note_dependency(str(root / f"{name}.ipynb"))
        said = escape(found["metadata"]["mystnb"]["image"]["alt"])
        svg = "".join(found["outputs"][0]["data"]["image/svg+xml"])
        svg = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>|<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
        svg = LINK.sub(
            lambda link: f'<a href="notebooks/{link[1]}.html" aria-label="{escape(titles[link[1]][2:])}">', svg
        )
        for colour, name in COLOURS.items():
            svg = svg.replace(colour, f"var({name})")
        return [raw(f'<div class="whole" role="group" aria-label="{said}">{svg}</div>')]
