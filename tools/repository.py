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
_FIRST_LINE = "# For Colab: installs d2lmini, the package of this book. Elsewhere it does nothing."
_IN_TEXT = re.compile(re.escape(_FIRST_LINE) + r"\n.*?\n```", re.DOTALL)
_URL_LINE = re.compile(r"^(repository:\n  url: )(\S+)$", re.MULTILINE)


def repository_url() -> str:
    """The address in `_config.yml`."""
    found = _URL_LINE.search(CONFIG.read_text("utf-8"))
    if found is None:
        raise SystemExit("_config.yml must begin its section `repository:` with the line `  url: https://...`")
    return found[2]


def setup_cell(url: str) -> str:
    """The first code cell of each chapter, for a book that lives at `url`."""
    install = f"%pip install --quiet --no-deps git+{url}"
    if "/OWNER/" in url:
        install = 'raise SystemExit("Name the repository first: make repository URL=https://...")'
    return f'{_FIRST_LINE}\nimport sys\n\nif "google.colab" in sys.modules:\n    {install}'


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
            if cell.cell_type == "code" and cell.source.startswith(_FIRST_LINE):
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
