"""The book as one PDF."""

import unicodedata

import pikepdf
import pypdfium2
import pytest
from book_site.phrases import EXERCISE

from tests.paper import RAW
from tools.notebooks.files import list_chapters
from tools.releasing.paper import PDF, pdf

pytestmark = pytest.mark.thorough

MARGIN = 65  # points; the page styles leave 68


def squeeze(text: str) -> str:
    """A text without the spaces and line ends that a page adds, whose letters in italics are letters."""
    return unicodedata.normalize("NFKC", "".join(text.split()))


@pytest.fixture(scope="module")
def book() -> pikepdf.Pdf:
    return pikepdf.open(PDF)


def test_bookmarks_lead_to_chapters_and_to_a_solution_of_each_exercise(book: pikepdf.Pdf) -> None:
    texts = [squeeze(page.get_textpage().get_text_bounded()) for page in pypdfium2.PdfDocument(PDF)]
    numbers = {page.obj.objgen: number for number, page in enumerate(book.pages)}
    with book.open_outline() as outline:
        marks = [(mark.title, numbers[mark.destination[0].objgen]) for mark in pdf.walk(outline.root)]
    assert all(squeeze(title) in texts[number].replace("\x02", "-") for title, number in marks)
    assert sum(title[0].isdigit() for title, _ in marks) == 2 * len(list_chapters())  # and in the appendix
    at = [title for title, _ in marks].index("Solutions")
    solved = [title for title, _ in marks[at:] if title.startswith(f"{EXERCISE} ")]
    assert len(solved) > 50 and solved == [title for title, _ in marks[:at] if title in set(solved)]
    assert "softmax(QK⊤/√p).(2.3)" in "".join(texts)  # a formula is text in the order in which it is read
    assert "我喜欢吃苹果" in texts[0]
    taught = texts[: dict(marks)["Notation"]] + texts[marks[at][1] :]
    assert not [number for number, text in enumerate(taught) if RAW.search(text)]


def test_the_book_is_tagged_and_its_figures_are_vectors_with_a_description(book: pikepdf.Pdf) -> None:
    assert book.Root.MarkInfo.Marked and book.Root.Lang == "en"
    assert str(book.docinfo["/Title"]) == "Attention, Measured"
    entries = [entry for entry in book.objects if isinstance(entry, (pikepdf.Stream, pikepdf.Dictionary))]
    assert not [entry for entry in entries if entry.get("/Subtype") == "/Image"]
    assert {"/H1", "/H2", "/P", "/Table", "/Code", "/Link"} <= {str(entry.get("/S")) for entry in entries}
    figures = [entry for entry in entries if entry.get("/S") == "/Figure"]
    assert len(figures) > 30 and all(str(figure.get("/Alt", "")) for figure in figures)


def test_links_lead_somewhere(book: pikepdf.Pdf) -> None:
    links = [link for page in book.pages for link in page.get("/Annots", pikepdf.Array())]
    inside = [str(link.Dest) for link in links if "/Dest" in link]
    assert len(inside) > 400 and not [name for name in inside if name not in book.Root.Dests]
    assert not [link.A.URI for link in links if "/Dest" not in link and not str(link.A.URI).startswith("https://")]


def test_nothing_is_printed_beyond_the_margins() -> None:
    for number, page in enumerate(pypdfium2.PdfDocument(PDF), start=1):
        text, width = page.get_textpage(), page.get_width()
        for index in range(text.count_rects()):
            left, _, right, _ = box = text.get_rect(index)
            assert left > MARGIN and right < width - MARGIN, (number, text.get_text_bounded(*box))
