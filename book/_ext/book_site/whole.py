"""The drawing of the whole Transformer, `{whole-transformer}`, whose parts lead to the chapters that explain them."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .folds import raw
from .translated import ENGLISH

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
        folder = next(filter(Path.exists, (root / "english", root / "notebooks")))  # translated are a few
        notebooks = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.ipynb"))}
        found = next((cell for held in notebooks.values() for cell in held["cells"] if is_map(cell)), None)
        if found is None:
            raise self.error("no cell of a chapter is tagged map")
        for name in notebooks:
            self.env.note_dependency(str(folder / f"{name}.ipynb"))
        here = {path.stem: json.loads(path.read_text("utf-8")) for path in root.glob("notebooks/*.ipynb")}

        def lead(link: re.Match[str]) -> str:
            name, held = link[1], here.get(link[1], notebooks[link[1]])
            title = "".join(held["cells"][0]["source"]).partition("\n")[0].removeprefix("# ")
            return f'<a href="{"" if name in here else ENGLISH}notebooks/{name}.html" aria-label="{escape(title)}">'

        said = escape(found["metadata"]["mystnb"]["image"]["alt"])
        svg = "".join(found["outputs"][0]["data"]["image/svg+xml"])
        svg = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>|<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
        svg = LINK.sub(lead, svg)
        for colour, name in COLOURS.items():
            svg = svg.replace(colour, f"var({name})")
        return [raw(f'<div class="whole" role="group" aria-label="{said}">{svg}</div>')]
