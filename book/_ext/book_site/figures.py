"""Figures in the dark."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

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


def colour_figures(app: Sphinx, error: Exception | None) -> None:
    """Give each figure its colours for dark pages, in a style sheet of its own."""
    if error or app.builder.format != "html":
        return
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
    """Register the hook."""
    app.connect("build-finished", colour_figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
