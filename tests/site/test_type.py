"""The faces of the pages draw what the pages hold, weigh little, and set lines of a length that is easy to read."""

from __future__ import annotations

import re
import statistics
from typing import Any

import pytest
from fontTools.ttLib import TTFont

from tests.site.pages import CHAPTERS, COMPLETE, PAGES, SITE, soup
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


@pytest.mark.parametrize("page", PAGES)
def test_each_character_of_a_page_is_in_its_face(page: str) -> None:
    body = soup(page).body
    chinese = {c for c in body.get_text() if "\u4e00" <= c <= "\u9fff"}
    assert all(ord(c) in DRAWN["chinese"] & DRAWN["chinese-sans"] for c in chinese)
    code = {c for part in body.find_all(["pre", "code"]) for c in part.get_text() if c.isprintable()} - chinese
    assert [c for c in code if ord(c) not in DRAWN["mono"]] == []
    text = {c for p in body.find_all("p") if not p.find(class_="math") for c in p.get_text() if c.isprintable()}
    left = text - chinese - code - NOT_IN_THE_TEXT_FACE
    assert [c for c in left if ord(c) not in DRAWN["text"] & DRAWN["sans"]] == []


@pytest.mark.parametrize("page", PAGES)
def test_each_sign_of_a_formula_is_in_its_face(page: str) -> None:
    drawn = set(TTFont(SITE / "_static/math.woff2").getBestCmap())
    signs = {c for formula in soup(page).find_all("math") for c in formula.get_text() if c.isprintable()}
    assert [c for c in signs if ord(c) not in drawn] == []


def test_the_faces_are_small_and_keep_their_licences() -> None:
    css = (SITE / "_static/fonts.css").read_text("utf-8")
    assert sorted(re.findall(r"fonts/([\w-]+)\.woff2", css)) == sorted(DRAWN)
    assert sum(path.stat().st_size for path in FONTS.glob("*.woff2")) < 150_000
    texts = [path.read_text("utf-8", errors="replace") for path in FONTS.glob("*.txt")]
    assert len(texts) == 4 and all("licen" in text.lower() for text in texts)


@pytest.mark.parametrize("page", [page for page in CHAPTERS if page in COMPLETE][:3])
@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_lines_of_text_have_a_length_that_is_easy_to_read(browser: Any, server: str, page: str, width: int) -> None:
    with open_window(browser, server, width=width) as window:
        open_page(window, f"{SITE.as_uri()}/{page}")
        lengths = window.evaluate(LINES)
        asked = window.evaluate("[...document.fonts].filter(face => face.status === 'loaded').map(face => face.family)")
    assert len(lengths) > 10 and 65 <= statistics.median(lengths) <= 75
    assert {"Book Text", "Book Sans", "Book Mono"} <= {name.strip('"') for name in asked}


@pytest.mark.parametrize("page", [*PAGES, "search.html", "404.html"])
def test_the_head_of_a_page_says_each_thing_once(page: str) -> None:
    head = soup(page).head
    assert len(head.find_all("meta", attrs={"name": "viewport"})) == 1
    first, *rest = re.split(r" [—-] ", head.title.get_text())
    assert rest != [first]
    icon = head.find("link", rel="icon")["href"].partition("?")[0]
    assert (SITE / "_static/favicon.svg").exists() and icon.endswith("_static/favicon.svg")
    assert (SITE / "_static/cover.png").read_bytes().startswith(b"\x89PNG")  # what shows a shared link asks for it
