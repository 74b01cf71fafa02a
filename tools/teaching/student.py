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
from book_site.guesses import find_guesses
from book_site.package import build_wheel
from jinja2 import Template
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from tools import ROOT
from tools.notebooks.files import DIGEST, FRAMEWORKS, NOTEBOOKS, PAGES, TEXTS, is_notebook
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
    """A copy without solutions and without what answers a prediction: whoever reads it runs these cells.

    It no longer claims to be made from the text of the chapter.
    """
    edition = copy.deepcopy(notebook)
    for guess in find_guesses(edition):
        for cell in guess.code:
            cell.outputs, cell.execution_count = [], None
    remover = TagRemovePreprocessor(enabled=True, remove_cell_tags={"solution", "answer"})
    edition, _ = remover.preprocess(edition, {})
    edition.metadata.pop(DIGEST, None)
    return edition


def make_answers(notebook: NotebookNode) -> NotebookNode:
    """What the student edition leaves out: each prediction, with what comes out and what is said of it."""
    title = notebook.cells[0].source.partition("\n")[0]
    answers = new_notebook(cells=[new_markdown_cell(title)])
    for guess in find_guesses(copy.deepcopy(notebook)):
        for cell in guess.code:
            cell.metadata["jupyter"] = {"source_hidden": True}
        answers.cells += [new_markdown_cell(guess.text), *guess.code, new_markdown_cell(guess.answer.source)]
    return answers


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
    chapters = {path.name: nbformat.read(path, 4) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    editions = {name: make_edition(chapter) for name, chapter in chapters.items()}
    for folder in ("notebooks", "book", "frameworks", "pages", "answers"):
        (target / folder).mkdir(parents=True)
    for name, edition in editions.items():
        nbformat.write(edition, target / "notebooks" / name)
        nbformat.write(make_answers(chapters[name]), target / "answers" / name)
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
