"""Begin an exercise: `make exercise NAME=my-exercise CHAPTER=my-chapter`.

Adds the second exercise of `template` to a chapter, under names and a number of its own: the section in the text,
the checker and the answers that test it. It passes every check as it is.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat
from book_site.phrases import EXERCISE, EXERCISES

from tools import ROOT
from tools.notebooks.files import TEXTS, from_text, list_chapters, to_text, write_all
from tools.writing.ceilings import CEILINGS
from tools.writing.chapter import check_name

TEMPLATE = ROOT / "tools/writing/template"
USAGE = "make exercise NAME=my-exercise CHAPTER=my-chapter"
HEADING = f"### {EXERCISE} NUMBER.2 · A mean with weights"
CHECKERS, ANSWERS = ROOT / "d2lmini_exercises", ROOT / "tests/exercises/answers"


def cut(template: str, begin: str, end: str, name: str) -> str:
    """What stands in a file of the template between two places, with the names of the exercise."""
    text = (TEMPLATE / template).read_text("utf-8").partition(begin)[2]
    text = begin + (text.partition(end)[0] if end else text)
    own = name.replace("-", "_")
    for word, meaning in {"NAME-weights": name, "weighted_mean": own, "mean_by_weights": f"{own}_solved"}.items():
        text = text.replace(word, meaning)
    return text


def insert_section(text: str, section: str) -> str:
    """The text of a chapter with one exercise more behind its last one."""
    notebook = from_text(text)
    new, below = from_text(section).cells, False
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        above, heading, after = cell.source.partition(f"## {EXERCISES}\n")
        last = re.search(r"^## ", after if heading else cell.source, re.MULTILINE) if heading or below else None
        below = below or bool(heading)
        if last:
            at = last.start() + (len(above) + len(heading) if heading else 0)
            parts = [nbformat.v4.new_markdown_cell(part) for part in (cell.source[:at], cell.source[at:]) if part]
            notebook.cells[place : place + 1] = [*parts[:-1], *new, parts[-1]]
            return to_text(notebook)
    notebook.cells += new
    return to_text(notebook)


def add_code(path: Path, imports: str, code: str, opening: str) -> str:
    """A module, which may be new, with code at its end and imports where they stand; ruff puts these in order."""
    text = path.read_text("utf-8") if path.exists() else opening
    begin = ast.parse(text).body[0].end_lineno or 0
    lines = text.splitlines(keepends=True)
    text = "".join([*lines[:begin], "\n", imports, *lines[begin:], "\n", code])
    for command in (["check", "--fix-only"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(path), "-"]
        text = subprocess.run(ruff, input=text, stdout=subprocess.PIPE, cwd=ROOT, check=True, encoding="utf-8").stdout
    return text


def choose_module(folder: Path, chapter: str, name: str) -> Path:
    """The module of a chapter, or a new one in its folder."""
    module = folder / chapter.replace("-", "_")
    return module / f"{name.replace('-', '_')}.py" if module.is_dir() else module.with_suffix(".py")


def check_names(name: str, chapter: str) -> None:
    """Refuse what cannot be begun.

    Raises:
        SystemExit: if it cannot.
    """
    check_name(name, USAGE)
    check_name(chapter, USAGE, "CHAPTER")
    if chapter not in list_chapters():
        example = USAGE.replace("my-chapter", list_chapters()[0])
        raise SystemExit(f"CHAPTER must be a chapter of _toc.yml, as in {example}, got {chapter!r}")
    modules = [path for folder in (CHECKERS, ANSWERS) for path in folder.rglob("*.py")]
    if any(f'"{name}"' in path.read_text("utf-8") or path.stem == name.replace("-", "_") for path in modules):
        raise SystemExit(f"NAME must be a new name, as in {USAGE}, and {name!r} is there already")


def number_next(chapter: str, text: str) -> str:
    """What the page calls the next exercise of a chapter, with a warning if it will be one too many."""
    number = len(re.findall(rf"^### {EXERCISE} \d", text, re.MULTILINE)) + 1
    if number > (most := CEILINGS["exercises"]):
        print(f"{chapter} has {number - 1} exercises, and a chapter at most {most} (tools/writing/ceilings.py):")
        print("until another one goes, the check of ceilings is red")
    return f"{EXERCISE} {list_chapters().index(chapter) + 1}.{number}"


def add_checker(path: Path, text: str, name: str, called: str) -> str:
    """The module with the checker, and with the exercise in the order of the chapter."""
    listed = path if path.parent == CHECKERS else path.with_name("__init__.py")
    known = re.search(r"list_in_order\(\s*\"([^\"]+)\"", listed.read_text("utf-8") if listed.exists() else "")
    title = known or re.search(r"^# ([^:\n]+)", text, re.MULTILINE)
    place = re.search(r"^## (.+)$", text, re.MULTILINE)
    assert title and place, "a chapter has a title and a section"
    where = f'"{place[1]}"'
    task = f"Task({called!r}, {name!r}, 'how often does each value count?', {where!r})"
    exercise = cut("checkers.py", 'exercise(\n    "NAME-weights"', "list_in_order(", name)
    imports = "from d2lmini_exercises.engine import Task, exercise, list_in_order\n"
    code = f"{exercise}list_in_order({title[1]!r}, {task})\n"
    return add_code(path, imports, code, f'"""Checkers of the exercise {name}."""\n')


def add_answers(path: Path, name: str) -> str:
    """The module with right answers, and wrong ones with a piece of their hint."""
    right = cut("answers.py", '"NAME-weights": [', "\n}", name).partition(": ")[2].removesuffix(",")
    wrong = cut("answers.py", '    ("NAME-weights"', "\n]", name)
    opening = f'"""Answers to the exercise {name}."""\n'
    if not path.exists():
        opening += "from typing import Any\nRIGHT: dict[str, list[Any]] = {}\nWRONG: list[tuple[str, Any, str]] = []\n"
    return add_code(path, "import torch\n", f'RIGHT["{name}"] = {right}\nWRONG += [\n{wrong}\n]\n', opening)


def main(name: str, chapter: str) -> None:
    """Begin an exercise.

    Raises:
        SystemExit: if a name is none, is taken or reserved, or names no chapter.
    """
    check_names(name, chapter)
    page = TEXTS / f"{chapter}.md"
    text = page.read_text("utf-8")
    called = number_next(chapter, text)
    section = cut("chapter.md", HEADING, "", name)
    title = f"### {called} · {name.replace('-', ' ').capitalize()}"
    checkers, answers = (choose_module(folder, chapter, name) for folder in (CHECKERS, ANSWERS))
    made = {page: insert_section(text, section.replace(HEADING, title))}
    made |= {checkers: add_checker(checkers, text, name, called), answers: add_answers(answers, name)}
    write_all(made)
    print("\n".join([f"{called} is begun, for you to edit:", *(f"  {file.relative_to(ROOT)}" for file in made)]))
    print("Now the chapter is run, and once more under noise, which NOISE=no leaves out")


if __name__ == "__main__":
    main(*(sys.argv[1:] if len(sys.argv) == 3 else ("", "")))
