"""The report on the page about this build: the notebooks as they were tested, and the versions that did it."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .outputs import KINDS, count_outputs
from .references import list_chapters


def read_seconds(log: Path) -> str:
    """How long the test of a notebook took, by the log that `make book` left."""
    suite = ElementTree.parse(log).getroot().find("testsuite") if log.exists() else None
    return "not tested by make" if suite is None else f"{float(suite.attrib['time']):.1f}"


def tabulate_notebooks(root: Path, chapters: list[str]) -> list[str]:
    """For each notebook how many of its outputs are of which kind, and how long its test took; and the sums."""
    rows = [f"| notebook | {' | '.join(KINDS)} | seconds |", f"|---|{'---:|' * len(KINDS)}---:|"]
    total: Counter[str] = Counter()
    for path in (root / f"{chapter}.ipynb" for chapter in chapters):
        notebook = json.loads(path.read_text("utf-8"))
        counts = count_outputs(notebook)
        title = "".join(notebook["cells"][0]["source"]).partition("\n")[0].removeprefix("# ").partition(":")[0]
        numbers = " | ".join(str(counts[kind]) for kind in KINDS)
        seconds = read_seconds(root / f".build/log/{path.stem}.xml")
        rows.append(f"| [{title}](../notebooks/{path.name}) | {numbers} | {seconds} |")
        total += counts
    return [*rows, f"| all | {' | '.join(str(total[kind]) for kind in KINDS)} | |"]


class BuildReport(SphinxDirective):
    """Two tables for the page about this build: the notebooks as they were tested, and the versions that did it."""

    def run(self) -> list[nodes.Node]:
        """Read the notebooks, what `make book` left of its tests, and the pinned packages."""
        root = Path(self.env.srcdir)
        text = [*tabulate_notebooks(root, list_chapters(self.env.app)), "", "| package | version |", "|---|---|"]
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        text.append(f"| this book, and d2lmini | {project['version']} |")
        text.append(f"| Python | {platform.python_version()} |")
        pinned = (root / "requirements.txt").read_text("utf-8").partition("# What these pull in")[0]
        for name in re.findall(r"^([\w-]+)==", pinned, re.MULTILINE):
            text.append(f"| {name} | {importlib.metadata.version(name)} |")
        return self.parse_text_to_nodes("\n".join(text))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("build-report", BuildReport)
    app.add_config_value("complete_chapters", [], "")  # only the tests of the pages read it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
