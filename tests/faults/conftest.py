"""The mini-book, built once; each test gets a copy."""

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from tests.faults.minibook import MACHINERY, MiniBook, chapter, make_environment
from tools import ROOT
from tools.notebooks.files import to_text


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mini-book, executed and built once, whichever worker comes first."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder = shared / "pristine/book"
    with FileLock(shared / "pristine.lock"):
        if not (folder / "_build/html/.built").exists():
            build(folder)
    return folder


def build(folder: Path) -> None:
    """Copy the book's machinery around two tiny chapters, and make the book."""
    for name in MACHINERY:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "cover.svg"))
        else:
            shutil.copy2(source, target)
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nchapters:\n"
        + "".join(f"  - file: {name}\n" for name in ("book/what-came-out", "notebooks/mini", "notebooks/second"))
    )
    (folder / "book/intro.md").write_text("# A mini-book\n\n## Where to go\n\nTo [Mini](../notebooks/mini.ipynb).\n")
    (folder / "book/what-came-out.md").write_text("# About this build\n\n<!--what came out-->\n")
    (folder / "book/references.bib").touch()
    (folder / "notebooks").mkdir()
    (folder / "d2lmini").mkdir()
    (folder / "d2lmini/__init__.py").write_text('"""The package of a mini-book."""\n')
    make_environment(folder)
    book = MiniBook(folder)
    for name in ("mini", "second"):
        book.path(f"book/{name}.md").write_text(to_text(chapter()), "utf-8")
    book.make_green("notebooks")
    book.make_green("book")


@pytest.fixture
def book(pristine: Path, tmp_path: Path) -> MiniBook:
    """A copy of the built mini-book, with its times, so that make sees nothing to do."""
    folder = tmp_path / "book"
    shutil.copytree(pristine, folder, symlinks=True)
    return MiniBook(folder)
