"""The keyboard presses what it reaches: the focus stays where the reader is, names say what is, and marks are right."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.site.pages import CHAPTERS, FILES
from tests.site.windows import open_page, open_window, wait_until

CHAPTER = FILES + CHAPTERS[0]
FOCUSED = "document.activeElement.className"


@pytest.fixture(scope="module")
def window(browser: Any, server: str) -> Iterator[Any]:
    with open_window(browser, server, reduced_motion="reduce") as window:
        open_page(window, CHAPTER)
        yield window
        assert window.complaints == []


def test_the_switch_of_the_theme_keeps_the_focus_and_says_its_state(window: Any) -> None:
    switch = window.locator(".theme-switch-button").first
    switch.focus()
    names = []
    for _ in range(3):
        window.keyboard.press("Enter")
        assert "theme-switch-button" in window.evaluate(FOCUSED)
        names.append((window.evaluate("document.documentElement.dataset.mode"), switch.get_attribute("aria-label")))
    assert sorted(mode for mode, _ in names) == ["auto", "dark", "light"] and len({name for _, name in names}) == 3


@pytest.mark.parametrize("side", ["primary", "secondary"])
def test_a_drawer_gives_the_focus_back(browser: Any, server: str, side: str) -> None:
    with open_window(browser, server, width=390, reduced_motion="reduce") as phone:
        open_page(phone, CHAPTER)
        toggle, drawer = phone.locator(f".{side}-toggle").first, phone.locator(f"#pst-{side}-sidebar-modal")
        for key in ("Escape", "Enter", "Escape"):
            assert toggle.get_attribute("aria-expanded") == "false" and not drawer.is_visible()
            toggle.focus()
            phone.keyboard.press("Enter")
            assert drawer.is_visible() and toggle.get_attribute("aria-expanded") == "true"
            if key == "Enter":
                drawer.locator(".drawer-close").focus()
            phone.keyboard.press(key)
            wait_until(phone, f"{FOCUSED}.includes('{side}-toggle')")


def test_the_copy_buttons_are_one_stop_and_arrows_lead_from_each_to_the_next(window: Any) -> None:
    buttons = window.locator(".copybtn").evaluate_all("all => all.map(button => button.getAttribute('aria-label'))")
    assert len(buttons) == len(set(buttons)) == window.locator("div:not(.output) > .highlight > pre").count() > 10
    stops = window.locator(".copybtn:visible").evaluate_all("all => all.map(button => button.tabIndex)")
    assert len(stops) > 10 and sorted(stops)[-2:] == [-1, 0]
    window.locator(".copybtn[tabindex='0']").focus()
    names = []
    for key in ("ArrowDown", "ArrowRight", "ArrowUp"):
        window.keyboard.press(key)
        names.append(window.evaluate("document.activeElement.getAttribute('aria-label')"))
    window.keyboard.press("Enter")
    wait_until(window, "document.querySelector('[role=status].said').textContent.includes('copied')")
    assert window.evaluate("document.activeElement.getAttribute('aria-label')") == names[-1], "the focus stays"
    assert len(set(names)) == 2 and names[0] == names[2]


def test_the_contents_bar_marks_the_section_that_is_read_or_was_asked_for(window: Any) -> None:
    links = window.locator("#page-contents a[href^='#']").evaluate_all("all => all.map(link => link.hash)")
    assert len(links) > 5
    for hash_ in links:
        window.evaluate(f"document.getElementById('{hash_[1:]}').scrollIntoView({{behavior: 'instant'}})")
        read = """hash => { const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
            const marked = document.querySelector('#page-contents [aria-current=true]')?.hash;
            return marked === hash || end; }"""
        wait_until(window, read, hash_)
        assert window.locator("#page-contents [aria-current=true]").count() == 1
    link = window.locator("#page-contents a[href^='#']").last
    link.press("Enter")
    wait_until(window, "document.querySelector('#page-contents [aria-current=true]').hash === location.hash")
    assert window.evaluate("location.hash") == link.get_attribute("href")
