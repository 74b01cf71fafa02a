"""The book as one PDF."""

import io
import re
import shutil
import unicodedata
from collections.abc import Iterator
from typing import Any

import pikepdf
import pypdfium2
import pytest

from tests.paper.chapters import CHINESE, RAW, list_exercises, read_title
from tools.notebooks import list_chapters
from tools.paper import PDF
from tools.paper.pdf import BROWSERS, correct_bookmarks, find_browser, find_missing

pytestmark = pytest.mark.thorough

MARGIN = 65  # points; the page styles leave 68


def squeeze(text: str) -> str:
    """A text without the spaces and line ends that a page adds."""
    return "".join(text.split())


@pytest.fixture(scope="module")
def book() -> Iterator[pikepdf.Pdf]:
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("Chromium is not installed: the book was not printed")
    assert PDF.exists(), "make pdf"
    with pikepdf.open(PDF) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(book: pikepdf.Pdf) -> list[str]:
    """The text of each page."""
    # pdfium writes U+0002 for a hyphen if it believes that a word was divided there.
    return [page.get_textpage().get_text_bounded().replace("\x02", "-") for page in pypdfium2.PdfDocument(PDF)]


@pytest.fixture(scope="module")
def marks(book: pikepdf.Pdf) -> dict[str, int]:
    """The bookmarks of the first level, and their pages from 1."""
    numbers = {page.obj.objgen: number for number, page in enumerate(book.pages, start=1)}
    with book.open_outline() as outline:
        return {entry.title: numbers[entry.destination[0].objgen] for entry in outline.root}


def test_each_chapter_has_a_bookmark_that_leads_to_its_title(marks: dict[str, int], pages: list[str]) -> None:
    for title in map(read_title, list_chapters()):
        assert squeeze(title) in squeeze(pages[marks[title] - 1])


def test_the_contents_tell_the_page_of_each_chapter_and_section(marks: dict[str, int], pages: list[str]) -> None:
    contents = squeeze("".join(pages[marks["Contents"] - 1 : marks["Introduction"] - 1]))
    for number, title in enumerate(map(read_title, list_chapters()), start=1):
        assert f"{number}{squeeze(title)}{marks[title]}" in contents
    numbers = [int(number) for number in re.findall(r"Exercises(\d+)", contents)]
    assert len(numbers) == len(list_chapters()) and numbers == sorted(set(numbers))


def test_each_page_but_the_first_has_its_number_and_a_running_title(marks: dict[str, int], pages: list[str]) -> None:
    for number, page in enumerate(pages[1:], start=2):
        assert str(number) in page.split(), number
    first = read_title(list_chapters()[0])
    assert f"Chapter 1 · {first}" in pages[marks[first]]


def test_the_book_is_tagged_and_names_language_and_title(book: pikepdf.Pdf) -> None:
    assert book.Root.MarkInfo.Marked and "/StructTreeRoot" in book.Root
    assert book.Root.Lang == "en"
    assert str(book.docinfo["/Title"]) == "Attention, Measured"
    assert str(book.docinfo["/Author"]) == "the contributors"
    assert re.fullmatch(r"Version \d+\.\d+\.\d+(\.dev\d+)?", str(book.docinfo["/Subject"]))
    tags = {str(entry.S) for entry in book.objects if isinstance(entry, pikepdf.Dictionary) and "/S" in entry}
    assert {"/H1", "/H2", "/P", "/Table", "/Code", "/Figure", "/Link"} <= tags


def test_figures_are_vectors_with_a_description(book: pikepdf.Pdf) -> None:
    entries = [entry for entry in book.objects if isinstance(entry, (pikepdf.Stream, pikepdf.Dictionary))]
    assert not [entry for entry in entries if entry.get("/Subtype") == "/Image"]
    figures = [entry for entry in entries if entry.get("/S") == "/Figure"]
    assert len(figures) > 30 and all(str(figure.get("/Alt", "")) for figure in figures)


def test_chinese_is_found(pages: list[str]) -> None:
    text = "".join(pages)
    assert all(word in text for word in CHINESE)


def test_no_formula_is_left_as_it_was_written_and_no_word_for_a_tool(marks: dict[str, int], pages: list[str]) -> None:
    taught = pages[: marks["Notation"] - 1] + pages[marks["Solutions"] - 1 :]
    for number, page in enumerate(taught, start=1):
        assert not RAW.search(page), number


def test_a_formula_is_text_in_the_order_in_which_it_is_read(pages: list[str]) -> None:
    text = unicodedata.normalize("NFKC", squeeze("".join(pages)))  # letters in italics are letters
    assert "softmax(QK⊤/√p).(2.3)" in text


def test_each_solution_stands_at_the_end_where_the_exercise_says(marks: dict[str, int], pages: list[str]) -> None:
    told = [int(number) for number in re.findall(r"Solution, page (\d+)", "\n".join(pages[: marks["Notation"] - 1]))]
    exercises = list_exercises()
    assert len(told) == len(exercises) > 50
    for number, title in zip(told, exercises, strict=True):
        assert marks["Solutions"] <= number <= len(pages)
        assert squeeze(re.sub(r"[`*$]", "", title)) in squeeze(pages[number - 1])


def test_links_inside_the_book_lead_somewhere(book: pikepdf.Pdf) -> None:
    inside = outside = 0
    for page in book.pages:
        for link in page.get("/Annots", pikepdf.Array()):
            if "/Dest" in link:
                inside += 1
                assert str(link.Dest) in book.Root.Dests
            else:
                outside += 1
                assert str(link.A.URI).startswith("https://"), link.A.URI
    assert inside > 400 and outside > 100


def test_nothing_is_printed_beyond_the_margins(pages: list[str]) -> None:
    for number, page in enumerate(pypdfium2.PdfDocument(PDF), start=1):
        text, width = page.get_textpage(), page.get_width()
        for index in range(text.count_rects()):
            left, _, right, _ = box = text.get_rect(index)
            assert left > MARGIN and right < width - MARGIN, (number, text.get_text_bounded(*box))


def test_a_character_without_a_font_is_missed() -> None:
    blank, target = pikepdf.new(), io.BytesIO()
    blank.add_blank_page()
    blank.save(target)
    assert find_missing("<p>苹果, apple</p>", target.getvalue()) == {"苹", "果"}


def test_bookmarks_get_their_spaces_back() -> None:
    book = pikepdf.new()
    entry: Any = book.make_indirect(pikepdf.Dictionary(Title="several questions atonce", Parent=pikepdf.Dictionary()))
    correct_bookmarks(book, ["several questions\n at once"])
    assert str(entry.Title) == "several questions at once"


def test_without_chromium_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="make pdf needs Chromium"):
        find_browser()
