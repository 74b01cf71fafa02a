"""The built pages in Chromium: wide and narrow, in the light and in the dark, with every foreign address blocked."""

from __future__ import annotations

import functools
import io
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from PIL import Image

from tests.site.test_pages import CHAPTERS, PAGES, SITE, soup
from tools.notebooks import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: no page was looked at")

VIEWS = [(theme, width) for theme in ("light", "dark") for width in (1280, 390)]
PREFIX = "/" + yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"].rpartition("/")[2]
TWO_VIEWS = pytest.mark.parametrize("view", VIEWS[::3], indirect=True, ids=["light-1280", "dark-390"])
READY = "!window.MathJax || (MathJax.startup && !document.querySelector('.math:not(:has(mjx-container))'))"


class Pages(SimpleHTTPRequestHandler):
    """Serves the site as GitHub Pages does: under the name of the repository, with its page for what is not there."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix(PREFIX))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write((SITE / "404.html").read_bytes())

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=str(SITE))) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}{PREFIX}/"
        httpd.shutdown()


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
def view(browser: Any, server: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A window that notes every complaint, and blocks and notes every request to another place."""
    theme, width = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    window = context.new_page()
    window.complaints = []

    def guard(route: Any) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:", server)):
            route.continue_()
        else:
            window.complaints.append(f"asked {route.request.url}")
            route.abort()

    window.route("**/*", guard)
    window.on("pageerror", lambda error: window.complaints.append(f"script error: {error}"))
    window.on("requestfailed", lambda request: window.complaints.append(f"not loaded: {request.url}"))
    window.on("console", lambda m: window.complaints.append(m.text) if m.type in ("error", "warning") else None)
    window.theme, window.width = theme, width
    yield window
    context.close()


def open_page(window: Any, page: str, base: str = SITE.as_uri() + "/") -> None:
    window.goto(base + page)
    window.wait_for_function(READY)
    window.evaluate("document.fonts.ready")  # a page that is left before counts its fonts as not loaded


def violations(window: Any) -> list[str]:
    """What axe-core finds, of any impact."""
    found = Axe().run(window).response["violations"]
    return [f"{v['id']} ({v['impact']}): {node['html'][:200]}" for v in found for node in v["nodes"]]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_complete_quiet_accessible_and_fits(view: Any, page: str) -> None:
    open_page(view, page)
    assert view.complaints == []
    assert view.locator("mjx-merror").count() == 0
    formulas = view.locator(".math").count()
    assert view.locator("mjx-container:has(mjx-assistive-mml math)").count() == formulas
    assert formulas > 0 or page not in CHAPTERS
    assert view.evaluate("document.documentElement.scrollWidth") <= view.width
    boxes = "input[type=search], .search-button-field, .search-button"
    seen = [box for box in view.locator(boxes).all() if box.is_visible()]
    assert len(seen) == 1, "one search box, or one button that opens it"
    view.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
    assert violations(view) == []
    assert view.evaluate("document.documentElement.scrollWidth") <= view.width


@pytest.mark.parametrize("view", VIEWS[:1], indirect=True, ids=["http"])
def test_pages_work_over_http(view: Any, server: str) -> None:
    for page in PAGES:
        open_page(view, page, server)
        assert view.complaints == [] and view.locator("mjx-merror").count() == 0


@pytest.mark.parametrize("page", CHAPTERS)
def test_figures_follow_the_theme_on_an_opaque_ground(view: Any, page: str) -> None:
    open_page(view, page)
    ground = (255, 255, 255) if view.theme == "light" else (18, 18, 18)
    for figure in view.locator(".cell_output img").all():
        figure.scroll_into_view_if_needed()
        picture = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
        assert picture.getpixel((3, 3)) == ground
        lightness = [sum(colour) for _, colour in picture.getcolors(1 << 24)]
        assert max(lightness) - min(lightness) > 450, "ink and ground are too close"


@pytest.mark.parametrize("page", CHAPTERS)
def test_printed_output_stands_on_the_ground_of_the_page(view: Any, page: str) -> None:
    open_page(view, page)
    output = view.locator(".cell_output .output.stream").first
    output.scroll_into_view_if_needed()
    ground = (255, 255, 255) if view.theme == "light" else (18, 18, 18)
    assert Image.open(io.BytesIO(output.screenshot())).convert("RGB").getpixel((3, 3)) == ground


