"""The student edition: `make student` makes the folder `student` and `attention-measured-student.zip`.

The notebooks without their solutions and the answers to their predictions, in folders as the repository has them, so
that their links lead somewhere; beside them the package as a wheel, where the setup cells look for it, and a page that
says how to begin.
"""

import copy
import re
import shutil
import zipfile
from pathlib import Path

import nbformat
from book_site.package import build_wheel
from jinja2 import Template
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode

from tools import ROOT
from tools.notebooks.files import DIGEST, FRAMEWORKS, NOTEBOOKS, PAGES, TEXTS, is_notebook, list_answers
from tools.teaching.marking.plan import read_book

ARCHIVE = "attention-measured-student"
LINK = re.compile(r"\]\((?:\.\./book/)?([\w-]+\.md)(?:#[^)]*)?\)")
HERE = ROOT / "tools/writing/template"


def write_otter_tests(folder: Path) -> None:
    """Write a test for each exercise, in a folder for each chapter: its check as a doctest, which shows its report."""
    template = Template((HERE / "otter.py.j2").read_text("utf-8"), keep_trailing_newline=True)
    for chapter, checks in read_book().items():
        (folder / chapter).mkdir(parents=True)
        for name, answer in checks.items():
            (folder / chapter / f"{name}.py").write_text(template.render(name=name, answer=answer), "utf-8")


def make_edition(notebook: NotebookNode) -> NotebookNode:
    """A copy without solutions and without what comes out below a prediction: whoever reads it runs these cells.

    It no longer claims to be made from the text of the chapter.
    """
    remover = TagRemovePreprocessor(enabled=True, remove_cell_tags={"solution"})
    edition, _ = remover.preprocess(copy.deepcopy(notebook), {})
    edition.metadata.pop(DIGEST, None)
    for cell in list_answers(edition):
        cell.outputs, cell.execution_count = [], None
    return edition


def list_pages(notebooks: list[NotebookNode]) -> list[Path]:
    """The prose pages that the notebooks link, and those that these link."""
    found: set[str] = set()
    texts = [cell.source for notebook in notebooks for cell in notebook.cells if cell.cell_type == "markdown"]
    while linked := {name for text in texts for name in LINK.findall(text) if (TEXTS / name).exists()} - found:
        found |= linked
        texts = [(TEXTS / name).read_text("utf-8") for name in linked]
    return [TEXTS / name for name in sorted(found) if not is_notebook(TEXTS / name)]


def main(place: Path = ROOT) -> None:
    """Make the folder in `place` anew, and pack it."""
    target = place / "student"
    for old in (target, place / "otter"):
        shutil.rmtree(old, ignore_errors=True)
    editions = {path.name: make_edition(nbformat.read(path, 4)) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    for folder in ("notebooks", "book", "frameworks", "pages"):
        (target / folder).mkdir(parents=True)
    for name, edition in editions.items():
        nbformat.write(edition, target / "notebooks" / name)
    beside = [*FRAMEWORKS.glob("*.ipynb"), *PAGES.glob("*.ipynb")]
    for path in beside:
        shutil.copy(path, target / path.parent.name)
    for page in list_pages([*editions.values(), *(nbformat.read(path, 4) for path in beside)]):
        shutil.copy(page, target / "book" / page.name)
    shutil.copy(HERE / "student.md", target / "README.md")
    build_wheel(ROOT, target)
    with zipfile.ZipFile(place / f"{ARCHIVE}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(target.rglob("*")):
            archive.write(path, Path(ARCHIVE) / path.relative_to(target))
    write_otter_tests(place / "otter")
    print(f"student/ and {ARCHIVE}.zip to hand out; otter/ for Otter-Grader")


if __name__ == "__main__":
    main()
