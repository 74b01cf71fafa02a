"""The parts of `make test`: one that passed is not run again until something changes that it stands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.minibook import MiniBook, prose

PAGES = ["book/intro.html", "notebooks/mini.html", "notebooks/second.html"]
# Tests that write down for what they were called.
NOTE = "def test_it() -> None:\n    with open('noted.txt', 'a') as notes:\n        print({what}, file=notes)\n"
LOOK = "import os\n\n\n" + NOTE.format(what='os.environ["PAGES"]') + "    assert not os.path.exists('broken')\n"
PLAY = """\
import pytest


@pytest.mark.parametrize("chapter", ["mini", "second"])
def test_play(chapter: str) -> None:
    with open("noted.txt", "a") as notes:
        print("played", chapter, file=notes)
"""


def plant(book: MiniBook, part: str, text: str) -> Path:
    path = book.path(f"tests/{part}/test_it.py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read_notes(book: MiniBook) -> list[str]:
    """What was written down since the last time."""
    notes = book.path("noted.txt")
    lines = notes.read_text().splitlines() if notes.exists() else []
    notes.unlink(missing_ok=True)
    return lines


@pytest.fixture
def site(book: MiniBook) -> MiniBook:
    plant(book, "site", LOOK)
    plant(book, "colab", PLAY + "\n\n" + NOTE.format(what="'alone'"))
    return book


def test_a_part_is_run_again_when_its_inputs_change(book: MiniBook) -> None:
    test = plant(book, "chapters", NOTE.format(what="'mini.ipynb'"))

    def run() -> int:
        book.make_green(".build/passed/chapters", "JOBS=1")
        return len(read_notes(book))

    assert run() == 1 and run() == 0
    book.edit(prose("Other words."), "second")
    assert run() == 0
    book.edit(prose("Other words."))
    assert run() == 1
    other = test.with_name("test_other.py")
    other.write_text(test.read_text())
    assert run() == 2
    other.unlink()
    assert run() == 1


def test_a_part_that_failed_is_run_again(book: MiniBook) -> None:
    test = plant(book, "chapters", "def test_it() -> None:\n    assert 1 == 2\n")
    for _ in range(2):
        made = book.make(".build/passed/chapters", "JOBS=1")
        assert made.returncode != 0 and "assert 1 == 2" in made.stdout
    test.write_text("def test_it() -> None:\n    pass\n")
    book.make_green(".build/passed/chapters", "JOBS=1")


def test_only_a_page_that_changed_is_looked_at(site: MiniBook) -> None:
    command = ("site", "BROWSER=yes", "JOBS=1")
    site.make_green(*command)
    looked, *played = read_notes(site)
    assert looked.split() == PAGES and sorted(played) == ["alone", "played mini", "played second"]
    site.make_green(*command)
    assert read_notes(site) == []
    site.edit(prose("Other words."))
    site.make_green("book")
    site.path("broken").touch()
    for _ in range(2):
        assert site.make(*command).returncode != 0
        assert read_notes(site) == ["notebooks/mini.html"]
    site.path("broken").unlink()
    site.make_green(*command)
    assert read_notes(site) == ["notebooks/mini.html", "played mini"]


def test_a_test_or_a_style_changed_all_pages_are_looked_at(site: MiniBook) -> None:
    command = (".build/passed/site", "BROWSER=yes", "JOBS=1")
    site.make_green(*command)
    read_notes(site)
    for change in (lambda: plant(site, "site", LOOK + "\n"), lambda: site.path("_build/html/_static/new.css").touch()):
        change()
        site.path("_build/html/index.html").touch()
        site.make_green(*command)
        assert [line.split() for line in read_notes(site)] == [PAGES]


def test_without_a_browser_no_page_counts_as_looked_at(site: MiniBook) -> None:
    for browser in ("", "", "yes"):
        site.make_green(".build/passed/site", f"BROWSER={browser}", "JOBS=1")
        assert [line.split() for line in read_notes(site)] == [PAGES]


def test_pages_that_were_built_elsewhere_are_tested_and_not_built_again(site: MiniBook) -> None:
    site.path("_build/html/.built").unlink()
    site.make_green("site", "BROWSER=yes", "JOBS=1")
    assert not site.path("_build/html/.built").exists()
    site.path("_build/html/index.html").unlink()
    made = site.make("site")
    assert made.returncode != 0 and "there are no pages in _build/html: make book" in made.stdout
