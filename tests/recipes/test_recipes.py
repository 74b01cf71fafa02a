"""The recipes of `book/extending.md`, followed one after the other in a copy of the repository.

A block of code with a caption is a file, or goes to the place in it that the caption names. A block of shell is run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess

import pytest

from tests.faults.minibook import MiniBook, make_environment
from tools import ROOT

pytestmark = pytest.mark.thorough

PAGE = (ROOT / "book/extending.md").read_text("utf-8")
# A block of code, in as many backticks as it takes, and its caption if it has one.
BLOCK = re.compile(r"^(`{3,})\{code-block\} (\w+)\n(?::caption: ([^\n]+)\n)?(.*?)^\1$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(?P<file>[\w./-]+)(?:, (?P<how>at the end|below|above)(?: (?P<line>.+))?)?")
RECIPES = [
    "A chapter",
    "An exercise",
    "A figure",
    "A word, and its translation",
    "An instrument",
    "A position scheme",
]
NEW = "notebooks/my-chapter.html"


def read_recipe(title: str) -> list[tuple[str, str | None, str]]:
    """The blocks of a section: language, caption, code."""
    blocks = list(BLOCK.finditer(PAGE))
    headings = list(re.finditer(r"^## (.+)$", PAGE, re.MULTILINE))
    outside = [found for found in headings if not any(b.start() < found.start() < b.end() for b in blocks)]
    start = next(number for number, found in enumerate(outside) if found[1] == title)
    inside = range(outside[start].end(), outside[start + 1].start())
    return [(block[2], block[3], block[4]) for block in blocks if block.start() in inside]


def put(book: MiniBook, caption: str, code: str) -> None:
    """Write a block where its caption says."""
    place = PLACE.fullmatch(caption)
    assert place, f"book/extending.md: no place: {caption!r}"
    path, how, line = book.path(place["file"]), place["how"], place["line"]
    if how is None:
        assert not path.exists(), f"{path} is there already"
        path.write_text(code, "utf-8")
        return
    lines = path.read_text("utf-8").splitlines(keepends=True)
    at = len(lines)
    if line:
        found = [number for number, text in enumerate(lines) if text.lstrip("# ").startswith(line)]
        assert len(found) == 1, f"{caption}: {len(found)} such lines"
        at = found[0] + (how == "below")
    path.write_text("".join([*lines[:at], code, *lines[at:]]), "utf-8")


def run(book: MiniBook, command: str) -> None:
    """Run a line of shell; the other chapters count as tested, since their tests take minutes."""
    if command == "make book":
        command += " TESTED=.build/tested/my-chapter"
    name, *rest = shlex.split(command)
    if name == "make":
        book.make_green(*rest)
    else:
        kept = os.environ | {"PYTHONPATH": str(book.folder)}
        done = subprocess.run([name, *rest], cwd=book.folder, env=kept, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> MiniBook:
    """A copy of the repository without what was built."""
    folder = tmp_path_factory.mktemp("copy") / "book"
    made = shutil.ignore_patterns("_build", "*.egg-info", "*.pdf", "*.epub", "student", "otter", "slides")
    anywhere = shutil.ignore_patterns(".*", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=lambda here, names: {
        *anywhere(here, names), *(made(here, names) if here == str(ROOT) else ())
    })  # fmt: skip
    make_environment(folder)
    return MiniBook(folder)


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_does_what_it_says(book: MiniBook, title: str) -> None:
    steps = read_recipe(title)
    assert any(language == "shell" for language, _, _ in steps)
    for language, caption, code in steps:
        if caption:
            put(book, caption, code)
        else:
            assert language == "shell", f"book/extending.md, {title}: a block without a place"
            for command in code.splitlines():
                run(book, command)


def test_all_that_the_recipes_made_passes_the_checks(book: MiniBook) -> None:
    run(book, "make book")
    for command in ("ruff check .", "ruff format --check .", "mypy", "pytest -q tests/book"):
        run(book, f".venv/bin/python -m {command}")
    page = book.path(f"_build/html/{NEW}").read_text("utf-8")
    assert 'lang="zh-Hans">加权平均<' in book.path("_build/html/book/glossary.html").read_text("utf-8")
    number = re.search(r"Exercise (\d+)\.1", page)
    assert number and f"### Exercise {number[1]}.3 ·" in PAGE, "the page on extending writes another number"


@pytest.mark.skipif(not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), reason="no browser")
def test_the_new_page_passes_the_tests_of_pages(book: MiniBook) -> None:
    run(book, ".venv/bin/python -m pytest -q tests/site -n 1 -k 'my-chapter or card'")


def test_each_recipe_that_a_failing_check_names_is_there() -> None:
    named = {
        title
        for path in (ROOT / "tests").rglob("*.py")
        for title in re.findall(r'mark\.recipe\("([^"]+)"\)', path.read_text("utf-8"))
    }
    assert {"A chapter", "An exercise", "A figure"} <= named <= set(re.findall("^## (.+)$", PAGE, re.MULTILINE))
