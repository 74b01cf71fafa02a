"""What a browser keeps may be anything, and it may keep nothing: no page stops for that."""

import json
from typing import Any

import pytest

from tests.site.pages import CHAPTERS
from tests.site.windows import ask, open_page, open_window, press_switch

DENIED = """for (const kind of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, kind, {configurable: true, get() { throw new DOMException("no", "SecurityError") }})"""
FULL = "Storage.prototype.setItem = () => { throw new DOMException('no', 'QuotaExceededError'); }"
FOREIGN = ["5", "{}", "null", "[null, 5]", "no JSON", json.dumps([f"{n}.0.0" for n in range(400)])]
# Whatever is asked for before it is written, by whoever asks, has this value.
FIND = """const {{ getItem }} = Storage.prototype;
Storage.prototype.getItem = function (name) {{ return getItem.call(this, name) ?? {} }}"""
KINDS = {"denied": DENIED, "full": FULL, **{value[:9]: FIND.format(json.dumps(value)) for value in FOREIGN}}


@pytest.mark.parametrize("kind", KINDS)
def test_no_page_stops_whatever_a_browser_keeps(kind: str, browser: Any, server: str) -> None:
    with open_window(browser, server, reduced_motion="reduce") as window:
        window.add_init_script(KINDS[kind])
        assert len(ask(window, server, "softmax")) > 20
        for theme in ("dark", "light"):
            press_switch(window, theme)
        open_page(window, server + "index.html")
        assert f"0 of {len(CHAPTERS)} chapters read" in window.locator(".progress-read").inner_text()
        game = window.locator(".play").first
        game.locator("button.tile").first.click()
        assert "Found: " not in game.inner_text() or "Found: 1 of" in game.inner_text()
        open_page(window, server + "notebooks/self-attention.html")
        window.locator("input[type=text]").first.fill("four")
        window.locator(".cover-switch").press("Enter")
        assert "four" in window.locator("details.guesses").text_content()
        assert [said for said in window.complaints if "Resetting to auto" not in said] == []


def test_each_book_of_a_host_keeps_its_own(browser: Any, server: str) -> None:
    with open_window(browser, server) as window:
        window.add_init_script("window.kept = localStorage")
        open_page(window, server + "notebooks/self-attention.html")
        window.locator("input[type=text]").first.fill("four")
        names = window.evaluate("Object.keys(kept)")
        path = "/" + server.split("/", 3)[3]
        assert [name for name in names if "guess" in name] == [name for name in names if name.startswith(path)] != []
