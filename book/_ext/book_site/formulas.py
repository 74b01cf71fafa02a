"""Formulas, set without a network."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx


def plain_display_math(app: Sphinx, doctree: nodes.document) -> None:
    r"""Leave display math as it was written: Sphinx wraps it in ``split``, where ``\tag`` is an error."""
    for block in doctree.findall(nodes.math_block):
        block.children = [nodes.Text(rf"\[{block.astext()}\]")]
        block["nowrap"] = True


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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("builder-inited", place_mathjax)
    app.connect("doctree-read", plain_display_math)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
