"""Write the whole book as one HTML page: `python -m tools.paper.page`.

As an extension of Sphinx it does what a printed book and an e-reader have in common: no buttons, nothing to open.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from book_site.folds import drop_machinery, is_cell, link_pages
from docutils import nodes
from jupyter_book.config import get_final_config
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tools import ROOT
from tools.notebooks import SETUP
from tools.paper import PAGE
from tools.repository import read_version

# What serves a screen alone, such as buttons, icons and search.
SCREEN = {"jupyter_book", "notfound.extension", "sphinx.ext.intersphinx", "sphinx_book_theme"}
SCREEN |= {f"sphinx_{name}" for name in ("comments", "copybutton", "multitoc_numbering", "reredirects", "thebe")}
SCREEN |= {"sphinx_togglebutton"}
SCREEN_SETTINGS = ("html_", "redirect", "copybutton", "mathjax", "notfound", "comments", "use_", "latex")


def open_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Show folded cells, and leave out the one that installs the package."""
    for cell in list(filter(is_cell, doctree.findall(nodes.container))):
        cell.attributes.pop("hide_mode", None)
        if cell.astext().startswith(SETUP):
            cell.parent.remove(cell)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what is left out."""
    for change in (open_cells, drop_machinery, link_pages):
        app.connect("doctree-read", change, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def configure(*own: str) -> dict[str, Any]:
    """The settings of `_config.yml`, without theme and scripts, and with a module of `tools.paper` that writes."""
    given = {"latex_individualpages": False}
    config, _ = get_final_config(user_yaml=ROOT / "_config.yml", cli_config=given, sourcedir=ROOT)
    kept = [name for name in config["extensions"] if name not in SCREEN]
    return {name: value for name, value in config.items() if not name.startswith(SCREEN_SETTINGS)} | {
        "extensions": [*kept, "tools.paper.page", *own],
        "version": read_version(),
        "language": "en",
        "html_context": {"author": config["author"], "rights": config["copyright"]},
        "html_theme": "basic",
        "html_permalinks": False,
        "html_math_renderer": "mathml",
        "formulas_described": True,
        "html_scaled_image_link": False,
        "pygments_style": "a11y-high-contrast-light",
        "templates_path": [str(Path(__file__).parent)],
    }


def build(builder: str, folder: Path, settings: dict[str, Any]) -> None:
    """Let Sphinx write the book from scratch: what an older build left could hide a fault.

    Raises:
        SystemExit: if Sphinx warns of anything.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            srcdir=ROOT,
            confdir=None,
            outdir=folder,
            doctreedir=folder.parent / "doctrees" / builder,
            buildername=builder,
            confoverrides=settings,
            status=None,
            tags=("paper",),
            freshenv=True,
            warningiserror=True,
            keep_going=True,
        )
        app.build(force_all=True)
    if app.statuscode:
        sys.exit("the book could not be built: see above")


def main() -> None:
    """Write the page, where its pictures and styles are found."""
    folder = PAGE.parent
    build("singlehtml", folder, configure("tools.paper.writer"))
    # Sphinx writes addresses as seen from the folder above that of the root: without this no style and no picture.
    (folder / "book/intro.html").replace(PAGE)
    for style in (Path(__file__).parent / "print.css", ROOT / "book/_static/formulas.css"):
        shutil.copy(style, folder / "_static")


if __name__ == "__main__":
    main()
