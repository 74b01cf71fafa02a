"""The built pages in Chromium: on a wide and a narrow screen, in the light and in the dark."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from tests.site.test_pages import CHAPTERS, PAGES, SITE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: no page was looked at")

VIEWS = [(theme, width) for theme in ("light", "dark") for width in (1280, 390)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        yield chromium
        chromium.close()


@pytest.fixture(params=VIEWS, ids=lambda view: f"{view[0]}-{view[1]}")
def view(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A window that notes every complaint and every request that leaves the folder."""
    theme, width = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    window = context.new_page()
    window.complaints = []
    window.on("pageerror", lambda error: window.complaints.append(f"script error: {error}"))
    window.on("requestfailed", lambda request: window.complaints.append(f"not loaded: {request.url}"))
    window.on("console", lambda m: window.complaints.append(m.text) if m.type in ("error", "warning") else None)
    at_home = ("file:", "data:")
    window.on("request", lambda r: None if r.url.startswith(at_home) else window.complaints.append(f"asked {r.url}"))
    window.theme = theme
    yield window
    context.close()


def open_page(window: Any, page: str) -> None:
    window.goto((SITE / page).as_uri())
    window.wait_for_function("!window.MathJax || (MathJax.startup && MathJax.startup.promise)")
    window.evaluate("window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => null) : null")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_complete_quiet_and_fits(view: Any, page: str) -> None:
    open_page(view, page)
    assert view.complaints == []
    assert view.locator("mjx-merror").count() == 0
    formulas = view.locator(".math").count()
    assert view.locator("mjx-container").count() >= formulas
    if page in CHAPTERS:
        assert formulas > 0
    assert view.evaluate("document.documentElement.scrollWidth") <= view.viewport_size["width"]
    boxes = "input[type=search], .search-button-field, .search-button"
    seen = [box for box in view.locator(boxes).all() if box.is_visible()]
    assert len(seen) == 1, "one search box, or one button that opens it"


@pytest.mark.parametrize("page", CHAPTERS)
def test_figures_follow_the_theme_on_an_opaque_ground(view: Any, page: str) -> None:
    open_page(view, page)
    ground = (255, 255, 255) if view.theme == "light" else (18, 18, 18)
    for figure in view.locator(".cell_output img").all():
        figure.scroll_into_view_if_needed()
        picture = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
        assert picture.getpixel((3, 3)) == ground
        lightest_and_darkest = [sum(colour) for _, colour in picture.getcolors(1 << 24)]
        assert max(lightest_and_darkest) - min(lightest_and_darkest) > 450, "ink and ground are too close"


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_solution_opens_by_the_keyboard(view: Any, page: str) -> None:
    open_page(view, page)
    solution = view.locator("details.solution").first
    cell = solution.locator(".cell").first
    assert not cell.is_visible()
    solution.locator("summary").focus()
    view.keyboard.press("Enter")
    assert cell.is_visible()


def test_search_finds_a_word_of_a_chapter(view: Any) -> None:
    view.goto((SITE / "search.html").as_uri() + "?q=saturated")
    view.wait_for_selector("ul.search li a")
    assert "attention-pooling.html" in view.locator("ul.search li a").first.get_attribute("href")
