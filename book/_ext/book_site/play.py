"""A panel of a notebook on another page: its numbers, for a script, and what stands there without one."""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .folds import raw

GIVEN = re.compile(r'data-play="\w+" data-given="[^"]*"')


class Play(SphinxDirective):
    """`{play} self-attention`: the numbers of the first panel of that notebook that a script plays with."""

    has_content, required_arguments = True, 1

    def run(self) -> list[nodes.Node]:
        """Put the numbers around what the directive holds."""
        inside = self.parse_content_to_nodes()
        if self.env.app.tags.has("paper"):
            return inside
        folders = (Path(self.env.srcdir, name) for name in ("notebooks", "english"))  # not every chapter is translated
        path = next(filter(Path.exists, (folder / f"{self.arguments[0]}.ipynb" for folder in folders)))
        self.env.note_dependency(str(path))
        outputs = (out for cell in json.loads(path.read_text("utf-8"))["cells"] for out in cell.get("outputs", ()))
        panels = (GIVEN.search("".join(output.get("data", {}).get("text/html", ""))) for output in outputs)
        given = next(filter(None, panels), None)
        if given is None:
            raise self.error(f"{path.name} has no panel with data-play")
        return [raw(f'<div class="instead" {given[0]}>'), *inside, raw("</div>")]
