"""Tabs of frameworks on the built page: by mouse, keyboard, without a script and on paper."""

import re
from typing import Any

from tests.site.pages import FILES, soup
from tests.site.windows import open_page, open_window
from tools import ROOT

PAGE = "notebooks/elsewhere.html"


def list_links() -> list[list[str]]:
    """For each line of the chapter that becomes tabs the names of its notebooks."""
    text = (ROOT / "book" / "elsewhere.md").read_text("utf-8")
    found = [re.findall(r"frameworks/([\w-]+)\.ipynb#", line) for line in text.splitlines()]
    return [names for names in found if len(names) > 1]


def test_each_line_of_links_is_a_set_of_tabs_with_code_and_what_it_printed() -> None:
    sets = soup(PAGE).select(".sd-tab-set")
    assert len(sets) == len(list_links()) > 2
    for tabs, names in zip(sets, list_links(), strict=True):
        contents = tabs.select(".sd-tab-content")
        for content, name in zip(contents, names, strict=True):
            assert content.select(".highlight-python") and f"{name}.ipynb" in content.get_text()
    printed = [block.get_text() for block in soup(PAGE).select(".sd-tab-content .printed")]
    assert sum("tenth call" in text for text in printed) == 8


def test_without_a_script_one_tab_is_seen_and_the_arrow_keys_change_it(browser: Any, server: str) -> None:
    with open_window(browser, server, java_script_enabled=False) as window:
        open_page(window, FILES + PAGE)
        first = window.locator(".sd-tab-set").first
        contents = first.locator("> .sd-tab-content")
        assert [content.is_visible() for content in contents.all()] == [True] + 7 * [False]
        first.locator("> input").first.focus()
        window.keyboard.press("ArrowRight")
        assert [content.is_visible() for content in contents.all()] == [False, True] + 6 * [False]
        first.locator("> label").last.click()
        assert contents.last.is_visible() and not contents.first.is_visible()


def test_all_of_the_page_changes_together_and_paper_shows_all(browser: Any, server: str) -> None:
    with open_window(browser, server, width=794) as window:
        open_page(window, FILES + PAGE)
        window.locator(".sd-tab-set").first.locator("> label", has_text="TensorFlow").click()
        for tabs in window.locator(".sd-tab-set").all():
            assert tabs.locator("> input:checked + label").text_content().strip() == "TensorFlow"
        window.emulate_media(media="print")
        contents = window.locator(".sd-tab-set > .sd-tab-content")
        assert all(contents.evaluate_all("all => all.map(e => e.checkVisibility())"))
        parts = window.locator(".sd-tab-set > :is(label, .sd-tab-content)")
        tops = parts.evaluate_all("all => all.map(e => e.getBoundingClientRect().top)")
        assert tops == sorted(tops), "each name stands above what it names"
