"""Each planted fault must turn `make book` red, again and again, with a message that names the chapter and the cause.

Faults that are found chapter by chapter are planted in one book, each in a chapter of its own, which is made once.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.faults.minibook import Change, MiniBook, prose
from tests.faults.plants import AS_PAGES, BETWEEN_THE_FILES, IN_THE_FILES, WHEN_RUN


def name_chapter(fault: str) -> str:
    return fault.replace(" ", "-")


def plant(pristine: Path, folder: Path, faults: Mapping[str, tuple[Change, str]]) -> MiniBook:
    """The mini-book with one chapter more for each fault."""
    shutil.copytree(pristine, folder, symlinks=True)
    book = MiniBook(folder)
    for fault, (change, _) in faults.items():
        notebook = book.notebook()
        change(notebook)
        book.write(notebook, name_chapter(fault))
    book.enter(*map(name_chapter, faults))
    return book


def find_red(book: MiniBook, *arguments: str) -> str:
    """What make says, and that it says it as often as it is asked."""
    made, again = book.make(*arguments), book.make(*arguments)
    assert made.returncode != 0 and again.returncode != 0, f"passed:\n{made.stdout}\n{again.stdout}"
    assert sorted(re.findall(r"AssertionError.*", made.stdout)) == sorted(re.findall(r"AssertionError.*", again.stdout))
    return again.stdout


@pytest.fixture(scope="module")
def said_of_files(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return find_red(plant(pristine, tmp_path_factory.mktemp("files") / "book", IN_THE_FILES), ".build/checked")


@pytest.fixture(scope="module")
def said_of_runs(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    book = plant(pristine, tmp_path_factory.mktemp("runs") / "book", WHEN_RUN)
    before = book.stamps()
    said = find_red(book, "book")
    assert book.stamps() == before
    return said


def test_the_book_without_a_fault_is_green(book: MiniBook) -> None:
    assert book.make_green("book").splitlines()[-1] == "The book: _build/html/index.html"


@pytest.mark.parametrize("fault", IN_THE_FILES)
def test_a_fault_in_the_files_is_named(said_of_files: str, fault: str) -> None:
    message = IN_THE_FILES[fault][1].replace("mini", name_chapter(fault))
    assert re.search(message, said_of_files), f"no {message!r} in:\n{said_of_files}"


def test_a_chapter_without_a_fault_is_not_named(said_of_files: str) -> None:
    assert not re.search(r"AssertionError.*\b(mini|second)(\.md|\.ipynb|,|:)", said_of_files)


@pytest.mark.parametrize("fault", BETWEEN_THE_FILES)
def test_a_fault_between_the_files_is_named(book: MiniBook, fault: str) -> None:
    plant_it, message = BETWEEN_THE_FILES[fault]
    plant_it(book)
    made = book.make(".build/checked")
    assert made.returncode != 0, f"{fault} passed"
    assert re.search(message, made.stdout), f"no {message!r} in:\n{made.stdout}"


@pytest.mark.parametrize("fault", WHEN_RUN)
def test_a_fault_that_shows_when_run_is_named(said_of_runs: str, fault: str) -> None:
    message = WHEN_RUN[fault][1].replace("mini", name_chapter(fault))
    assert re.search(message, said_of_runs), f"no {message!r} in:\n{said_of_runs}"


def test_a_fault_in_the_files_stops_the_book(book: MiniBook) -> None:
    before = book.stamps()
    book.replace("book/mini.md", "How small can", "How tiny can")
    assert "disagree, run `make notebooks`" in find_red(book, "book") and book.stamps() == before


def test_faults_on_the_pages_are_named(book: MiniBook) -> None:
    book.edit(prose(" ".join(f"See {link}." for link, _ in AS_PAGES.values())))
    said = find_red(book, "book")
    for fault, (_, message) in AS_PAGES.items():
        assert re.search(message, said), f"{fault}: no {message!r} in:\n{said}"
