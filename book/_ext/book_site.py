"""What Jupyter Book and its theme do not do by themselves: folding, math offline, figures in the dark, a report."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

sys.path.append(str(Path(__file__).parents[2]))  # for jupyter-book without make
from tools.outputs import KINDS, count_outputs

# The colours of d2lmini/figures/style.mplstyle and what they become on a dark page.
DARK = {
    "#ffffff": "#121212",
    "#1f2328": "#e6e9ee",
    "#59636e": "#9aa4b2",
    "#d1d9e0": "#333b47",
    "#0a5fb4": "#6cb1ff",
    "#b34700": "#ff9d57",
    "#00785c": "#3fd0a8",
    "#8a3ea8": "#d49aef",
}

# What Sphinx and the theme write -> what a keyboard reaches and a screen reader understands.
MENDED = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # A formula wider than a phone scrolls, so the keyboard must be able to get there.
    '<div class="math notranslate nohighlight">': '<div class="math notranslate nohighlight" tabindex="0">',
}


def adjust_theme(app: Sphinx, config: Config) -> None:
    """One search box; no button that leads to a repository that is not set yet; where a lost reader's page lives."""
    options = config.html_theme_options
    options.setdefault("navbar_persistent", [])
    url = options.get("repository_url", "")
    config["notfound_urls_prefix"] = f"/{url.rpartition('/')[2]}/"  # GitHub Pages: me.github.io/my-fork/
    if "/OWNER/" in url:
        for name in ("use_repository_button", "use_issues_button", "use_edit_page_button", "use_source_button"):
            options[name] = False
        options["launch_buttons"] = {}


def drop_thebe(app: Sphinx, config: Config) -> None:
    """The theme loads sphinx-thebe, which declares a constant twice: a script error on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [listener for listener in listeners if listener.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [entry for entry in app.registry.css_files if entry[0] != "sphinx-thebe.css"]


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


def plain_display_math(app: Sphinx, doctree: nodes.document) -> None:
    r"""Leave display math as it was written: Sphinx wraps it in ``split``, where ``\tag`` is an error."""
    for block in doctree.findall(nodes.math_block):
        block.children = [nodes.Text(rf"\[{block.astext()}\]")]
        block["nowrap"] = True


def finish_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Replace labels that mislead a screen reader; describe the page by its first paragraph."""
    for old, new in MENDED.items():
        if "body" in context:
            context["body"] = context["body"].replace(old, new)
    paragraphs = doctree.findall(nodes.paragraph) if doctree else []
    first = next((paragraph for paragraph in paragraphs if isinstance(paragraph.parent, nodes.section)), None)
    text = first.astext() if first else f"{context.get('title', pagename)}: a page of the book {app.config.project}."
    description = f'<meta name="description" content={quoteattr(" ".join(text.split()))} />'
    context["metatags"] = context.get("metatags", "") + description


def read_seconds(log: Path) -> str:
    """How long the test of a notebook took, by the log that `make book` left."""
    suite = ElementTree.parse(log).getroot().find("testsuite") if log.exists() else None
    return "not tested by make" if suite is None else f"{float(suite.attrib['time']):.1f}"


def tabulate_notebooks(root: Path) -> list[str]:
    """For each notebook how many of its outputs are of which kind, and how long its test took; and the sums."""
    rows = [f"| notebook | {' | '.join(KINDS)} | seconds |", f"|---|{'---:|' * len(KINDS)}---:|"]
    total: Counter[str] = Counter()
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        counts = count_outputs(json.loads(path.read_text("utf-8")))
        numbers = " | ".join(str(counts[kind]) for kind in KINDS)
        rows.append(
            f"| [](../notebooks/{path.name}) | {numbers} | {read_seconds(root / f'.build/log/{path.stem}.xml')} |"
        )
        total += counts
    return [*rows, f"| all | {' | '.join(str(total[kind]) for kind in KINDS)} | |"]


class BuildReport(SphinxDirective):
    """Two tables for the page about this build: the notebooks as they were tested, and the versions that did it."""

    def run(self) -> list[nodes.Node]:
        """Read the notebooks, what `make book` left of its tests, and the pinned packages."""
        root = Path(self.env.srcdir)
        text = [*tabulate_notebooks(root), "", "| package | version |", "|---|---|"]
        text.append(f"| Python | {platform.python_version()} |")
        pinned = (root / "requirements.txt").read_text("utf-8").partition("# What these pull in")[0]
        for name in re.findall(r"^([\w-]+)==", pinned, re.MULTILINE):
            text.append(f"| {name} | {importlib.metadata.version(name)} |")
        return self.parse_text_to_nodes("\n".join(text))


def place_mathjax(app: Sphinx) -> None:
    """Copy from the installed package what the pages need of MathJax: one script and its fonts."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise RuntimeError(
            "sphinx-mathjax-offline is not installed: run `make book`, or pip install -r requirements.txt"
        )
    source, target = Path(spec.origin).parent / "static/mathjax", Path(app.outdir) / "_static/mathjax"
    fonts = Path("output/chtml/fonts")
    shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)
    shutil.copy(source / "tex-chtml.js", target)


def finish_site(app: Sphinx, error: Exception | None) -> None:
    """Give each figure its colours for dark pages, in a style sheet of its own; drop files that no page uses."""
    if error or app.builder.format != "html":
        return
    for pattern in ("*.map", "*.ttf", "sphinx-thebe.*"):
        for unused in Path(app.outdir).rglob(pattern):
            unused.unlink()
    shutil.rmtree(Path(app.outdir) / "_static/locales", ignore_errors=True)  # translations of the theme
    rules = "".join(
        f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    for figure in (Path(app.outdir) / "_images").glob("*.svg"):
        text = figure.read_text("utf-8")
        figure.write_text(re.sub(r"<svg\b[^>]*>", lambda tag: tag[0] + style, text, count=1), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("config-inited", adjust_theme)
    app.connect("config-inited", drop_thebe)
    app.connect("builder-inited", place_mathjax)
    app.connect("doctree-read", plain_display_math)
    app.connect("doctree-read", fold_solutions)
    app.connect("html-page-context", finish_page)
    app.connect("build-finished", finish_site)
    app.add_directive("build-report", BuildReport)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
