"""What came out of this build: how many cells are compared, with which versions; and places for what they gave.

Pages are built before anything is run. A comment behind each code cell, one on the title page and one where a page says
`<!--what came out-->` is where `tools/notebooks/marks.py` says afterwards what the cells gave on this machine.
"""

import json
import platform
import re
import tomllib
from collections import Counter
from datetime import datetime
from pathlib import Path

from babel.dates import format_skeleton
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .folds import is_cell, raw
from .outputs import KINDS, count_outputs
from .phrases import OWN
from .references import list_notebooks

WANTED = "<!--what came out-->"
NOT_YET = (
    "<!--report--><p>These pages show what is stored. On this machine the notebooks have not been run again yet: "
    "<code>make book</code> does it once the pages are there, and then says here what came out.</p><!--/-->"
)


def leave_places(app: Sphinx, doctree: nodes.document) -> None:
    """Put a comment behind each code cell, where a mark belongs if it gave something else."""
    for number, cell in enumerate(list(filter(is_cell, doctree.findall(nodes.container)))):
        shown = [part for part in cell.children if is_cell(part, "cell_code_output")]
        (shown[-1] if shown else cell).append(raw(f"<!--cell {number}--><!--/-->"))


def tabulate_notebooks(root: Path, names: list[str]) -> list[str]:
    """For each notebook how many of its outputs are of which kind; and the sums."""
    rows = [f"| notebook | {' | '.join(KINDS)} |", f"|---|{'---:|' * len(KINDS)}"]
    total: Counter[str] = Counter()
    for name in names:
        notebook = json.loads((root / f"{name}.ipynb").read_text("utf-8"))
        counts = count_outputs(notebook)
        title = "".join(notebook["cells"][0]["source"]).partition("\n")[0].removeprefix("# ").partition(":")[0]
        numbers = " | ".join(str(counts[kind]) for kind in KINDS)
        rows.append(f"| [{title}](../{name}.ipynb) | {numbers} |")
        total += counts
    return [*rows, f"| all | {' | '.join(str(total[kind]) for kind in KINDS)} |"]


class BuildLine(SphinxDirective):
    """The edition, its month, and in a few words what came out."""

    def run(self) -> list[nodes.Node]:
        """Read the newest heading of the change log."""
        edition, month = re.findall(
            r"(?m)^## (\S+) · (\w+ \d{4})", (Path(self.env.srcdir) / "CHANGELOG.md").read_text("utf-8")
        )[0]
        month = format_skeleton("yMMMM", datetime.strptime(month, "%B %Y"), locale=self.config.language)
        place = f"<!--line-->{OWN['not_yet']}<!--/-->"
        line = f'<p class="build-line">{OWN["edition"].format(edition, month)} · {place}</p>'
        return [] if self.env.app.tags.has("paper") else [raw(line)]


def show_report(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a place for what came out, and two tables, the notebooks and the versions, where a page wants them."""
    if WANTED not in source[0]:
        return
    root = Path(app.srcdir)
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = (root / "requirements.txt").read_text("utf-8").partition("# What these pull in")[0]
    versions = [("package", "version"), ("---", "---"), ("this book, and d2lmini", project["version"])]
    versions += [("Python", platform.python_version()), *re.findall(r"(?m)^([\w-]+)==(\S+)", pinned)]
    text = [] if app.tags.has("paper") else [NOT_YET, ""]  # nobody fills it in a printed book
    text += tabulate_notebooks(root, list_notebooks(app, "notebooks/", "pages/"))
    told = "\n".join([*text, "", *(f"| {name} | {version} |" for name, version in versions)])
    source[0] = source[0].replace(WANTED, json.dumps(told)[1:-1] if source[0].startswith("{") else told)
