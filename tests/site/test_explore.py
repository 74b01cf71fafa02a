"""Panels of radio buttons on the built pages: what is chosen is what is seen, in any theme, width, and on paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.site.checks import check_picture, check_width, resize
from tests.site.pages import CHAPTERS, FILES, SITE
from tests.site.windows import open_folds, open_page, open_window, press_switch

# By day one panel stands for all: the same styles and the same function draw each of them.
FIRST, *REST = [page for page in CHAPTERS if 'class="touch"' in (SITE / page).read_text("utf-8")]
weekly = pytest.mark.thorough
each_panel = pytest.mark.parametrize("page", [FIRST, *(pytest.param(page, marks=weekly) for page in REST)])

# The parts that are in sight, and that should be: those of which each mark (a0, b2, ...) is chosen.
SEEN = """panel => {
  const chosen = new Set([...panel.querySelectorAll(':checked')].map(button => button.value));
  const marks = part => [...part.classList].filter(mark => /^[ab]\\d+$/.test(mark));
  const parts = [...panel.querySelectorAll('[class]')].filter(part => marks(part).length);
  const name = part => part.tagName + ' ' + part.getAttribute('class');
  const fits = part => marks(part).every(mark => chosen.has(mark));
  const wanted = part => fits(part) && (!part.matches('tr') || fits(part.closest('table')));
  const seen = part => part.checkVisibility({ visibilityProperty: true });
  return [parts.filter(seen).map(name), parts.filter(wanted).map(name)];
}"""
# The heights that a panel has in all states.
HEIGHTS = """panel => {
  const [first, second] = [...panel.querySelectorAll('fieldset')].map(group => [...group.querySelectorAll('input')]);
  const heights = new Set();
  for (const one of first) for (const other of second) {
    one.checked = other.checked = true;
    heights.add(Math.round(10 * panel.getBoundingClientRect().height) / 10);
  }
  return [...heights];
}"""


@contextmanager
def open_panel(browser: Any, server: str, page: str, **settings: Any) -> Iterator[tuple[Any, Any]]:
    """A window with all that is folded on a page open, and the first panel, also where a script has its own."""
    with open_window(browser, server, **settings) as window:
        open_page(window, FILES + page)
        window.evaluate("document.querySelectorAll('.touch, .play').forEach(p => { p.hidden = p.matches('.play'); })")
        window.evaluate("document.querySelectorAll('.touch noscript').forEach(p => { p.outerHTML = p.textContent; })")
        open_folds(window)
        yield window, window.locator(".touch").first


def check_state(panel: Any, group: int, option: int) -> None:
    """Exactly the parts of the chosen options are seen, and something is said of them."""
    assert panel.locator("fieldset").nth(group).locator("input").nth(option).is_checked()
    seen, wanted = panel.evaluate(SEEN)
    assert seen == wanted and any(part.startswith("P ") for part in seen)


@each_panel
@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=weekly)])
def test_what_is_chosen_by_mouse_or_keyboard_is_seen(browser: Any, server: str, page: str, width: int) -> None:
    with open_panel(browser, server, page, width=width, reduced_motion="reduce") as (window, panel):
        for group in (1, 0):
            panel.locator("fieldset").nth(group).locator("label").first.click()
        check_state(panel, 0, 0)
        for group in (0, 1):
            labels = panel.locator("fieldset").nth(group).locator("label")
            labels.last.click()
            check_state(panel, group, labels.count() - 1)
            for option in range(labels.count() - 2, -1, -1):
                window.keyboard.press("ArrowLeft")
                check_state(panel, group, option)
        assert window.complaints == []


@each_panel
def test_a_panel_fits_can_be_touched_and_no_choice_moves_the_page(browser: Any, server: str, page: str) -> None:
    with open_panel(browser, server, page) as (window, panel):
        for width in (1440, 390):
            resize(window, width)
            heights = panel.evaluate(HEIGHTS)
            assert len(heights) == 1
            for option in range(panel.locator("fieldset").first.locator("input").count()):
                panel.locator(f"input[value=a{option}]").check()
                assert panel.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")
                assert not check_width(window)
            boxes = [label.bounding_box() for label in panel.locator("label").all()]
            assert min(min(box["width"], box["height"]) for box in boxes) >= 24


@each_panel
def test_forced_colours_leave_what_is_chosen_marked(browser: Any, server: str, page: str) -> None:
    with open_panel(browser, server, page, theme="dark", forced_colors="active") as (_, panel):
        panel.locator("fieldset").nth(1).locator("input").nth(1).check()
        for label in panel.locator("label").all():
            around = "e => [getComputedStyle(e).outlineStyle, getComputedStyle(e).outlineWidth]"
            assert (label.evaluate(around) == ["solid", "2px"]) == label.locator("input").is_checked()


@each_panel
def test_a_panel_and_a_figure_follow_the_switch_and_not_the_system(browser: Any, server: str, page: str) -> None:
    with open_panel(browser, server, page) as (window, _):
        for system, theme in (("light", "dark"), ("dark", "light")):
            window.emulate_media(color_scheme=system)
            press_switch(window, theme)
            for part in (".cell_output img", ".touch .now", ".touch table:visible"):
                assert not check_picture(window.locator(part).first, theme, f"system {system}, switch {theme}: {part}")


@each_panel
def test_paper_and_a_page_without_styles_show_all_states(browser: Any, server: str, page: str) -> None:
    with open_panel(browser, server, page, width=794) as (window, panel):
        window.emulate_media(media="print")
        shown = "all => all.map(e => e.checkVisibility() && e.clientHeight > 5)"
        cells = panel.locator("caption, th, td").evaluate_all(shown)
        assert len(cells) > 20 and all(cells)
        window.emulate_media(media="screen")
        window.evaluate("document.querySelectorAll('style, link[rel=stylesheet]').forEach(sheet => sheet.remove())")
        readable = panel.locator(".now p, caption, th, td").evaluate_all("all => all.map(e => e.checkVisibility())")
        assert len(readable) > 20 and all(readable)
