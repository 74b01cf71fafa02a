"""Letters of twice the size on a phone: nothing runs out of the page, and the bar is as high as what is in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.site.pages import PAGES, SITE
from tests.site.windows import open_page, open_window

TWICE = "document.documentElement.style.fontSize = '200%'"
OUT = """all => all.filter(e => e.checkVisibility() && e.getBoundingClientRect().bottom
  > document.querySelector('.bd-header-article').getBoundingClientRect().bottom + 1).map(e => e.className)"""


@pytest.mark.parametrize("page", PAGES)
def test_a_phone_with_large_letters_scrolls_only_down(browser: Any, server: str, page: str) -> None:
    with open_window(browser, server, width=390, reduced_motion="reduce") as window:
        open_page(window, SITE.as_uri() + "/" + page)
        window.evaluate(TWICE)
        window.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
        assert window.evaluate("document.documentElement.scrollWidth") <= 390
        assert window.locator(".bd-header-article :is(button, a)").evaluate_all(OUT) == []
        cut = "all => all.filter(e => e.getBoundingClientRect().right > 391).map(e => e.textContent.trim())"
        assert window.locator(".prev-next-footer :is(p, a)").evaluate_all(cut) == []
