"""The built pages in Chromium: wide and narrow, in the light and in the dark, with every foreign address blocked."""

from typing import Any

import pytest

from tests.site.checks import OUT, check_paper, check_width, find_faults, inspect
from tests.site.pages import CHAPTERS, FILES, PAGES, each_kind_by_day
from tests.site.windows import open_folds, open_page, open_window, switch_theme

# By day each page is loaded once, light and wide, and made narrow and dark; once a week the other way as well.
VIEWS = [("light", 1280), pytest.param("dark", 390, marks=pytest.mark.thorough)]
each_view = pytest.mark.parametrize(("theme", "width"), VIEWS)


def other(theme: str) -> str:
    return "dark" if theme == "light" else "light"


@each_view
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_complete_quiet_accessible_and_fits(
    browser: Any, server: str, page: str, theme: str, width: int
) -> None:
    read_as_file = (PAGES.index(page) + (width == 1280)) % 2  # half of the pages by day, the other half once a week
    with open_window(browser, server, theme, width, reduced_motion="reduce") as window:
        open_page(window, (FILES if read_as_file else server) + page)
        faults = inspect(window, page, theme, other(theme))
        if page in CHAPTERS and (width == 390 or page == CHAPTERS[0]):
            faults += check_paper(window)
    assert not faults, "\n".join([f"{page} from {width} px:", *faults])


@each_kind_by_day
def test_a_phone_with_large_letters_scrolls_only_down(browser: Any, server: str, page: str) -> None:
    with open_window(browser, server, width=390) as window:
        open_page(window, FILES + page)
        window.evaluate("document.documentElement.style.fontSize = '200%'")
        open_folds(window)
        assert check_width(window) == [] and window.evaluate(OUT) == []


@each_view
@pytest.mark.parametrize("page", ["index.html", CHAPTERS[0]])
def test_the_keyboard_reaches_every_control(browser: Any, server: str, page: str, theme: str, width: int) -> None:
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
def test_a_lost_reader_is_led_home(browser: Any, server: str, theme: str, width: int) -> None:
    root = server.removesuffix("/").rpartition("/")[0] + "/"
    with open_window(browser, root, theme, width, reduced_motion="reduce") as window:
        for site in (root, server):  # a domain of its own, and a name before the book
            window.goto(site + "notebooks/nowhere.html")
            assert window.locator(".bd-article a").evaluate("link => link.href") == site
            (style,) = window.evaluate("[...document.styleSheets].map(sheet => sheet.href).filter(Boolean)")
            assert style.startswith(f"{site}_static/")
        assert window.locator(".bd-article form input[name=q]").is_visible()
        for system in (theme, other(theme)):
            switch_theme(window, system)
            assert find_faults(window) == [], system
        assert [c for c in window.complaints if "404" not in c] == []  # that it is not there is all there is to say
