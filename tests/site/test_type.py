"""The faces of the pages draw what the pages hold and set lines of a length that is easy to read."""

import statistics
from typing import Any

import pytest

from tests.site.pages import CHAPTERS, FILES, SITE, each_kind_by_day
from tests.site.windows import open_folds, open_page, open_window

FONTS = SITE / "_static/fonts"
# All characters of the page that are set in one face, in an element for each face.
PROBE = """async () => {
  const faces = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (parent.closest('script, style, noscript, svg') || !walker.currentNode.data.trim()) continue;
    const { fontFamily, fontStyle, fontWeight } = getComputedStyle(parent);
    const face = JSON.stringify({ fontFamily, fontStyle, fontWeight });
    faces.set(face, new Set([...(faces.get(face) ?? []), ...walker.currentNode.data.replace(/\\s/g, '')]));
  }
  for (const [face, characters] of faces) {
    const probe = document.createElement('p');
    Object.assign(probe, { className: 'probe', textContent: [...characters].join(' ') });
    Object.assign(probe.style, JSON.parse(face));
    document.body.append(probe);
  }
  await document.fonts.ready;
  return [...faces.keys()];
}"""
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


@each_kind_by_day
def test_no_character_of_a_page_falls_back_to_another_font(browser: Any, server: str, page: str) -> None:
    with open_window(browser, server) as window:
        open_page(window, FILES + page)
        open_folds(window)
        faces = window.evaluate(PROBE)
        session = window.context.new_cdp_session(window)
        for command in ("DOM.enable", "CSS.enable"):
            session.send(command)
        root = session.send("DOM.getDocument")["root"]["nodeId"]
        probes = session.send("DOM.querySelectorAll", {"nodeId": root, "selector": ".probe"})["nodeIds"]
        assert len(probes) == len(faces) > 5
        for face, probe in zip(faces, probes, strict=True):
            used = session.send("CSS.getPlatformFontsForNode", {"nodeId": probe})["fonts"]
            text = window.evaluate("i => document.querySelectorAll('.probe')[i].textContent", probes.index(probe))
            assert all(font["isCustomFont"] for font in used), f"{face}: {used}\n{text}"


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


@each_kind_by_day
def test_no_letter_is_smaller_than_11_pixels(browser: Any, server: str, page: str) -> None:
    with open_window(browser, server, width=1440) as window:
        open_page(window, FILES + page)
        open_folds(window)
        small = window.evaluate(
            """[...document.body.querySelectorAll('*')].filter(e => e.checkVisibility({ visibilityProperty: true })
            && !e.closest('math, sup, sub, svg, script, style')
            && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
            && parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.outerHTML.slice(0, 120))"""
        )
        assert small == []
