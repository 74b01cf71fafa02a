"""The faces of the pages draw what the pages hold and set lines of a length that is easy to read."""

import statistics
from typing import Any

import pytest
from fontTools.ttLib import TTFont

from tests.site.pages import CHAPTERS, FILES, PAGES, SITE, soup
from tests.site.windows import open_page, open_window

FONTS = SITE / "_static/fonts"
DRAWN = {path.stem: set(TTFont(path).getBestCmap()) for path in FONTS.glob("*.woff2")}
NOT_IN_THE_TEXT_FACE = {"⁻", "∎"}  # rare, and a system has them
# The characters of each full line of text, which ends where the next begins.
LINES = """() => [...document.querySelectorAll('.bd-article section > p')].flatMap(text => {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT), lines = new Map();
  const range = document.createRange();
  if (text.querySelector('.math, code')) return [];
  while (walker.nextNode())
    for (let i = 0; i < walker.currentNode.length; i++) {
      range.setStart(walker.currentNode, i);
      range.setEnd(walker.currentNode, i + 1);
      const line = Math.round(range.getBoundingClientRect().bottom / 8);
      lines.set(line, (lines.get(line) ?? 0) + 1);
    }
  return [...lines.values()].slice(0, -1);
})"""


def find_undrawn(page: str) -> set[str]:
    """The characters of a page that are not in the face in which they are set."""
    body = soup(page).body
    chinese = {c for c in body.get_text() if "\u4e00" <= c <= "\u9fff"}
    code = {c for part in body.find_all(["pre", "code"]) for c in part.get_text() if c.isprintable()} - chinese
    text = {c for p in body.find_all("p") if not p.find(class_="math") for c in p.get_text() if c.isprintable()}
    signs = {c for formula in body.find_all("math") for c in formula.get_text() if c.isprintable()}
    faces = [
        (chinese, DRAWN["chinese"] & DRAWN["chinese-sans"]),
        (code, DRAWN["mono"]),
        (text - chinese - code - NOT_IN_THE_TEXT_FACE, DRAWN["text"] & DRAWN["sans"]),
        (signs, set(TTFont(SITE / "_static/math.woff2").getBestCmap())),
    ]
    return {c for characters, face in faces for c in characters if ord(c) not in face}


def test_each_character_of_a_page_is_in_its_face() -> None:
    assert {page: left for page in PAGES if (left := find_undrawn(page))} == {}


def test_the_faces_keep_their_licences() -> None:
    texts = [path.read_text("utf-8", errors="replace") for path in FONTS.glob("*.txt")]
    assert len(texts) == 4 and all("licen" in text.lower() for text in texts)


@pytest.mark.parametrize("width", [1280, pytest.param(1920, marks=pytest.mark.thorough)])
def test_lines_of_text_have_a_length_that_is_easy_to_read(browser: Any, server: str, width: int) -> None:
    with open_window(browser, server, width=width) as window:
        open_page(window, FILES + CHAPTERS[0])
        lengths = window.evaluate(LINES)
        asked = window.evaluate("[...document.fonts].filter(face => face.status === 'loaded').map(face => face.family)")
    assert len(lengths) > 10 and 65 <= statistics.median(lengths) <= 75
    assert {"Book Text", "Book Sans", "Book Mono"} <= {name.strip('"') for name in asked}
