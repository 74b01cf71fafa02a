"""The recipes of `book/extending.md`, followed one after the other in a copy of the repository.

A block of code with a caption is a file, or goes to the place in it that the caption names. A block of shell is run.
"""

import os
import re
import shlex
import shutil
import subprocess

import pytest

from tests.faults.minibook import MiniBook, make_environment
from tools import ROOT
from tools.writing.ceilings import CEILINGS
from tools.writing.exercise import number_next

PAGE = (ROOT / "book/extending.md").read_text("utf-8")
# A block of code, in as many backticks as it takes, and its caption if it has one.
BLOCK = re.compile(r"^(`{3,})\{code-block\} (\w+)\n(?::caption: ([^\n]+)\n)?(.*?)^\1$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(?P<file>[\w./-]+)(?:, (?P<how>at the end|below|above)(?: (?P<line>.+))?)?")
RECIPES_BY_DAY = ["A chapter", "A question to predict", "An exercise"]
RECIPES_BY_NIGHT = ["A figure", "A word, and its translation", "An instrument", "A position scheme"]  # after those
CHECKS = ["ruff check .", "ruff format --check .", "pytest -q -m 'not thorough' tests/book tests/chapters"]
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


def run(book: MiniBook, command: str, pages: bool) -> None:
    """Run a line of shell, without the pages if not asked for; other chapters are not run, since that takes minutes."""
    if command == "make book":
        command = f"make {'book' if pages else '-k compared .build/checked'} CHAPTERS=my-chapter"
    name, *rest = shlex.split(command)
    if name == "make":
        book.make_green(*rest)
    else:
        kept = os.environ | {"PYTHONPATH": str(book.folder)}
        done = subprocess.run([name, *rest], cwd=book.folder, env=kept, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def follow(book: MiniBook, title: str, pages: bool) -> None:
    """Do what a recipe says, from the first line to the last; N is the number of the new chapter."""
    steps = read_recipe(title)
    assert any(language == "shell" for language, _, _ in steps)
    for language, caption, code in steps:
        if caption:
            number = re.search(r"### Exercise (\d+)\.1", book.path("book/my-chapter.md").read_text("utf-8"))
            put(book, caption, code.replace("Exercise N.", f"Exercise {number[1] if number else '?'}."))
        else:
            assert language == "shell", f"book/extending.md, {title}: a block without a place"
            for command in code.splitlines():
                run(book, command, pages)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> MiniBook:
    """A copy of the repository without what was built."""
    folder = tmp_path_factory.mktemp("copy") / "book"
    made = shutil.ignore_patterns("_build", "*.egg-info", "*.pdf", "*.epub", "student", "otter", "slides")
    anywhere = shutil.ignore_patterns(".*", "__pycache__")
    shutil.copytree(
        ROOT,
        folder,
        ignore=lambda here, names: {*anywhere(here, names), *(made(here, names) if here == str(ROOT) else ())},
    )
    make_environment(folder)
    return MiniBook(folder)


def test_the_recipes_of_a_chapter_and_of_an_exercise_end_green(book: MiniBook) -> None:
    before = {path for path in book.folder.rglob("*") if path.is_file()}
    book.make_green("-n", "chapter", "NAME=my-chapter")
    assert {path for path in book.folder.rglob("*") if path.is_file()} == before, "a dry run wrote files"
    for title in RECIPES_BY_DAY:
        follow(book, title, pages=False)
    for command in CHECKS:
        run(book, f".venv/bin/python -m {command}", pages=False)


def test_an_exercise_is_begun_with_a_number_of_its_own(book: MiniBook) -> None:
    book.make_green("chapter", "NAME=small-chapter")
    before = {path: path.read_bytes() for path in book.folder.rglob("*.*") if path.is_file()}
    for wrong in (
        "My_Exercise small-chapter",
        "one-pass small-chapter",
        "my-exercise no-chapter",
        "class small-chapter",
    ):
        name, chapter = wrong.split()
        made = book.make("exercise", f"NAME={name}", f"CHAPTER={chapter}")
        assert made.returncode and "as in make exercise NAME=my-exercise CHAPTER=" in made.stdout, made.stdout
        assert {path: path.read_bytes() for path in before if path.suffix != ".pyc"}.items() <= before.items()
    said = book.make_green("exercise", "NAME=my-exercise", "CHAPTER=small-chapter")
    numbers = re.findall(r"^### Exercise (\S+)", book.path("book/small-chapter.md").read_text("utf-8"), re.MULTILINE)
    assert len(numbers) == 3 and numbers[2] == numbers[0].replace(".1", ".3") and numbers[2] in said
    for command in (*CHECKS[:2], "pytest -q tests/book tests/exercises -k 'small-chapter or my-exercise'"):
        run(book, f".venv/bin/python -m {command}", pages=False)


def test_an_exercise_is_begun_in_a_full_chapter_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    full = "".join(f"### Exercise 2.{number} · One\n\n" for number in range(1, CEILINGS["exercises"] + 1))
    assert number_next("self-attention", full) == f"Exercise 2.{CEILINGS['exercises'] + 1}"
    assert f"a chapter at most {CEILINGS['exercises']}" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.parametrize("title", RECIPES_BY_NIGHT)
def test_a_recipe_does_what_it_says(book: MiniBook, title: str) -> None:
    follow(book, title, pages=True)


@pytest.mark.thorough
def test_all_that_the_recipes_made_passes_the_checks(book: MiniBook) -> None:
    run(book, "make book", pages=True)
    for command in (*CHECKS, "mypy"):
        run(book, f".venv/bin/python -m {command}", pages=True)
    assert "A running mean" in book.path(f"_build/html/{NEW}").read_text("utf-8")
    assert 'lang="zh-Hans">加权平均<' in book.path("_build/html/book/glossary.html").read_text("utf-8")


@pytest.mark.thorough
@pytest.mark.skipif(not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), reason="no browser")
def test_the_new_page_passes_the_tests_of_pages(book: MiniBook) -> None:
    run(book, ".venv/bin/python -m pytest -q tests/site -n 1 -k 'my-chapter or card'", pages=True)


def test_each_recipe_that_a_failing_check_names_is_there() -> None:
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = set(re.findall(r'mark\.recipe\("([^"]+)"\)', tests))
    assert {"A chapter", "An exercise", "A figure"} <= named <= set(re.findall("^## (.+)$", PAGE, re.MULTILINE))


def test_each_file_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(?:[\w/-]+/)?(\w[\w.-]*\.(?:py|md|toml|yml|txt|mplstyle))`", PAGE))
    folders = [ROOT / folder for folder in ("book", "d2lmini", "d2lmini_exercises", "languages", "tests", "tools")]
    there = {path.name for paths in (ROOT.iterdir(), *(folder.rglob("*") for folder in folders)) for path in paths}
    made = {"x.md", "my-chapter.md", *re.findall(r"^:caption: [\w/-]*/([\w.-]+)", PAGE, re.MULTILINE)}
    assert len(named) > 15 and named <= there | made, named - there - made
