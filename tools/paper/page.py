"""Write the whole book as one HTML page: `python -m tools.paper.page`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from jupyter_book.config import get_final_config
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tools import ROOT
from tools.paper import PAGE
from tools.repository import read_version

# What serves a screen alone: buttons, folds, icons, search. The rest of the site's extension works on paper too.
SCREEN = {
    "jupyter_book", "notfound.extension", "sphinx.ext.intersphinx", "sphinx_book_theme", "sphinx_comments",
    "sphinx_copybutton", "sphinx_multitoc_numbering", "sphinx_thebe", "sphinx_togglebutton",
}  # fmt: skip
SCREEN_SETTINGS = ("html_", "copybutton", "mathjax", "notfound", "comments", "use_", "latex")
SCREEN_PARTS = {"theme", "description", "folds", "search", "cards", "figures", "package", "weight", "styles"}


def choose_extensions(extensions: list[str]) -> list[str]:
    """The extensions of the site that paper needs, and the writer of the one page."""
    from book_site import PARTS

    kept = [name for name in extensions if name not in SCREEN | {"book_site"}]
    return [*kept, *(f"book_site.{part}" for part in PARTS if part not in SCREEN_PARTS), "tools.paper.writer"]


def configure() -> dict[str, Any]:
    """The settings of `_config.yml`, without theme and scripts."""
    config, _ = get_final_config(
        user_yaml=ROOT / "_config.yml", cli_config={"latex_individualpages": False}, sourcedir=ROOT
    )
    for name in [name for name in config if name.startswith(SCREEN_SETTINGS)]:
        del config[name]
    return config | {
        "extensions": choose_extensions(config["extensions"]),
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


def write_page(folder: Path) -> None:
    """Let Sphinx write the book into `folder`, from scratch: what an older build left could hide a fault.

    Raises:
        SystemExit: if Sphinx warns of anything.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            srcdir=ROOT,
            confdir=None,
            outdir=folder,
            doctreedir=folder.parent / "doctrees",
            buildername="singlehtml",
            confoverrides=configure(),
            status=None,
            tags=("paper",),
            freshenv=True,
            warningiserror=True,
            keep_going=True,
        )
        app.build(force_all=True)
    if app.statuscode:
        sys.exit("the page of the whole book could not be built: see above")


def main() -> None:
    """Write the page, and put it where its links to pictures and styles are right."""
    write_page(PAGE.parent)
    root = PAGE.parent / "book/intro.html"
    # Sphinx writes addresses as seen from the folder above that of the root: without this no style and no picture.
    root.replace(PAGE)
    for style in (Path(__file__).parent / "print.css", ROOT / "book/_static/formulas.css"):
        shutil.copy(style, PAGE.parent / "_static")


if __name__ == "__main__":
    main()
