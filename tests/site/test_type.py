"""The faces of the pages draw what the pages hold and set lines of a length that is easy to read."""

import statistics
from typing import Any

import pytest
from fontTools.ttLib import TTFont

from tests.site.pages import CHAPTERS, FILES, SITE, WRITTEN, soup
from tests.site.windows import open_page, open_window

FONTS = SITE / "_static/fonts"
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


def test_each_character_of_the_pages_is_in_one_of_their_fonts() -> None:
    drawn: set[int] = set()
    for path in (*FONTS.glob("*.woff2"), SITE / "_static/math.woff2"):
        with TTFont(path) as font:
            drawn |= set(font.getBestCmap())
    for page in WRITTEN:
        shown = {letter for letter in soup(page).get_text() if not letter.isspace() and letter.isprintable()}
        assert {letter for letter in shown if ord(letter) not in drawn} == set(), page


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
