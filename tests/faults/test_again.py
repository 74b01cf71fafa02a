"""What `make` does again after a change, and what it does not."""

from __future__ import annotations

import subprocess

import pytest

from tests.faults.minibook import PRINTED, MiniBook, prose, source
from tools import ROOT

# Which chapters are run again is the question, not what they print: each run succeeds at once.
NOTEBOOKS = (".build/tested/mini", ".build/tested/second", "PY=true")


def test_nothing_changed_nothing_done(book: MiniBook) -> None:
    before, built = book.stamps(), book.path("_build/html/.built").stat().st_mtime_ns
    assert book.make_green("book") == "The book: _build/html/index.html\n"
    assert book.stamps() == before and book.path("_build/html/.built").stat().st_mtime_ns == built


def test_one_chapter_changed_only_it_is_run_again(book: MiniBook) -> None:
    before = book.stamps()
    book.edit(prose("Other words."))
    book.make_green("book")
    assert book.find_rerun(before) == {"mini"}
    assert "Other words." in book.path("_build/html/notebooks/mini.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["d2lmini/attention.py", "requirements.txt", "conftest.py"])
def test_what_all_chapters_stand_on_changed_all_are_run_again(book: MiniBook, name: str) -> None:
    path = book.path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n" if not path.exists() else path.read_text("utf-8") + "\n")
    if name == "requirements.txt":  # installing is tested elsewhere
        book.path(".venv/.ready").touch()
    before = book.stamps()
    book.make_green(*NOTEBOOKS)
    assert book.find_rerun(before) == {"mini", "second"}


@pytest.mark.parametrize("kind", ["tested", "run"])
def test_a_checker_or_a_review_runs_again_only_the_chapters_that_use_it(book: MiniBook, kind: str) -> None:
    book.edit(source(PRINTED, "print(1 / 7)  # load_reviews"))
    files = ["core.py", "mini.py", "second/hints.py"]
    for name in [*(f"d2lmini/exercises/{file}" for file in files), "d2lmini/reviews/0.txt", "d2lmini/reviews/1.txt"]:
        book.path(name).parent.mkdir(parents=True, exist_ok=True)
        book.path(name).touch()
    stamps = [stamp.replace("tested", kind) for stamp in NOTEBOOKS]
    book.make_green(*stamps)

    def find_rerun() -> set[str]:
        before = book.stamps(kind)
        book.make_green(*stamps)
        return book.find_rerun(before, kind)

    assert find_rerun() == set()
    book.make_green(stamps[0], "CHAPTERS=mini", "PY=true")
    assert find_rerun() == set()
    book.path("d2lmini/exercises/second/hints.py").write_text("# another hint\n")
    assert find_rerun() == {"second"}
    book.path("d2lmini/exercises/mini.py").write_text("# another hint\n")
    book.path("d2lmini/reviews/0.txt").write_text("Good.\n")
    assert find_rerun() == {"mini"}
    book.path("d2lmini/reviews/1.txt").unlink()
    assert find_rerun() == {"mini"}
    book.path("d2lmini/exercises/core.py").write_text("# for all\n")
    assert find_rerun() == {"mini", "second"}


def test_a_module_deleted_all_chapters_are_run_again(book: MiniBook) -> None:
    book.path("d2lmini/gone.py").touch()
    book.make_green(*NOTEBOOKS)
    before = book.stamps()
    book.path("d2lmini/gone.py").unlink()
    book.make_green(*NOTEBOOKS)
    assert book.find_rerun(before) == {"mini", "second"}


def test_a_chapter_deleted_its_page_is_gone(book: MiniBook) -> None:
    for name in ("book/second.md", "notebooks/second.ipynb"):
        book.path(name).unlink()
    book.replace("_toc.yml", "  - file: notebooks/second\n", "")
    before = book.stamps()
    book.make_green("book")
    assert not list(book.path("_build/html").rglob("second*"))
    assert book.stamps() == before


def test_one_fault_does_not_run_the_other_chapter_again(book: MiniBook) -> None:
    book.edit(prose("Other words."))
    book.edit(source(PRINTED, "print(1 / 0)"), "second")
    assert book.make("book").returncode != 0
    before = book.stamps()
    book.edit(source(PRINTED, "print(1 / 7)"), "second")
    book.make_green(".build/tested/mini", ".build/tested/second")
    assert book.find_rerun(before) == {"second"}


def test_the_working_tree_stays_clean(book: MiniBook) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=mini", "-c", "user.email=mini@example.org", *arguments]
        return subprocess.run(command, cwd=book.folder, capture_output=True, text=True, check=True).stdout

    book.path(".gitignore").write_text((ROOT / ".gitignore").read_text())
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "mini")
    book.path(".build/checked").unlink()
    book.path(".build/run/mini").unlink()
    for target in ("book", "notebooks", "student"):
        book.make_green(target)
    assert git("status", "--porcelain") == ""
