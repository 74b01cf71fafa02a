"""What leads somewhere: numbered figures, formulas by their number, words of the glossary, and their previews."""

import copy
import posixpath
import re
from typing import Any

import pytest
from book_site.phrases import EXERCISE, FIGURE

from tests.site.pages import CHAPTERS, COMPLETE, FILES, MOVED, PAGES, ids, soup
from tests.site.windows import open_page, open_window


def chapter_number(page: str) -> str:
    exercise = next(h for h in soup(page).find_all("h3") if h.get_text().startswith(f"{EXERCISE} "))
    return re.findall(r"\d+", exercise.get_text())[0]


def test_figures_are_numbered_and_have_captions() -> None:
    for page in CHAPTERS:
        figures = soup(page).select(".cell_output figure")
        assert len(figures) == len(soup(page).select(".cell_output img")), f"{page}: each picture is in a figure"
        for number, figure in enumerate(figures, start=1):
            name = f"{chapter_number(page)}.{number}"
            caption = re.sub(r"\s+", " ", figure.figcaption.get_text()).strip(" #")
            assert re.fullmatch(rf"{FIGURE.format(name)}\. [A-Z].{{8,}}\.", caption), f"{page}: {caption}"


@pytest.mark.parametrize("page", PAGES)
def test_a_formula_that_is_named_is_a_link_to_it(page: str) -> None:
    tags = {number.get_text() for other in CHAPTERS for number in soup(other).select("div.math .number")}
    assert len(tags) > 20
    for paragraph in map(copy.copy, soup(page).select("article p:not(figcaption p)")):
        for part in paragraph.select(".math, code, a:not(.preview)"):
            part.extract()
        linked = [link.get_text() for link in paragraph.select("a.preview")]
        for named in re.findall(r"\(\d+\.\d+\)", paragraph.get_text()):
            assert named in linked or named not in tags, f"{page}: {named} in {paragraph.get_text()[:80]!r}"
    for link in soup(page).select("a.preview[href*='#formula-']"):
        target, _, anchor = link["href"].partition("#")
        there = soup(f"notebooks/{target}" if target else page)
        formula = there.find(id=anchor).find_next(class_="math")
        assert formula.select_one(".number").get_text() == link.get_text()


def test_words_of_the_glossary_lead_there_once_with_their_meaning() -> None:
    for page in CHAPTERS:
        links = soup(page).select("a.preview[href*='glossary.html#']")
        assert len({link["href"] for link in links}) == len(links), page
        assert links or page not in COMPLETE or "attention-pooling" in page, f"{page}: no word leads to the glossary"
        for link in links:
            entry = soup("book/glossary.html").find(id=link["href"].partition("#")[2])
            assert link["title"].split()[0] in entry.get_text(), f"{page}: {link}"


def test_a_preview_shows_the_formula_and_escape_hides_it(browser: Any, server: str) -> None:
    with open_window(browser, server, "dark", 390) as window:
        open_page(window, FILES + "notebooks/multi-head-attention.html")
        card, link = window.locator("#preview-card"), window.locator("a.preview[href='#formula-3-1']").first
        link.focus()
        assert card.is_visible() and card.locator("math").count() and "(3.1)" in card.inner_text()
        box = card.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        window.keyboard.press("Escape")
        assert not card.is_visible()


def test_an_old_address_leads_to_a_place_that_is_there() -> None:
    for old, new in MOVED.items():
        path, _, anchor = new.partition("#")
        page = posixpath.normpath(posixpath.join(posixpath.dirname(old), path))
        (refresh,) = soup(old).select("meta[http-equiv=refresh]")
        assert refresh["content"] == f"0; url={new}" and soup(old).a["href"] == new
        assert page in PAGES and (not anchor or anchor in ids(page)), new


def test_each_letter_of_the_glossary_leads_to_its_first_word() -> None:
    page = soup("book/glossary.html")
    letters = {link.get_text(): link["href"].removeprefix("#") for link in page.select(".letters a")}
    words = [
        (section.find(["h2", "h3"]).get_text()[0].upper(), section["id"])
        for section in page.select("section > section")
    ]
    assert len(letters) > 15 and letters == dict(reversed(words))
