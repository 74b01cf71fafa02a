"""What `make` does again after a change, and what it does not."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.faults.minibook import PRINTED, MiniBook, prose, source


def test_nothing_changed_nothing_done(book: MiniBook) -> None:
    before, built = book.tested(), book.path("_build/html/.built").stat().st_mtime_ns
    made = book.make("book")
    assert made.returncode == 0 and made.stdout == "The book: _build/html/index.html\n"
    assert book.tested() == before and book.path("_build/html/.built").stat().st_mtime_ns == built


def test_one_chapter_changed_only_it_is_run_again(book: MiniBook) -> None:
    before = book.tested()
    prose("Other words.")(book)
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"mini"}
    assert "Other words." in book.path("_build/html/notebooks/mini.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["d2lmini/attention.py", "requirements.txt", "conftest.py"])
def test_what_all_chapters_stand_on_changed_all_are_run_again(book: MiniBook, name: str) -> None:
    path = book.path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n" if not path.exists() else path.read_text("utf-8") + "\n")
    if name == "requirements.txt":  # installing is tested elsewhere
        book.path(".venv/.ready").touch()
    before = book.tested()
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"mini", "second"}


def test_a_module_deleted_all_chapters_are_run_again(book: MiniBook) -> None:
    book.path("d2lmini").mkdir()
    book.path("d2lmini/gone.py").touch()
    assert book.make("book").returncode == 0
    before = book.tested()
    book.path("d2lmini/gone.py").unlink()
    assert book.make("book").returncode == 0
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"mini", "second"}


def test_a_chapter_deleted_its_page_is_gone(book: MiniBook) -> None:
    for name in ("book/second.md", "notebooks/second.ipynb"):
        book.path(name).unlink()
    chapter_without_entry(book)
    before = book.tested()
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert not list(book.path("_build/html").rglob("second*"))
    assert book.tested() == before


def test_one_fault_does_not_run_the_other_chapter_again(book: MiniBook) -> None:
    prose("Other words.")(book)
    book.edit(lambda notebook: code_cells(notebook)[PRINTED].update(source="print(1 / 0)"), "second")
    assert book.make("book").returncode != 0
    before = book.tested()
    book.edit(lambda notebook: code_cells(notebook)[PRINTED].update(source="print(1 / 7)"), "second")
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"second"}


def test_the_working_tree_stays_clean(book: MiniBook) -> None:
    for target in ("book", "notebooks", "student"):
        made = book.make(target)
        assert made.returncode == 0, made.stdout
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=book.folder, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""
