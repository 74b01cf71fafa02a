"""Print the page of the whole book to a PDF with bookmarks, tags and page numbers: `python -m tools.paper.pdf`."""

import io
import os
import re
import shutil
from pathlib import Path

import pikepdf
import pypdfium2
from lxml import html
from playwright.sync_api import Page, sync_playwright

from tools.paper import PAGE, PDF

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
MOST_PRINTS = 4  # a number that grows by a digit can move a line to the next page, and then another number

# What is loaded late or folded comes out. A frame with its caption is no picture, and has no description of its own.
_PREPARE = """
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    for (const picture of document.images) picture.loading = "eager";
    for (const frame of document.querySelectorAll("figure")) frame.setAttribute("role", "group");
"""
_FILL = """pages => {
    for (const place of document.querySelectorAll(".page-of"))
        place.textContent = pages[place.dataset.target] ?? "000";
}"""
_READY = "[...document.images].every(picture => picture.complete && picture.naturalWidth)"


def find_browser() -> str:
    """The path of an installed Chromium.

    Raises:
        SystemExit: if there is none.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise SystemExit(f"make pdf needs Chromium, and none of {', '.join(BROWSERS)} is installed")
    return found


def read_pages(pdf: bytes) -> dict[str, int]:
    """The number of the page, from 1, to which each link inside the book leads."""
    with pikepdf.open(io.BytesIO(pdf)) as book:
        numbers = {page.obj.objgen: number for number, page in enumerate(book.pages, start=1)}
        return {name.removeprefix("/"): numbers[place[0].objgen] for name, place in book.Root.Dests.items()}


def print_numbered(page: Page) -> bytes:
    """Print until the numbers printed in the book are those of its pages."""
    numbers: dict[str, int] = {}
    for _ in range(MOST_PRINTS):
        page.evaluate(_FILL, numbers)
        pdf = page.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
        before, numbers = numbers, read_pages(pdf)
        if numbers == before:
            return pdf
    raise SystemExit(f"the page numbers do not settle in {MOST_PRINTS} prints")


def print_page(source: Path) -> bytes:
    """Print a page with Chromium, once its pictures and fonts are there."""
    complaints: list[str] = []
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=find_browser(), args=options)
        page = browser.new_page(color_scheme="light")
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(f"{request.url} is missing"))
        page.goto(source.as_uri())
        page.evaluate(_PREPARE)
        page.wait_for_function(_READY)
        page.evaluate("document.fonts.ready.then(() => true)")
        pdf = print_numbered(page)
        browser.close()
    if complaints:
        raise SystemExit("\n".join(complaints))
    return pdf


def find_missing(source: str, pdf: bytes) -> set[str]:
    """The Chinese characters that a page has and its print does not: with no font for them, Chromium prints boxes."""
    printed = "".join(page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(pdf))
    return set(CHINESE.findall(source)) - set(printed)


def correct_bookmarks(book: pikepdf.Pdf, headings: list[str]) -> None:
    """Give bookmarks back the space that Chromium loses where a heading goes on in the next line."""
    known = {"".join(heading.split()): " ".join(heading.split()) for heading in headings}
    for entry in book.objects:
        if isinstance(entry, pikepdf.Dictionary) and "/Title" in entry and "/Parent" in entry:
            title = str(entry.Title)
            name = "".join(title.split())
            once = name[: len(name) // 2]  # Chromium says a heading twice that it writes in two runs of letters
            entry.Title = pikepdf.String(known.get(once if name == 2 * once else name, title))


def finish(pdf: bytes, source: str, target: Path) -> None:
    """Write the file a third as large, with what is known of it, and so that a reader shows title and bookmarks."""
    page = html.document_fromstring(source.encode())
    author, version = (str(page.xpath(f"string(//meta[@name='{name}']/@content)")) for name in ("author", "version"))
    with pikepdf.open(io.BytesIO(pdf)) as book:
        correct_bookmarks(book, [heading.text_content() for heading in page.iter("h1", "h2", "h3", "h4")])
        book.docinfo["/Author"] = author
        book.docinfo["/Subject"] = f"Version {version}"
        book.Root.PageMode = pikepdf.Name.UseOutlines
        book.Root.ViewerPreferences = pikepdf.Dictionary(DisplayDocTitle=True)
        book.save(target, object_stream_mode=pikepdf.ObjectStreamMode.generate, compress_streams=True)


def main() -> None:
    """Print the page.

    Raises:
        SystemExit: if a font is missing.
    """
    source = PAGE.read_text("utf-8")
    pdf = print_page(PAGE)
    missing = find_missing(source, pdf)
    if missing:
        raise SystemExit(f"no font on this machine has {''.join(sorted(missing))}: install one, as Noto Serif CJK SC")
    finish(pdf, source, PDF)
    print(PDF.name)


if __name__ == "__main__":
    main()
