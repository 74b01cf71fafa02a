"""How much a first visit loads, added up as Chromium asks for it and a server would send it."""

import gzip
import json
import re
from typing import Any

import pytest

from tests.site.pages import PAGES, each_kind_by_day, soup
from tests.site.windows import open_page, open_window

LIMIT = 500 * 1024
UNWANTED = ("fontawesome.js", "mathjax", "searchindex", "searchtools", "language_data", "togglebutton.js")


def load(browser: Any, server: str, page: str) -> dict[str, int]:
    """The files of a first visit of a page, which is read to its end, and what they weigh when compressed."""
    with open_window(browser, server, reduced_motion="reduce") as window:
        answers: list[Any] = []
        window.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108 (playwright marks it)
        open_page(window, server + page)
        for picture in window.locator("img").all():
            picture.evaluate("image => { image.loading = 'eager'; return image.decode() }")
        window.wait_for_load_state("networkidle")
        sent = [answer for answer in answers if not answer.url.startswith("data:")]
        return {answer.url.removeprefix(server): len(gzip.compress(answer.body())) for answer in sent}


@each_kind_by_day
def test_a_first_visit_is_light(browser: Any, server: str, page: str) -> None:
    loaded = load(browser, server, page)
    table = [f"{size / 1024:7.1f} KiB {name}" for name, size in sorted(loaded.items(), key=lambda item: -item[1])]
    assert len(loaded) > 10, "what the page loads was not seen"
    assert sum(loaded.values()) < LIMIT, "\n".join(table)
    assert not [name for name in loaded if any(part in name for part in UNWANTED)], "a script that no page uses"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_few_elements_and_none_round_code_without_a_colour(page: str) -> None:
    """A slow phone lays out each."""
    tags = soup(page).find_all(True)
    assert len(tags) < 5000
    assert not soup(page).select(".highlight :is(.n, .p, .o, .w)")


@each_kind_by_day
def test_no_script_lays_a_page_out_while_it_comes(browser: Any, server: str, page: str) -> None:
    """On a slow phone nothing takes longer. Chromium tells who asked for it; what is dark is so from the start."""
    with open_window(browser, server, "dark", 390) as window:
        browser.start_tracing(
            page=window, categories=["devtools.timeline", "disabled-by-default-devtools.timeline.stack"]
        )
        window.goto(server + page, wait_until="networkidle")
        events = json.loads(browser.stop_tracing())["traceEvents"]
        layouts = [event["args"]["beginData"] for event in events if event["name"] == "Layout"]
        asked = [place["url"] for layout in layouts for place in layout.get("stackTrace", [])[:1]]
        assert layouts and not [url for url in asked if url.startswith(server)]
        window.route(re.compile(r"\.js(\?|$)"), lambda route: route.abort())
        window.reload()
        assert window.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.thorough
@pytest.mark.parametrize("width", [412, 1350])
@pytest.mark.parametrize("page", ["index.html", "notebooks/multi-head-attention.html"])
def test_no_text_moves_while_fonts_and_scripts_come(browser: Any, server: str, page: str, width: int) -> None:
    """On the line of a phone; Chromium adds up which part of the window moved, and how far."""
    with open_window(browser, server, width=width) as window:
        phone = {"offline": False, "latency": 150, "downloadThroughput": 200 * 1024, "uploadThroughput": 90 * 1024}
        window.context.new_cdp_session(window).send("Network.emulateNetworkConditions", phone)
        window.add_init_script(
            """window.shifts = []; new PerformanceObserver(list => shifts.push(...list.getEntries()
            .map(entry => [entry.value, ...entry.sources.map(source => source.node?.textContent.slice(0, 40))])))
            .observe({ type: "layout-shift", buffered: true })"""
        )
        window.goto(server + page, wait_until="networkidle")
        window.wait_for_timeout(300)
        shifts = window.evaluate("shifts")
        assert sum(shift[0] for shift in shifts) < 0.03, shifts
