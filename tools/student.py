"""The student edition: `python -m tools.student` makes the folder `student` and `attention-measured-student.zip`.

The notebooks without their solutions, in folders as the repository has them, so that their links lead somewhere; beside
them the package as a wheel, where the setup cells look for it, and a page that says how to begin.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from importlib import import_module
from pathlib import Path

import nbformat
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode

from tools import ROOT
from tools.marking.plan import read_book
from tools.notebooks import DIGEST, FRAMEWORKS, NOTEBOOKS, TEXTS, is_chapter

ARCHIVE = "attention-measured-student"
LINK = re.compile(r"\]\((?:\.\./book/)?([\w-]+\.md)(?:#[^)]*)?\)")
START = """\
# Attention, Measured: your copy

- **In Jupyter or VS Code**, with Python 3.11 or later: open a notebook in `notebooks`. Its first cell installs the
  package `d2lmini` from this folder if it is missing.
- **In Colab**: upload a notebook, and beside it the file `d2lmini-....whl` from this folder.

Each exercise ends with its checker. Run the cell: it tells you whether your answer is right, and if not, gives a hint.
Change the starters only, and leave the lines with `d2l.check` as they are: what you hand in is checked by them.
"""
# What Otter-Grader reads: the check of an exercise as a doctest, which shows its report where it does not pass.
OTTER = """\
OK_FORMAT = True

test = {{
    "name": {name!r},
    "points": 1,
    "suites": [{{
        "type": "doctest", "scored": True, "cases": [{{"hidden": False, "locked": False, "code": {code!r}}}]
    }}],
}}
"""
CHECKED = """\
>>> import contextlib, io
>>> from d2lmini_exercises import check
>>> report = io.StringIO()
>>> with contextlib.redirect_stdout(report):
...     check({name!r}, {answer})
>>> report.getvalue().startswith("✓") or print(report.getvalue())
True
"""


def write_otter_tests(folder: Path) -> None:
    """Write a test for each exercise, in a folder for each chapter."""
    for chapter, checks in read_book().items():
        (folder / chapter).mkdir(parents=True)
        for name, answer in checks.items():
            code = CHECKED.format(name=name, answer=answer)
            (folder / chapter / f"{name}.py").write_text(OTTER.format(name=name, code=code), "utf-8")


def remove_solutions(notebook: NotebookNode) -> NotebookNode:
    """A copy without solutions, which no longer claims to be made from the text of the chapter."""
    remover = TagRemovePreprocessor(enabled=True, remove_cell_tags={"solution"})
    edition, _ = remover.preprocess(notebook, {})
    edition.metadata.pop(DIGEST, None)
    return edition


def list_pages(notebooks: list[NotebookNode]) -> list[Path]:
    """The prose pages that the notebooks link, and those that these link."""
    found: set[str] = set()
    texts = [cell.source for notebook in notebooks for cell in notebook.cells if cell.cell_type == "markdown"]
    while linked := {name for text in texts for name in LINK.findall(text) if (TEXTS / name).exists()} - found:
        found |= linked
        texts = [(TEXTS / name).read_text("utf-8") for name in linked]
    return [TEXTS / name for name in sorted(found) if not is_chapter(TEXTS / name)]


def main(place: Path = ROOT) -> None:
    """Make the folder in `place` anew, and pack it."""
    target = place / "student"
    for old in (target, place / "otter"):
        shutil.rmtree(old, ignore_errors=True)
    editions = {path.name: remove_solutions(nbformat.read(path, 4)) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    for folder in ("notebooks", "book", "frameworks"):
        (target / folder).mkdir(parents=True)
    for name, edition in editions.items():
        nbformat.write(edition, target / "notebooks" / name)
    for path in FRAMEWORKS.glob("*.ipynb"):
        shutil.copy(path, target / "frameworks")
    for page in list_pages(list(editions.values())):
        shutil.copy(page, target / "book" / page.name)
    (target / "README.md").write_text(START, "utf-8")
    import_module("book._ext.book_site.package").build_wheel(ROOT, target)
    with zipfile.ZipFile(place / f"{ARCHIVE}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(target.rglob("*")):
            archive.write(path, Path(ARCHIVE) / path.relative_to(target))
    write_otter_tests(place / "otter")
    print(f"student/ and {ARCHIVE}.zip to hand out; otter/ for Otter-Grader")


if __name__ == "__main__":
    main()
