"""What to run of a returned notebook, and what to check: read from it and from the book's, without running either."""

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat
from book_site.phrases import EXERCISE
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tools.notebooks.files import NOTEBOOKS, is_aside, list_chapters

TIMED = re.compile(r"^\s*%%?(?:time|capture)\b[ \t]*\n?", re.MULTILINE)  # a magic before code that runs as it is
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


@dataclass
class Question:
    """A check of the book, and where the returned notebook has it."""

    name: str
    expression: str  # what is checked, in the book
    after: int = -1  # the cell of the plan behind which it is checked
    theirs: str = ""  # what the returned notebook checks, if that is another thing
    remarks: list[str] = field(default_factory=list)
    untouched: bool = False  # what is checked is the starter of the book
    ticked: bool = False  # the stored output of the notebook says that it is right


def read_cells(path: Path) -> list[NotebookNode]:
    """The code cells of a notebook, which an editor may have saved with a byte order mark.

    Raises:
        ValueError: if the file is no notebook.
    """
    try:
        cells = nbformat.reads(path.read_text("utf-8-sig"), as_version=4).cells
        return [cell for cell in cells if cell.cell_type == "code" and isinstance(cell.source, str)]
    except Exception as error:  # nbformat raises many kinds
        raise ValueError(f"no notebook: {type(error).__name__}") from None


def read_main(path: Path) -> list[str]:
    """The sources of the code cells that are not folded."""
    return [cell.source for cell in read_cells(path) if not is_aside(cell)]


def parse(source: str) -> tuple[ast.Module, str]:
    """The tree of a cell, and where it is no Python; then the tree is empty."""
    try:
        return ast.parse(TransformerManager().transform_cell(source)), ""
    except SyntaxError as error:
        return ast.Module([], []), f"its cell is no Python: {type(error).__name__} in line {error.lineno}"


def list_checks(source: str, known: Collection[str] = ()) -> dict[str, str]:
    """The names that a cell checks, each with the code of its answer; a function of any name checks what is known."""
    found: dict[str, str] = {}
    for node in ast.walk(parse(TIMED.sub("", source))[0]):
        if isinstance(node, ast.Call):
            by_name = {keyword.arg: keyword.value for keyword in node.keywords}
            match [*node.args, *(by_name[name] for name in ("name", "answer") if name in by_name)]:
                case [ast.Constant(value=str(name)), answer, *_]:
                    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    if called == "check" or name in known:
                        found[name] = ast.unparse(answer)
    return found


@cache
def read_book() -> dict[str, dict[str, str]]:
    """The checks of each chapter of the book, as its starters have them."""
    chapters = {path.stem: read_main(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    return {
        chapter: {name: answer for source in sources for name, answer in list_checks(source).items()}
        for chapter, sources in chapters.items()
    }


@cache
def number_exercises() -> dict[str, str]:
    """The number of the exercise that has each check, in the order of the book."""
    found: dict[str, str] = {}
    for chapter in list_chapters():
        number = ""
        for cell in nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", 4).cells:
            if cell.cell_type == "markdown":
                number = [number, *re.findall(rf"^### {EXERCISE} (\d+\.\d+)", cell.source, re.MULTILINE)][-1]
            elif cell.cell_type == "code" and number and not is_aside(cell):
                found |= dict.fromkeys(list_checks(cell.source), number)
    return found


def find_definitions(cells: list[str], expression: str) -> list[str]:
    """What cells define under the names of an expression."""
    names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    found = []
    for node in (node for source in cells for node in parse(source)[0].body):
        targets = [getattr(target, "id", "") for target in getattr(node, "targets", [])]
        if names & {getattr(node, "name", ""), *targets}:
            found.append(ast.dump(node))
    return found


def find_chapter(path: Path, sources: list[str]) -> str:
    """The chapter that a notebook is a copy of: the one with most of its checks, or else of its name.

    Raises:
        ValueError: if it is of none.
    """
    known = {name for checks in read_book().values() for name in checks}
    names = {name for source in sources for name in list_checks(source, known)}
    shared = {chapter: len(names & checks.keys()) for chapter, checks in read_book().items()}
    best = max(shared, key=lambda chapter: shared[chapter])
    named = [chapter for chapter in read_book() if chapter in path.stem]
    if not shared[best] and not named:
        raise ValueError("it has no check of any chapter of this book")
    return best if shared[best] else named[0]


def keep_definitions(source: str) -> str:
    """What a cell imports and defines, without what it runs."""
    return ast.unparse(ast.Module([node for node in parse(source)[0].body if isinstance(node, DEFINITIONS)], []))


def make_plan(path: Path, *, whole: bool) -> tuple[str, list[str], list[Question]]:
    """The chapter of a returned notebook, its cells to run, in order, and the questions.

    The book's own cells take most of the time, and few exercises use more of them than functions. Unless `whole`, only
    what they define is run: then an answer that needs more fails with a NameError.

    Raises:
        ValueError: if there is nothing to mark.
    """
    returned = read_cells(path)
    sources = [cell.source for cell in returned]
    chapter = find_chapter(path, sources)
    setup, *book = read_main(NOTEBOOKS / f"{chapter}.ipynb")
    cells = [source for source in sources if source != setup]
    if not whole:
        plain = {source for source in book if not list_checks(source)}
        cells = [keep_definitions(source) if source in plain else source for source in cells]
    questions = [ask(name, answer, cells) for name, answer in read_book()[chapter].items()]
    stored = [output for cell in returned for output in cell.get("outputs", [])]
    printed = "\n".join(str(output.get("text", "")) for output in stored)
    for question in questions:
        starter, theirs = (find_definitions(some, question.expression) for some in (book, cells))
        question.untouched = bool(starter) and starter == theirs
        question.ticked = bool(re.search(rf"^✓ (.*, )?{question.name}: ", printed, re.MULTILINE))
    return chapter, cells, questions


def ask(name: str, expression: str, cells: list[str]) -> Question:
    """A check of the book, and what the returned notebook has made of it."""
    found = [list_checks(cell, {name}) for cell in cells]
    theirs = [(i, checks[name]) for i, checks in enumerate(found) if name in checks]
    for i, cell in enumerate(cells):
        if not theirs and re.search(rf"check\([\"']{name}[\"']", cell) and (mistake := parse(cell)[1]):
            return Question(name, expression, i, remarks=[mistake])
    if not theirs:
        return Question(name, expression, len(cells) - 1, remarks=["its check was not recognised"])
    after, answer = theirs[-1]
    same = answer == expression
    return Question(name, expression, after, "" if same else answer, [] if same else [f"its check asks for {answer}"])
