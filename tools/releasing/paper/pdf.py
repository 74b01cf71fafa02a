"""The pages of the EPUB, printed as one book by Chromium: solutions at the end, bookmarks, tags and page numbers."""

import io
import json
import os
import posixpath
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path, PurePosixPath
from typing import Any

import pikepdf
from book_site.fonts import write_fonts
from book_site.formulas import write_font
from book_site.phrases import SOLUTION
from lxml import etree, html
from lxml.html.builder import CLASS, E
from playwright.sync_api import sync_playwright

from tools import ROOT
from tools.releasing.paper import FOLDER, PDF
from tools.releasing.repository import read_version

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HEADINGS = ("h1", "h2", "h3", "h4")
STYLES = (Path(__file__).parent / "print.css", ROOT / "book/_static/formulas.css", FOLDER / "epub/_static/pygments.css")
SOURCE, TARGET = FOLDER / "epub", FOLDER / "pdf"
_HEAD = "#{0} {{ page: {0} }} @page {0} {{ @top-right {{ content: {1} }} }}"
_READY = "[...document.images].every(picture => picture.complete && picture.naturalWidth)"


def read_text(element: Any) -> str:
    """What an element says, in one line."""
    return " ".join(element.text_content().split())


def read_title(part: Any) -> str:
    """The title of a chapter or another part of the book."""
    return read_text(part.find(".//h1"))


def read_page(name: str) -> Any:
    """A page of the EPUB as a part of the book: its ids begin with its name there, and its links lead to such ids."""
    page, stem = etree.parse(SOURCE / name, html.XHTMLParser()).getroot(), PurePosixPath(name).stem
    html.xhtml_to_html(page)
    for element in page.xpath("//*[@id]"):
        element.set("id", f"{stem}--{element.get('id')}")
    for link in page.xpath("//a[@href and not(contains(@href, ':'))]"):
        path, _, anchor = link.get("href").partition("#")
        there = PurePosixPath(path).stem or stem
        link.set("href", f"#{there}--{anchor}" if anchor else f"#{there}")
    for picture in page.iter("img"):
        picture.set("src", posixpath.normpath(posixpath.join("../epub", posixpath.dirname(name), picture.get("src"))))
    for frame in page.iter("figure"):  # with its caption it is no picture, and has no description of its own
        frame.set("role", "group")
    return E.div(*page.find("body"), id=stem)


def take_solutions(chapter: Any) -> list[Any]:
    """Take the solutions out of a chapter, leave a link in the place of each, and lead back from it."""
    taken = []
    for fold in chapter.xpath(".//details[@class='solution']"):
        exercise = fold.getparent()
        here, title = exercise.get("id"), deepcopy(next(exercise.iterchildren(*HEADINGS)))
        there = f"{here}--solution"
        exercise.replace(fold, E.p(E.a(SOLUTION, href=f"#{there}"), CLASS("to-fold")))
        back = E.p(E.a("Back to the exercise", href=f"#{here}"), CLASS("from-fold"))
        taken.append(E.section(title, *fold[1:], back, id=there))
    return taken


def bind_book() -> Any:
    """The pages in the order of the contents, with nothing to open, and the appendix of solutions."""
    contents = read_page("nav.xhtml")
    names = etree.parse(SOURCE / "nav.xhtml").xpath("//*[local-name() = 'nav']//@href")
    pages = [read_page(name) for name in dict.fromkeys(name.partition("#")[0] for name in names)]
    appendix = E.div(E.h1("Solutions"), id="solutions")
    contents.find(".//ol").append(E.li(E.a("Solutions", href="#solutions")))
    for page in pages:
        if solutions := take_solutions(page):
            appendix.extend([E.h2(read_title(page)), *solutions])
        for fold in page.iter("details"):
            fold.find("summary").set("class", "fold")
            fold.tag, fold.find("summary").tag = "div", "p"
    pages[0].find(".//h1").addnext(E.p(f"Version {read_version()}", CLASS("edition")))
    return E.body(pages[0], contents, *pages[1:], appendix)


def write_page(body: Any, title: str) -> Path:
    """Write the book as one page, each part with a style that puts its title into the head of its pages."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    heads = [_HEAD.format(part.get("id"), json.dumps(read_title(part), ensure_ascii=False)) for part in body]
    links = [E.link(rel="stylesheet", href=style.name) for style in STYLES]
    head = E.head(E.meta(charset="utf-8"), E.title(title), *links, E.style("\n".join(heads)))
    page = TARGET / "index.html"
    page.write_bytes(html.tostring(E.html(head, body, lang="en"), encoding="utf-8", doctype="<!DOCTYPE html>"))
    for style in STYLES:
        shutil.copy(style, TARGET)
    write_fonts(TARGET, TARGET / "fonts")
    write_font(TARGET, TARGET / "math.woff2")
    return page


def print_page(source: Path) -> bytes:
    """Print a page with Chromium, once its pictures and fonts are there.

    Raises:
        SystemExit: if there is no Chromium.
    """
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit(f"the PDF needs Chromium, and none of {', '.join(BROWSERS)} is installed")
    options = ["--no-sandbox", "--disable-gpu"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path, args=options) as browser:
        page = browser.new_page(color_scheme="light")
        page.goto(source.as_uri())
        page.wait_for_function(_READY)
        page.evaluate("document.fonts.ready.then(() => true)")
        return page.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)


def walk(items: list[Any]) -> Iterator[Any]:
    """The bookmarks in the order of the pages."""
    for item in items:
        yield item
        yield from walk(item.children)


def main() -> None:
    """Print the book, and write it a third as large, with what is known of it."""
    package = etree.parse(SOURCE / "content.opf")
    title, author = (package.findtext(f".//{{*}}{name}") for name in ("title", "creator"))
    body = bind_book()
    with pikepdf.open(io.BytesIO(print_page(write_page(body, title)))) as book:
        with book.open_outline() as outline:  # Chromium loses the spaces at line ends, and says some titles twice
            for mark, heading in zip(walk(outline.root), body.iter(*HEADINGS), strict=True):
                mark.title = read_text(heading)
        book.docinfo["/Author"], book.docinfo["/Subject"] = author, f"Version {read_version()}"
        book.Root.PageMode = pikepdf.Name.UseOutlines
        book.Root.ViewerPreferences = pikepdf.Dictionary(DisplayDocTitle=True)
        book.save(PDF, object_stream_mode=pikepdf.ObjectStreamMode.generate, compress_streams=True)
    print(PDF.name)
