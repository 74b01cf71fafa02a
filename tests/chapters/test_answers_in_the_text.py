"""No exercise can be copied: what a chapter defines before its exercises is no answer to any of them."""

import ast
import contextlib
import re
from typing import Any

import nbformat
import pytest
from book_site.phrases import EXERCISE

from d2lmini_exercises.engine.core import judge
from tools.notebooks.files import NOTEBOOKS

CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
_KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def read(chapter: str) -> tuple[list[str], list[str]]:
    """The code of a chapter before its exercises, and the names of those that do not ask for it again."""
    before, names, again = [], [], False
    for cell in nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4).cells:
        if cell.cell_type != "code":
            heading = re.search(rf"^### {EXERCISE} .*", cell.source, re.MULTILINE)
            again = "From an empty cell" in heading[0] if heading else again
            continue
        asked = re.findall(r'd2l\.check\("([^"]+)"', cell.source)
        names += [] if again else asked
        if not (names or asked):
            before.append(cell.source)
    return before, sorted({*names})


def define(cells: list[str]) -> dict[str, Any]:
    """What the cells define, without running anything else: functions, classes and plain numbers."""
    names: dict[str, Any] = {}
    for cell in cells:
        for statement in ast.parse(re.sub(r"(?m)^( *)[%!].*$", r"\1pass", cell)).body:
            if isinstance(statement, _KEPT) or (
                isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Lambda, ast.Constant))
            ):
                with contextlib.suppress(Exception):
                    exec(compile(ast.Module([statement], []), "<cell>", "exec"), names)
    return names


@pytest.mark.thorough
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_nothing_in_the_text_is_an_answer(chapter: str) -> None:
    cells, exercises = read(chapter)
    answers = {name: value for name, value in define(cells).items() if callable(value) and name[0] != "_"}
    assert exercises
    copied = [
        (exercise, name)
        for exercise in exercises
        for name, answer in answers.items()
        if judge(exercise, answer).result == "right"
    ]
    assert not copied


def test_a_copy_would_be_found() -> None:
    notebook = nbformat.read(NOTEBOOKS / "positional-encoding.ipynb", as_version=4)
    solutions = [cell.source for cell in notebook.cells if "odd-width" in cell.source or "import torch" in cell.source]
    assert judge("odd-width", define(solutions)["any_sinusoids_solution"]).result == "right"