def test_figures_follow_the_switch_and_not_the_system(view: Any) -> None:
    open_page(view, CHAPTERS[0])
    other, ground = ("dark", (18, 18, 18)) if view.theme == "light" else ("light", (255, 255, 255))
    view.evaluate(f"document.documentElement.dataset.theme = '{other}'")
    figure = view.locator(".cell_output img").first
    figure.scroll_into_view_if_needed()
    assert Image.open(io.BytesIO(figure.screenshot())).convert("RGB").getpixel((3, 3)) == ground


@TWO_VIEWS
@pytest.mark.parametrize("page", CHAPTERS)
def test_a_solution_opens_by_the_keyboard(view: Any, page: str) -> None:
    open_page(view, page)
    solution = view.locator("details.solution").first
    cell = solution.locator(".cell").first
    assert not cell.is_visible()
    solution.locator("summary").focus()
    view.keyboard.press("Enter")
    assert cell.is_visible()


@TWO_VIEWS
@pytest.mark.parametrize("page", ["book/intro.html", CHAPTERS[0]])
def test_the_keyboard_reaches_every_control_with_a_visible_focus(view: Any, page: str) -> None:
    """Tab through the whole page: each link, button and summary in sight gets the focus, and shows it."""
    open_page(view, page)
    controls = "a[href], button, summary, input:not([type=hidden]), label[tabindex]"
    wanted = view.evaluate(
        f"""[...document.querySelectorAll({controls!r})].filter(e => e.checkVisibility({{visibilityProperty: true}})
            && !e.disabled && e.tabIndex >= 0 && !e.closest('dialog:not([open])')
            && e.getBoundingClientRect().right > 0 && e.getBoundingClientRect().left < innerWidth).length"""
    )
    reached = 0
    for _ in range(4 * wanted):  # what scrolls takes the focus as well
        view.keyboard.press("Tab")
        state = view.evaluate(
            f"""(() => {{ const e = document.activeElement; if (!e || e === document.body) return null;
                const fresh = !e.dataset.reached; e.dataset.reached = 'yes'; const s = getComputedStyle(e);
                const shown = s.opacity > 0 && (s.outlineStyle !== 'none' || s.boxShadow !== 'none');
                return [fresh && e.matches({controls!r}), shown,
                        e.outerHTML.slice(0, 120)]; }})()"""
        )
        if state is not None:
            assert state[1], f"no visible focus: {state[2]}"
            reached += state[0]
    assert wanted > 5 and reached >= wanted


@TWO_VIEWS
@pytest.mark.parametrize("page", PAGES)
def test_search_finds_a_word_of_each_page(view: Any, page: str) -> None:
    description = soup(page).find("meta", attrs={"name": "description"})["content"]
    word = max(re.findall(r"\b[a-z]+\b", description), key=len)  # whole words: no "ttention"
    view.goto((SITE / "search.html").as_uri() + f"?q={word}")
    view.wait_for_selector(f"ul.search li a[href*='{page}']", timeout=10_000)  # they come one by one
    assert view.complaints == [] and violations(view) == []


def test_search_finds_what_is_folded(view: Any) -> None:
    view.goto((SITE / "search.html").as_uri() + "?q=masked_pooling_solution")
    view.wait_for_selector("ul.search li a")
    assert "attention-pooling.html" in view.locator("ul.search li a").first.get_attribute("href")


def test_a_lost_reader_is_led_home(view: Any, server: str) -> None:
    view.goto(server + "notebooks/nowhere.html")
    assert "Page not found" in view.locator(".bd-article h1").inner_text() and violations(view) == []
    assert [c for c in view.complaints if "404" not in c] == []  # that it is not there is all there is to say
    view.locator(".book-title a").first.evaluate("link => link.click()")
    view.wait_for_url("**/book/intro.html")


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_prints_with_its_solutions(browser: Any, page: str) -> None:
    context = browser.new_context(viewport={"width": 794, "height": 1123})
    window = context.new_page()
    open_page(window, page)
    window.emulate_media(media="print")
    solutions = window.locator("details.solution .cell").all()
    assert solutions and all(cell.bounding_box()["height"] > 10 for cell in solutions)
    for furniture in (".bd-sidebar-primary", ".bd-sidebar-secondary", ".prev-next-footer", ".search-button-field"):
        assert not any(part.is_visible() for part in window.locator(furniture).all()), furniture
    context.close()


def test_motion_is_reduced_on_request(browser: Any) -> None:
    context = browser.new_context(reduced_motion="reduce")
    window = context.new_page()
    open_page(window, PAGES[0])
    moving = "e => getComputedStyle(e).transitionDuration.split(', ').some(parseFloat)"
    assert window.evaluate(f"[...document.querySelectorAll('*')].filter({moving}).length") == 0
    context.close()
