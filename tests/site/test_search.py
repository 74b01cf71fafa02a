"""Searching the book as a reader does, from a folder and from a server: what is found first, and where it leads."""

from typing import Any

from tests.site.checks import find_faults
from tests.site.pages import FILES, soup
from tests.site.windows import ask, open_window

OPENED = "details[open]:not(.guess-code)"
FIRST = {
    "heads learn": "notebooks/what-heads-learn.html",
    "multi head": "notebooks/multi-head-attention.html",
    "Multi-Head Attention": "notebooks/multi-head-attention.html",
    "KV cache": "book/glossary.html#key-value-cache",
    "注意力": "book/glossary.html#attention-pooling",
    "mask": "book/glossary.html#mask",
    "positional encodings": "notebooks/positional-encoding.html",
    "rotary embedding": "book/glossary.html#rotary-embedding",
    "苹果 mean": "notebooks/self-attention.html#what-does-mean-here",
    "masked_attention": "notebooks/attention-pooling.html#exercise-1-2-from-an-empty-cell",
}


def test_the_best_place_comes_first(browser: Any, server: str) -> None:
    """Every other query is asked of the folder, the rest of the server."""
    with open_window(browser, server, reduced_motion="reduce") as window:
        found = {query: ask(window, [FILES, server][n % 2], query)[0] for n, query in enumerate(FIRST)}
        # Solutions are out of sight; a name that every table of JavaScript has is a word that no section has.
        for nowhere in ("leave_one_out_solution", "果苹", "the", "constructor"):
            assert ask(window, server, nowhere) == []
    assert found == FIRST


def test_who_comes_from_the_search_sees_one_place_and_the_rest_stays_covered(browser: Any, server: str) -> None:
    exercise = soup("notebooks/right-shapes.html").select_one("[id$=a-test-of-the-heads]")["id"]
    with open_window(browser, server) as window:
        window.goto(f"{FILES}notebooks/right-shapes.html?highlight=mutant#{exercise}")
        window.wait_for_selector(f"#{exercise} .highlighted >> visible=true")
        window.wait_for_selector(".hits")
        assert window.locator("details.guess[open]").count() == 0 and window.locator(OPENED).count() <= 1
        for fold in window.locator("details:has(.hits)").all():
            assert f"{fold.locator('.highlighted').count()}" in fold.locator(".hits").first.text_content()
        window.locator(".highlight-link a").click()
        assert window.locator(f".hits, {OPENED}").count() == 0


def test_a_result_shows_the_words_and_leads_to_the_section_where_they_are_marked(browser: Any, server: str) -> None:
    with open_window(browser, server, "dark", 390, reduced_motion="reduce") as window:
        ask(window, FILES, "saturated gradient")
        results = window.locator("ul.search li")
        assert results.count() > 1
        for result in results.all():
            result.locator(".context").wait_for()
            assert result.locator(".context .highlighted").count(), result.inner_text()
            assert len(result.locator(".context").inner_text()) < 300
        assert find_faults(window) == []
        link = results.locator("a[href*='#']").first
        anchor = link.get_attribute("href").partition("#")[2]
        link.click()
        window.wait_for_selector(f"#{anchor} .highlighted >> visible=true")
        assert 0 <= window.locator(f"#{anchor}").bounding_box()["y"] < 400
        assert find_faults(window) == [] and window.complaints == []


def test_without_a_script_the_page_says_what_to_read_instead(browser: Any, server: str) -> None:
    with open_window(browser, server, width=390, java_script_enabled=False) as window:
        window.goto(f"{server}search.html")
        article = window.locator(".bd-search-container")
        article.get_by_role("link", name="glossary").click()
        assert window.url == f"{server}book/glossary.html"
