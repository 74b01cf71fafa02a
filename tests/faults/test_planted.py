"""Each planted fault must turn the build red, with a message that names the chapter and the cause.

Faults that are found chapter by chapter are planted in one book, each in a chapter of its own, which is made once.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
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


def find_unsaid(said: str, messages: Iterable[tuple[str, str]]) -> list[str]:
    """The faults that no line names."""
    return [f"{fault}: no {message!r}" for fault, message in messages if not re.search(message, said)]


def test_each_fault_in_the_files_is_named_and_no_chapter_without_one(pristine: Path, tmp_path: Path) -> None:
    made = plant(pristine, tmp_path / "book", IN_THE_FILES).make(".build/checked")
    messages = [(fault, message.replace("mini", name_chapter(fault))) for fault, (_, message) in IN_THE_FILES.items()]
    assert made.returncode != 0 and not find_unsaid(made.stdout, messages), made.stdout
    assert not re.search(r"AssertionError.*\b(mini|second)(\.md|\.ipynb|,|:)", made.stdout)


def test_each_fault_that_shows_when_run_is_named(pristine: Path, tmp_path: Path) -> None:
    book = plant(pristine, tmp_path / "book", WHEN_RUN)
    book.replace("notebooks/second.ipynb", "p0123456789", "p9876543210")  # no fault: drawn on another processor
    before = book.stamps()
    messages = [(fault, message.replace("mini", name_chapter(fault))) for fault, (_, message) in WHEN_RUN.items()]
    made = book.make("book")
    assert made.returncode != 0 and not find_unsaid(made.stdout, messages), made.stdout
    assert book.find_rerun(before) == {"second"}  # what was red will be run again


def test_faults_on_the_pages_are_named(book: MiniBook) -> None:
    book.edit(prose(" ".join(f"See {link}." for link, _ in AS_PAGES.values())))
    made = book.make("book")
    messages = [(fault, message) for fault, (_, message) in AS_PAGES.items()]
    assert made.returncode != 0 and not find_unsaid(made.stdout, messages), made.stdout


@pytest.mark.parametrize("fault", BETWEEN_THE_FILES)
def test_a_fault_between_the_files_is_named(book: MiniBook, fault: str) -> None:
    plant_it, message = BETWEEN_THE_FILES[fault]
    plant_it(book)
    made = book.make(".build/checked")
    assert made.returncode != 0 and not find_unsaid(made.stdout, [(fault, message)]), made.stdout


def test_the_book_without_a_fault_is_green_and_nothing_runs_twice(book: MiniBook) -> None:
    before = book.stamps()
    assert book.make("book").stdout == "The book: _build/html/index.html\n" and book.stamps() == before
