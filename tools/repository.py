"""Name the repository of the book: `python -m tools.repository https://github.com/me/my-fork`.

Writes the address into `_config.yml` and each chapter's setup cell, in text and notebook, without running anything: not
even later, since the files keep their times.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

import nbformat

from tools import ROOT
from tools.notebooks import DIGEST, FRAMEWORKS, NOTEBOOKS, TEXTS, digest, is_chapter, is_edited

CONFIG, PROJECT = ROOT / "_config.yml", ROOT / "pyproject.toml"
FIRST_LINE = "# Installs d2lmini, the package of this book, if it is missing."
_SETUP = f"""\
{FIRST_LINE}
import importlib.util
from pathlib import Path

if importlib.util.find_spec("d2lmini") is None:
    wheels = [*Path("..").glob("d2lmini-*.whl"), *Path().glob("d2lmini-*.whl")]
"""
_FROM_REPOSITORY = """\
    package = wheels[0] if wheels else "git+{url}@{ref}"
    %pip install --quiet {{package}}"""
_FROM_WHEEL = """\
    if not wheels:
        raise SystemExit("Keep this notebook in the folder of the unpacked book: "
                         "the package d2lmini is there.")
    %pip install --quiet {wheels[0]}"""
_IN_TEXT = re.compile(re.escape(FIRST_LINE) + r"\n.*?\n```", re.DOTALL)
_ADDRESS = re.compile(
    r"(?:https?://|ssh://git@|git@)([\w.-]+)[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?/?(?:/tree/.*)?", re.ASCII
)
_URL_LINE = re.compile(r"^(repository:\n  url: )(\S+)$", re.MULTILINE)


def repository_url() -> str:
    """The address in `_config.yml`."""
    found = _URL_LINE.search(CONFIG.read_text("utf-8"))
    if found is None:
        raise SystemExit("_config.yml must begin its section `repository:` with the line `  url: https://...`")
    return found[2]


def read_version() -> str:
    """The version of the book and its package."""
    return str(tomllib.loads(PROJECT.read_text("utf-8"))["project"]["version"])


def setup_cell(url: str) -> str:
    """The first code cell of each chapter: the wheel beside the pages is installed, or else the book at `url`.

    That is the edition that the notebook belongs to, so that it meets no later package; between two editions, the
    branch.
    """
    ref = "main" if "dev" in read_version() else f"v{read_version()}"
    return _SETUP + (_FROM_WHEEL if "/OWNER/" in url else _FROM_REPOSITORY.format(url=url, ref=ref))


def read_address(given: str) -> str:
    """The address of a repository, from what people paste: that of its page, of a branch, or what `git clone` takes.

    Raises:
        SystemExit: if it is none.
    """
    found = re.fullmatch(
        r"(?:https?://|ssh://git@|git@)([\w.-]+)[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?/?(?:/tree/.*)?", given
    )
    if not found:
        raise SystemExit(f"URL must look like https://github.com/me/my-fork: make repository URL=..., got {given!r}")
    return f"https://{found[1]}/{found[2]}/{found[3]}"


def replace(path: Path, text: str) -> None:
    """Write a file that keeps its time: to make, what it holds has not changed."""
    times = path.stat()
    path.write_text(text, "utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def write_setup_cells(url: str) -> None:
    """Give each chapter and each framework, text and notebook, the setup cell for this address."""
    new = setup_cell(url)
    for path in [*NOTEBOOKS.glob("*.ipynb"), *FRAMEWORKS.glob("*.ipynb")]:
        notebook = nbformat.read(path, as_version=4)
        edited = is_edited(notebook)  # then it stays so, and `make notebooks` will ask
        for cell in notebook.cells:
            if cell.cell_type == "code" and cell.source.startswith(FIRST_LINE):
                cell.source = new
        if not edited:
            notebook.metadata[DIGEST] = digest(notebook)
        replace(path, nbformat.writes(notebook) + "\n")
    for path in [*filter(is_chapter, TEXTS.glob("*.md")), *FRAMEWORKS.glob("*.md")]:
        replace(path, _IN_TEXT.sub(lambda _: new + "\n```", path.read_text("utf-8"), count=1))


def main(given: str) -> None:
    """Change the address everywhere.

    Raises:
        SystemExit: if it is not the address of a repository.
    """
    url = read_address(given)
    write_setup_cells(url)
    CONFIG.write_text(_URL_LINE.sub(rf"\g<1>{url}", CONFIG.read_text("utf-8"), count=1), "utf-8")
    print(f"The book now points to {url}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
