"""Panels of radio buttons on the built pages: what is chosen is what is seen, in any theme, width, and on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.site.checks import check_ground, check_width, photograph
from tests.site.pages import CHAPTERS, SITE, soup
from tests.site.windows import open_page, open_window, press_switch

TOUCHED = [page for page in CHAPTERS if soup(page).select(".touch")]
each_panel = pytest.mark.parametrize("page", TOUCHED)

# The parts that are in sight, and that should be: those of which each mark (a0, b2, ...) is chosen.
SEEN = """panel => {
  const chosen = new Set([...panel.querySelectorAll(':checked')].map(button => button.value));
  const marks = part => [...part.classList].filter(mark => /^[ab]\\d+$/.test(mark));
  const parts = [...panel.querySelectorAll('[class]')].filter(part => marks(part).length);
  const name = part => part.tagName + ' ' + part.getAttribute('class');
  const fits = part => marks(part).every(mark => chosen.has(mark));
  const wanted = part => fits(part) && (!part.matches('tr') || fits(part.closest('table')));
  return [parts.filter(part => part.checkVisibility()).map(name), parts.filter(wanted).map(name)];
}"""
NOW = "panel => panel.querySelector('.now').innerText.trim().replace(/\\s+/g, ' ')"


def open_panel(window: Any, page: str) -> None:
    """Open a page and all that is folded on it."""
    open_page(window, SITE.as_uri() + "/" + page)
    window.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")


def check_state(panel: Any, group: int, option: int) -> str:
    """What is said, if exactly the parts of the chosen options are seen."""
    button = panel.locator("fieldset").nth(group).locator("input").nth(option)
    assert button.is_checked()
    seen, wanted = panel.evaluate(SEEN)
    assert seen == wanted and any(part.startswith("P ") for part in seen)
    said = str(panel.evaluate(NOW))
    assert said and describe(panel.page, button) == said
    return said


def describe(window: Any, button: Any) -> str:
    """How a screen reader describes a button."""
    session = window.context.new_cdp_session(window)
    button.evaluate("button => window.looked_at = button")
    found = session.send("Runtime.evaluate", {"expression": "window.looked_at"})["result"]["objectId"]
    tree = session.send("Accessibility.getPartialAXTree", {"objectId": found, "fetchRelatives": False})
    (node,) = tree["nodes"]
    session.detach()
    assert node["role"]["value"] == "radio" and node["name"]["value"]
    return " ".join(node["description"]["value"].split())


@each_panel
@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_chosen_by_click_and_by_keyboard_is_what_is_seen(
    browser: Any, server: str, page: str, width: int
) -> None:
    with open_window(browser, server, width=width, reduced_motion="reduce") as window:
        open_panel(window, page)
        panel = window.locator(".touch").first
        said = {check_state(panel, 0, 0)}
        for group in (0, 1):
            labels = panel.locator("fieldset").nth(group).locator("label")
            for option in range(1, labels.count()):
                labels.nth(option).click()
                said.add(check_state(panel, group, option))
            for option in range(labels.count() - 2, -1, -1):
                window.keyboard.press("ArrowLeft")
                said.add(check_state(panel, group, option))
                focus = "([...document.querySelectorAll('label')].find(e => e.contains(document.activeElement)))"
                assert window.evaluate(f"getComputedStyle({focus}).outlineStyle") == "solid"
        options = panel.locator("fieldset").evaluate_all("all => all.map(e => e.querySelectorAll('input').length)")
        assert len(said) >= max(options)  # two networks may show the same of an output
        assert window.complaints == []


@each_panel
@pytest.mark.parametrize("width", [1280, 390])
def test_a_panel_fits_and_can_be_touched(browser: Any, server: str, page: str, width: int) -> None:
    with open_window(browser, server, width=width) as window:
        open_panel(window, page)
        panel = window.locator(".touch").first
        for button in range(panel.locator("input").count()):
            panel.locator("label").nth(button).click()
            inside, outside = panel.evaluate(
                "panel => [panel.parentElement.scrollWidth, panel.parentElement.clientWidth]"
            )
            assert inside <= outside and not check_width(window)
        boxes = [label.bounding_box() for label in panel.locator("label").all()]
        assert min(min(box["width"], box["height"]) for box in boxes) >= 24
        moving = "e => getComputedStyle(e).transitionDuration.split(', ').concat(getComputedStyle(e).animationName)"
        of_all = panel.evaluate(f"panel => [...panel.querySelectorAll('*')].flatMap({moving})")
        assert set(of_all) <= {"0s", "none"}


@each_panel
def test_a_panel_follows_the_switch_and_not_the_system(browser: Any, server: str, page: str) -> None:
    with open_window(browser, server) as window:
        open_panel(window, page)
        for system, theme in (("light", "dark"), ("dark", "light")):
            window.emulate_media(color_scheme=system)
            press_switch(window, theme)
            for part in (".touch .now", ".touch legend >> nth=0", ".touch table:visible >> nth=0"):
                picture = photograph(window.locator(part).first)
                assert not check_ground(picture, theme, f"system {system}, switch {theme}: {part}")
                assert np.ptp(np.asarray(picture).sum(axis=2)) > 450, f"{part}: ink and ground are too close"


@each_panel
def test_without_styles_all_states_are_readable(browser: Any, server: str, page: str) -> None:
    with open_window(browser, server) as window:
        open_panel(window, page)
        window.evaluate("document.querySelectorAll('style, link[rel=stylesheet]').forEach(sheet => sheet.remove())")
        panel = window.locator(".touch").first
        readable = panel.locator(".now p, caption, th, td").evaluate_all("all => all.map(e => e.checkVisibility())")
        assert len(readable) > 20 and all(readable)
        assert not any(drawing.is_visible() for drawing in panel.locator("svg").all())


@each_panel
def test_paper_shows_all_tables_and_no_button(browser: Any, server: str, page: str) -> None:
    with open_window(browser, server, width=794) as window:
        open_panel(window, page)
        window.emulate_media(media="print")
        panel = window.locator(".touch").first
        cells = panel.locator("caption, th, td").evaluate_all(
            "all => all.map(e => e.checkVisibility() && e.clientHeight > 5)"
        )
        assert len(cells) > 20 and all(cells)
        assert not any(part.is_visible() for part in panel.locator("input, svg, .now").all())
        assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
