"""A window that looks at the site, and notes what a reader never sees: errors, and requests to other places."""

import io
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tools.releasing.paper.pdf import BROWSERS


@contextmanager
def start_browser() -> Iterator[Any]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("Chromium is not installed: nothing was looked at")
    from playwright.sync_api import sync_playwright

    calm = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path, args=calm) as chromium:
        yield chromium


@contextmanager
def open_window(
    browser: Any, server: str, theme: str = "light", width: int = 1280, height: int = 900, **settings: Any
) -> Iterator[Any]:
    """A window that notes every complaint, and blocks and notes every request to another place."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, **settings)
    window = context.new_page()
    window.complaints = []

    def block(route: Any) -> None:
        window.complaints.append(f"asked {route.request.url}")
        route.abort()

    def fail(request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # what a reader leaves before it has come is not missed
            window.complaints.append(f"not loaded: {request.url}")

    def listen(message: Any) -> None:
        if message.type in ("error", "warning"):
            window.complaints.append(f"{message.type}: {message.text} ({message.location['url']})")

    window.route(re.compile(rf"^(?!file:|data:|blob:|{re.escape(server)})"), block)
    window.on("pageerror", lambda error: window.complaints.append(f"script error: {error}"))
    window.on("requestfailed", fail)
    window.on("console", listen)
    yield window
    context.close()


def wait_until(window: Any, script: str, argument: Any = None) -> None:
    """Wait until a script gives something true."""
    window.wait_for_function(script, arg=argument)


def ask(window: Any, site: str, query: str) -> list[str]:
    """Where each result of a search leads, in their order."""
    window.goto(f"{site}search.html?q={query}")
    told = "document.querySelector('.search-summary')?.textContent"
    wait_until(window, f"/Places|No section|not looked for/.test({told})")
    links: list[str] = window.locator("ul.search li > a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    return links


def open_page(window: Any, address: str) -> None:
    """A page as for a reader who has been everywhere: what is out of sight would have no layout yet."""
    window.goto(address)
    window.evaluate("document.documentElement.dataset.whole = ''")
    window.evaluate("document.fonts.ready")  # a page that is left before counts its fonts as not loaded


def switch_theme(window: Any, theme: str) -> None:
    """As when the reader's system goes dark."""
    window.emulate_media(color_scheme=theme)
    wait_until(window, f"document.documentElement.dataset.theme === '{theme}'")


def press_switch(window: Any, theme: str) -> None:
    """As a reader who presses the switch of the page until it names the theme; the system no longer counts."""
    for _ in ("auto", "light", "dark"):
        if window.evaluate("document.documentElement.dataset.mode") != theme:
            window.locator(".theme-switch-button").first.dispatch_event("click")
    wait_until(window, f"document.documentElement.dataset.theme === '{theme}'")


def photograph(part: Any) -> np.ndarray:
    """The pixels of a part of the page, `(height, width, 3)`."""
    return np.asarray(Image.open(io.BytesIO(part.screenshot())).convert("RGB")).astype(int)


def open_folds(window: Any) -> None:
    window.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
