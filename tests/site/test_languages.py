"""The pages in other languages: beside the English ones, with the same names and anchors, and nothing of both."""

import re
from typing import Any

import pytest
from book_site.phrases import TABLE, flatten, read_phrases
from bs4 import BeautifulSoup

from tests.site.checks import find_faults
from tests.site.pages import CHAPTERS, FILES, SITE, ids
from tests.site.windows import open_page, open_window
from tools.translating.__main__ import read_settings

LANGUAGES = {language: read_settings(language) for language in ("vi", "zh")}
HOME, CHAPTER = "zh/index.html", "zh/notebooks/self-attention.html"
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for language in LANGUAGES
    for path in (SITE / language).rglob("*.html")
    if "_static" not in path.parts and path.name not in ("search.html", "404.html")
)
# What a page of English says around its text, word for word; `together` and the like are parts of sentences.
WRITTEN = {phrase for phrase in flatten(read_phrases("en", TABLE.read_text("utf-8"))[0]).values() if " " in phrase}


def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup((SITE / page).read_text("utf-8"), "html.parser")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_anchors_of_the_english_one_and_each_leads_to_the_other(page: str) -> None:
    language, _, english = page.partition("/")
    settings = LANGUAGES[language]
    own, html = soup(page), (SITE / page).read_text("utf-8")
    sections = [section["id"] for section in own.select("article section[id]")]
    assert own.html is not None and own.html["lang"] == settings["tag"] and set(sections) <= ids(english)
    for here, there, tag in ((page, english, "en"), (english, page, settings["tag"])):
        switch = soup(here).select_one(f"nav.languages a[hreflang='{tag}']")
        assert switch is not None and switch["lang"] == tag, f"{here}: no way to {there}"
        assert ((SITE / here).parent / str(switch["href"])).resolve() == SITE / there
        assert soup(here).find("link", rel="alternate", hreflang=tag), here
    told = [phrase for phrase in WRITTEN if f">{phrase}<" in html]
    assert not told and "english.invalid" not in html, f"{page}: English that has a phrase of its own: {told}"


@pytest.mark.parametrize("page", PAGES)
def test_all_that_a_page_links_to_is_there(page: str) -> None:
    for link in soup(page).select("a[href]"):
        address, _, anchor = str(link["href"]).partition("#")
        if "://" in address or address.startswith("mailto:"):
            continue
        target = ((SITE / page).parent / address).resolve() if address else SITE / page
        assert target.is_file(), f"{page}: {link['href']}"
        place = target.relative_to(SITE).as_posix()
        if anchor and target.suffix == ".html" and not anchor.startswith("我"):
            assert anchor in {str(tag["id"]) for tag in soup(place).find_all(id=True)}, f"{page}: {link['href']}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_not_translated_is_marked_in_the_contents(language: str) -> None:
    names = [link.get_text() for link in soup(f"{language}/index.html").select(".bd-links a[href^='../notebooks/']")]
    mark = LANGUAGES[language]["english"].replace("{}", "").strip()
    assert len(names) == len(CHAPTERS) - sum(f"{language}/notebooks/" in page for page in PAGES)
    assert all(mark in name for name in names)


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_chapter_is_accessible_fits_and_plays(browser: Any, server: str, width: int, theme: str) -> None:
    with open_window(browser, server, theme, width) as window:
        open_page(window, server + CHAPTER)
        assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert window.locator("nav.languages a:visible").count() >= 1 and find_faults(window) == []
        play = window.locator(".play").first
        before = play.inner_text()
        play.locator("button.tile").last.click()
        assert play.inner_text() != before and not re.search(r"[a-z]{4,}", before) and window.complaints == []


def test_each_letter_of_vietnamese_is_in_a_face_of_the_book(browser: Any, server: str) -> None:
    """Also what is slanted, and what code says; Chromium tells which faces drew a part of the page."""
    with open_window(browser, server) as window:
        open_page(window, f"{server}vi/notebooks/attention-pooling.html")
        window.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
        session = window.context.new_cdp_session(window)
        for domain in ("DOM", "CSS"):
            session.send(f"{domain}.enable")
        root = session.send("DOM.getDocument")["root"]["nodeId"]
        asked = {"nodeId": root, "selector": "article :is(p, pre, em, strong, h2)"}
        nodes = session.send("DOM.querySelectorAll", asked)["nodeIds"]
        drawn = [session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"] for node in nodes]
        faces = {(face["familyName"], face["isCustomFont"]) for faces in drawn for face in faces}
    assert len(faces) > 3 and {face for face in faces if not face[1]} == set()


def test_the_switch_keeps_the_section_and_a_guess_is_shared(browser: Any, server: str) -> None:
    with open_window(browser, server) as window:
        open_page(window, server + CHAPTER)
        card = window.locator(".guess-card[data-kind=choice]").first
        card.locator("button.choice").nth(1).click()
        window.evaluate("document.getElementById('the-layer').scrollIntoView()")
        window.wait_for_selector("#page-contents a.active[href='#the-layer']")
        window.locator("nav.languages a[hreflang=en]").click()
        window.wait_for_url(re.compile(r"/(?<!zh/)notebooks/self-attention\.html#"))
        pressed = window.locator(".guess-card[data-kind=choice]").first.locator("button.choice[aria-pressed=true]")
        assert pressed.count() == 1 and window.complaints == []


@pytest.mark.parametrize(
    ("language", "query", "page"),
    [
        ("zh", "自注意力", "notebooks/self-attention"),
        ("zh", "键值缓存", "book/glossary"),
        ("vi", "tu chu y", "self-attention"),
    ],
)
def test_the_search_finds_chinese_and_words_without_their_marks(
    browser: Any, server: str, language: str, query: str, page: str
) -> None:
    with open_window(browser, server) as window:
        window.goto(f"{FILES}{language}/search.html?q={query}")
        window.wait_for_selector("ul.search li .context")
        assert page in str(window.locator("ul.search li > a").first.get_attribute("href"))
