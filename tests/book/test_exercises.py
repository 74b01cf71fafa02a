"""The exercises of each chapter: a task, a starter and a folded solution, both checked."""

import ast
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from book_site.phrases import DEBUG, EXERCISE, EXERCISES, KINDS, SOLUTION

from tests.book.chapters import cells, each_chapter, find, get_printed, is_solution
from tests.book.names import list_names, parse

pytestmark = pytest.mark.recipe("An exercise")

HEADING = re.compile(r"^#{1,6} .*", re.MULTILINE)
TITLE = re.compile(rf"### ({EXERCISE} \d+\.(\d+)) · \S")
KIND = re.compile(rf"\s*\*({'|'.join(KINDS)})(?![A-Za-z0-9_])")


@dataclass
class Exercise:
    """An exercise, and the code cells that follow its heading, each with its place."""

    name: str
    kind: str
    code: list[tuple[str, Any]] = field(default_factory=list)

    def list_checks(self, *, solved: bool) -> list[str]:
        """The names that the starter or the solution is checked by, in order."""
        sources = [cell.source for _, cell in self.code if is_solution(cell) == solved]
        return re.findall(r'd2l\.check\("([^"]+)"', "\n".join(sources))


def read_exercises(chapter: str) -> list[Exercise]:
    """What stands between `## Exercises` and the next section; its headings may stand amid the text of a cell."""
    found: list[Exercise] = []
    inside = False
    for where, cell in cells(chapter):
        if cell.cell_type == "code":
            if inside and found:
                found[-1].code.append((where, cell))
            continue
        for heading in HEADING.finditer(cell.source):
            if heading[0].startswith(("# ", "## ")):
                inside = heading[0] == f"## {EXERCISES}"
            elif inside and heading[0] != f"#### {SOLUTION}":
                title = TITLE.match(heading[0])
                assert title and title[2] == str(len(found) + 1), (
                    f"{where}: {heading[0]!r} should begin with '### {EXERCISE} <chapter>.{len(found) + 1} · '"
                )
                kind = KIND.match(cell.source, heading.end())
                assert kind, (
                    f"{find(chapter, title[1])}, {title[1]}: the task begins with its kind: one of "
                    f"{', '.join(f'*{known}*' for known in KINDS)}"
                )
                found.append(Exercise(title[1], kind[1]))
            assert inside or f"{EXERCISE} " not in heading[0], f"{where}: {heading[0]!r} is not below '## {EXERCISES}'"
    return found


@each_chapter
def test_a_solution_overwrites_no_answer(chapter: str) -> None:
    for exercise in read_exercises(chapter):
        named: set[str] = set()
        for where, cell in exercise.code:
            own = list_defined(cell.source)
            if is_solution(cell):
                assert not own & named, f"{where}: the solution of {exercise.name} gives {own & named} another value"
            else:
                named |= own


def list_defined(source: str) -> set[str]:
    """The names that a cell defines or assigns."""
    tree = parse(source)
    defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return defined.union(*(list_names(node.targets) for node in tree.body if isinstance(node, ast.Assign)))


@each_chapter
def test_each_exercise_is_checked_twice(chapter: str) -> None:
    for exercise in read_exercises(chapter):
        starter, solution = (exercise.list_checks(solved=solved) for solved in (False, True))
        assert starter and starter == solution and len(set(starter)) == len(starter), (
            f"{find(chapter, exercise.name)}, {exercise.name}: starter and solution call d2l.check by the same "
            f"names, once each: {starter}, {solution}"
        )


@each_chapter
def test_the_stored_checks_print_what_a_reader_begins_and_ends_with(chapter: str) -> None:
    for exercise in read_exercises(chapter):
        for where, cell in exercise.code:
            wanted = "✓" if is_solution(cell) else "✗" if exercise.kind == DEBUG else "not attempted yet"
            printed, calls = get_printed(cell), cell.source.count("d2l.check(")
            assert printed.count(wanted) == calls, f"{where}: its check should print {wanted!r}, not {printed!r}"
