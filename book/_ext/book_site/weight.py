"""What no page uses is not shipped."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx


def drop_unused(app: Sphinx, error: Exception | None) -> None:
    """Delete the files that Sphinx and the theme copy, and that no page asks for."""
    if error or app.builder.format != "html":
        return
    for pattern in ("*.map", "*.ttf", "sphinx-thebe.*"):
        for unused in Path(app.outdir).rglob(pattern):
            unused.unlink()
    shutil.rmtree(Path(app.outdir) / "_static/locales", ignore_errors=True)  # translations of the theme


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hook."""
    app.connect("build-finished", drop_unused)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
