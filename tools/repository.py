"""Name the repository of the book: `python -m tools.repository https://github.com/me/my-fork`.

Writes the address into `_config.yml` and each chapter's setup cell, in text and notebook, without running anything.
"""

from __future__ import annotations

import re
import sys

import nbformat

from tools import ROOT
from tools.notebooks import DIGEST, NOTEBOOKS, TEXTS, digest, is_chapter, is_edited

CONFIG = ROOT / "_config.yml"
FIRST_LINE = "# Installs d2lmini, the package of this book, if it is missing."
_SETUP = f"""\
{FIRST_LINE}
import importlib.util
from pathlib import Path

if importlib.util.find_spec("d2lmini") is None:
    wheels = [*Path("..").glob("d2lmini-*.whl"), *Path().glob("d2lmini-*.whl")]
"""
_FROM_REPOSITORY = """\
    package = wheels[0] if wheels else "git+{url}"
    %pip install --quiet {{package}}"""
_FROM_WHEEL = """\
    if not wheels:
        raise SystemExit("Keep this notebook in the folder of the unpacked book: "
                         "the package d2lmini is there.")
    %pip install --quiet {wheels[0]}"""
_IN_TEXT = re.compile(re.escape(FIRST_LINE) + r"\n.*?\n```", re.DOTALL)
_URL_LINE = re.compile(r"^(repository:\n  url: )(\S+)$", re.MULTILINE)


def repository_url() -> str:
    """The address in `_config.yml`."""
    found = _URL_LINE.search(CONFIG.read_text("utf-8"))
    if found is None:
        raise SystemExit("_config.yml must begin its section `repository:` with the line `  url: https://...`")
    return found[2]


def setup_cell(url: str) -> str:
    """The first code cell of each chapter: the wheel beside the pages is installed, or else the book at `url`."""
    return _SETUP + (_FROM_WHEEL if "/OWNER/" in url else _FROM_REPOSITORY.format(url=url))


def main(url: str) -> None:
    """Change the address everywhere.

    Raises:
        SystemExit: if `url` is not the address of a repository.
    """
    url = url.removesuffix("/").removesuffix(".git")
    if not re.fullmatch(r"https://[\w.-]+/[\w.-]+/[\w.-]+", url):
        raise SystemExit(f"URL must look like https://github.com/me/my-fork, got {url!r}")
    new = setup_cell(url)
    for path in NOTEBOOKS.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        edited = is_edited(notebook)  # then it stays so, and `make notebooks` will ask
        for cell in notebook.cells:
            if cell.cell_type == "code" and cell.source.startswith(FIRST_LINE):
                cell.source = new
        if not edited:
            notebook.metadata[DIGEST] = digest(notebook)
        path.write_text(nbformat.writes(notebook) + "\n", "utf-8")
    for path in filter(is_chapter, TEXTS.glob("*.md")):
        path.write_text(_IN_TEXT.sub(lambda _: new + "\n```", path.read_text("utf-8"), count=1), "utf-8")
    CONFIG.write_text(_URL_LINE.sub(rf"\g<1>{url}", CONFIG.read_text("utf-8"), count=1), "utf-8")
    print(f"The book now points to {url}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
