"""The built pages in Chromium: wide and narrow, in the light and in the dark, with every foreign address blocked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.site.axe import find_faults
from tests.site.checks import check_ground, check_paper, inspect, photograph
from tests.site.pages import ALL_CHAPTERS, ALL_PAGES, PAGES, SITE, soup
from tests.site.windows import open_page, open_window, press_switch, switch_theme

# Each width begins in one theme and goes on in the other; one is read from files, the other from a server.
VIEWS = [("light", 1280), ("dark", 390)]
FILES = SITE.as_uri() + "/"
each_view = pytest.mark.parametrize(("theme", "width"), VIEWS, ids=["light-1280", "dark-390"])


def other(theme: str) -> str:
    return "dark" if theme == "light" else "light"


@each_view
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_complete_quiet_accessible_and_fits(
    visit: Callable[[str, str, int], Any], server: str, page: str, theme: str, width: int
) -> None:
    window = visit((server if width == 1280 else FILES) + page, theme, width)
    faults = inspect(window, page, (theme, other(theme)))
    if page in ALL_CHAPTERS and width == 1280:
        faults += check_paper(window)
    assert not faults, "\n".join([f"{page} at {width} px:", *faults])


@each_view
def test_figures_follow_the_switch_and_not_the_system(browser: Any, server: str, theme: str, width: int) -> None:
    with open_window(browser, server, theme, width) as window:
        open_page(window, FILES + ALL_CHAPTERS[0])
        for system in (theme, other(theme)):
            window.emulate_media(color_scheme=system)
            press_switch(window, other(system))
            picture = photograph(window.locator(".cell_output img").first)
            assert not check_ground(picture, other(system), f"system {system}, switch {other(system)}: a figure")


@each_view
@pytest.mark.parametrize("page", ["book/intro.html", ALL_CHAPTERS[0]])
def test_the_keyboard_reaches_every_control_with_a_visible_focus(
    browser: Any, server: str, page: str, theme: str, width: int
) -> None:
    """Tab once round the page: each link, button and summary in sight gets the focus, and shows it."""
    controls = "a[href], button, summary, input:not([type=hidden]), label[tabindex]"
    with open_window(browser, server, theme, width) as window:
        open_page(window, FILES + page)
        wanted = window.evaluate(
            f"""[...document.querySelectorAll({controls!r})].filter(e => e.checkVisibility({{visibilityProperty: true}})
                && !e.disabled && !(e.type === 'radio' && !e.checked)
                && e.tabIndex >= 0 && !e.closest('dialog:not([open])')
                && e.getBoundingClientRect().right > 0 && e.getBoundingClientRect().left < innerWidth).length"""
        )
        reached = 0
        for _ in range(4 * wanted):  # what scrolls takes the focus as well
            window.keyboard.press("Tab")
            state = window.evaluate(
                f"""(() => {{ const e = document.activeElement; if (!e || e === document.body) return null;
                    const again = !!e.dataset.reached; e.dataset.reached = 'yes'; const s = getComputedStyle(e);
                    const shown = s.opacity > 0 && (s.outlineStyle !== 'none' || s.boxShadow !== 'none');
                    return [again, e.matches({controls!r}), shown, e.outerHTML.slice(0, 120)]; }})()"""
            )
            if state is not None:
                again, control, shown, html = state
                assert shown, f"no visible focus: {html}"
                if again:
                    break
                reached += control
    assert wanted > 5 and reached >= wanted


@each_view
def test_search_finds_a_word_of_each_page(browser: Any, server: str, theme: str, width: int) -> None:
    with open_window(browser, server, theme, width, reduced_motion="reduce") as window:
        for page in ALL_PAGES:
            description = soup(page).find("meta", attrs={"name": "description"})["content"]
            word = max(re.findall(r"\b[a-z]+\b", description), key=len)  # whole words: no "ttention"
            window.goto(f"{FILES}search.html?q={word}")
            window.wait_for_selector(f"ul.search li a[href*='{page}']")  # they come one by one
            assert window.complaints + find_faults(window) == [], f"searching {word}"


@each_view
def test_search_finds_what_is_folded(browser: Any, server: str, theme: str, width: int) -> None:
    with open_window(browser, server, theme, width, reduced_motion="reduce") as window:
        window.goto(f"{FILES}search.html?q=leave_one_out_solution")
        window.wait_for_selector("ul.search li a")
        assert "attention-pooling.html" in window.locator("ul.search li a").first.get_attribute("href")
        assert window.complaints + find_faults(window) == []


@each_view
def test_a_lost_reader_is_led_home(browser: Any, server: str, theme: str, width: int) -> None:
    with open_window(browser, server, theme, width, reduced_motion="reduce") as window:
        window.goto(server + "notebooks/nowhere.html")
        assert window.locator("h1").all_inner_texts() == ["Page not found"]
        assert window.locator(".bd-article form input[name=q]").is_visible()
        assert window.locator(".bd-article a").get_attribute("href").endswith("/book/intro.html")
        for system in (theme, other(theme)):
            switch_theme(window, system)
            assert find_faults(window) == [], system
        assert [c for c in window.complaints if "404" not in c] == []  # that it is not there is all there is to say
        window.locator(".book-title a").first.evaluate("link => link.click()")
        window.wait_for_url(f"{server}book/intro.html")


def test_motion_is_reduced_on_request(browser: Any, server: str) -> None:
    with open_window(browser, server, reduced_motion="reduce") as window:
        open_page(window, FILES + ALL_PAGES[0])
        moving = "e => getComputedStyle(e).transitionDuration.split(', ').some(parseFloat)"
        assert window.evaluate(f"[...document.querySelectorAll('*')].filter({moving}).length") == 0
