"""Each planted fault must turn the build red, with a message that names the chapter and the cause.

Faults that are found chapter by chapter are planted in one book, each in a chapter of its own, which is made once.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.faults.minibook import PRINTED, Change, MiniBook, prose
from tests.faults.plants import AS_PAGES, BETWEEN_THE_FILES, IN_THE_FILES, WHEN_RUN, WITHIN_THE_RULE, output


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


def test_each_fault_that_shows_when_run_is_named_and_marked_on_its_page(pristine: Path, tmp_path: Path) -> None:
    book = plant(pristine, tmp_path / "book", WHEN_RUN)
    book.edit(WITHIN_THE_RULE, "second")
    before = book.stamps()
    made = book.make("book")
    messages = [
        (fault, rf"{name_chapter(fault)}\.ipynb: 1 of 6 cells DIFFER.*\n    code cell [235]: .*{re.escape(message)}")
        for fault, (_, message) in WHEN_RUN.items()
    ]
    assert made.returncode != 0 and not find_unsaid(made.stdout, messages), made.stdout
    assert f"{len(WHEN_RUN)} cells differ" in made.stdout and "report these lines" in made.stdout
    assert "notebooks/second.ipynb: 6 cells as stored" in made.stdout
    assert book.find_rerun(before) == {"second", *map(name_chapter, WHEN_RUN)}
    about = read_soup(book, "book/what-came-out")
    for fault, (_, message) in WHEN_RUN.items():
        (mark,) = read_soup(book, f"notebooks/{name_chapter(fault)}").select(".cell_output .differs")
        told = [part for pair in re.findall("stored '(.*?)', here '([^']*)", message) for part in pair]
        assert all(part in mark.get_text() for part in told or [message[6:-1]]), mark
        (link,) = about.find_all("a", string=re.compile(name_chapter(fault)))
        assert link["href"] == f"../notebooks/{name_chapter(fault)}.html#{mark['id']}"
    assert not read_soup(book, "notebooks/second").select(".differs")


def test_a_mark_goes_when_what_differed_is_mended(book: MiniBook) -> None:
    book.edit(output(PRINTED, "285\n", "283\n"))
    assert book.make("book").returncode != 0 and read_soup(book, "notebooks/mini").select(".differs")
    book.edit(output(PRINTED, "283\n", "285\n"))
    book.make_green("book")
    assert not read_soup(book, "notebooks/mini").select(".differs")
    assert "none differs" in read_soup(book, "book/what-came-out").get_text()


def read_soup(book: MiniBook, page: str) -> BeautifulSoup:
    return BeautifulSoup(book.path(f"_build/html/{page}.html").read_text("utf-8"), "html.parser")


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
    said = book.make("book").stdout
    assert said.count("\n") == 1 and "_build/html/index.html" in said and book.stamps() == before
