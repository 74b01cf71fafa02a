"""When the pages are written: a step may change them, and the files beside them."""

from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx

Step = Callable[[Sphinx, Path], None]


def when_written(app: Sphinx, step: Step, *, paper: bool = False, priority: int = 500) -> None:
    """Call a step with the folder of the site, or of the page of a printed book if it is for paper, too."""
    builders = ("html", "singlehtml") if paper else ("html",)

    def finish(app: Sphinx, error: Exception | None) -> None:
        if not error and app.builder.name in builders:
            step(app, Path(app.outdir))

    app.connect("build-finished", finish, priority=priority)


def edit_pages(folder: Path, edit: Callable[[str], str]) -> None:
    """Replace each page by what is made of it."""
    for page in folder.rglob("*.html"):
        page.write_text(edit(page.read_text("utf-8")), "utf-8")
