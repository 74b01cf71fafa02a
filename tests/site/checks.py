"""What is looked at on one open page. Each check returns the faults it finds; `inspect` makes them all in one visit."""

from typing import Any

import numpy as np

from tests.site.axe import COLOURS, find_faults
from tests.site.layout import find_cut, resize
from tests.site.pages import CHAPTERS
from tests.site.windows import open_folds, photograph, switch_theme

GROUND = {"light": (255, 255, 255), "dark": (18, 18, 18)}
FURNITURE = [".bd-sidebar-primary", ".bd-sidebar-secondary", ".prev-next-footer", ".search-button-field"]
FURNITURE += [".guess-field", ".cover-switch"]
FOLDED = {  # and whether each chapter has some
    "details.solution .cell": True,
    "details.check .cell": False,
    "details.guess .cell_output": True,
    "details.hide pre": False,
}


def check_formulas(window: Any, needed: bool) -> list[str]:
    """Whether each formula was set when the page was built, its numbers stand at the right, and no TeX is left."""
    formulas = window.locator(".math").count()
    set_ = window.locator(".math:has(math > *)").count()
    left = window.locator(".math").evaluate_all("all => all.map(e => e.innerText).filter(t => t.includes('\\\\'))")
    faults = [f"{formulas} formulas, {set_} of them set"] * (set_ != formulas) + ["no formula"] * (needed > formulas)
    faults += [f"a formula shows TeX: {text}" for text in left]
    astray = window.locator("div.math > .number").evaluate_all(
        """all => all.filter(e => { const box = e.getBoundingClientRect(), formula = e.parentElement;
          return !box.width || (formula.scrollWidth <= formula.clientWidth
            && Math.abs(box.right - formula.getBoundingClientRect().right) > 2); }).map(e => e.textContent)"""
    )
    return faults + [f"number {text} is not at the right" for text in astray]


def check_width(window: Any) -> list[str]:
    width = window.evaluate("document.documentElement.scrollWidth")
    return [f"scrolls sideways: {width} px wide"] * (width > window.viewport_size["width"])


def check_top(window: Any) -> list[str]:
    """Whether the name of the book and one way to search are in sight, and whether anything moves."""
    faults = []
    for part in ("input[type=search], .search-button-field, .search-button", ".book-title a"):
        seen = sum(each.is_visible() for each in window.locator(part).all())
        faults += [f"{seen} of {part} in sight, not 1"] * (seen != 1)
    moving = "e => getComputedStyle(e).transitionDuration.split(', ').some(parseFloat)"
    moves = window.evaluate(f"[...document.querySelectorAll('*')].filter({moving}).length")
    return faults + [f"{moves} elements move for a reader who asked for rest"] * (moves > 0)


def check_solution(window: Any) -> list[str]:
    """Whether the first solution is folded, and opens by the keyboard."""
    solution = window.locator("details.solution").first
    cell = solution.locator(".cell").first
    faults = ["a solution is seen before it is opened"] * cell.is_visible()
    solution.locator("summary").focus()
    window.keyboard.press("Enter")
    return faults + ["a solution does not open by the keyboard"] * (not cell.is_visible())


def check_picture(part: Any, theme: str, name: str) -> list[str]:
    """Whether a part of the page has the opaque ground of the theme, and ink that can be seen on it."""
    pixels = photograph(part)[2:-2, 2:-2]  # at its edge the page shines through
    ground = tuple(map(int, pixels[1, 1]))
    faults = [f"{name} stands on {ground}, not on {GROUND[theme]}"] * (ground != GROUND[theme])
    return faults + [f"{name}: ink and ground are too close"] * bool(np.ptp(pixels.sum(axis=2)) <= 450)


def check_figures(window: Any, theme: str) -> list[str]:
    """Whether each figure can be seen, in its own proportions."""
    faults = []
    for figure in window.locator(".cell_output img").all():
        natural, shown = figure.evaluate(
            """image => { image.loading = 'eager';
            return image.decode().catch(() => 0).then(() => [image.naturalWidth / image.naturalHeight,
              image.width / image.height]) }"""
        )
        name = f"figure {figure.get_attribute('src')}"
        faults += check_picture(figure, theme, name) + [f"{name} is stretched"] * (abs(shown / natural - 1) > 0.02)
    return faults


def check_paper(window: Any) -> list[str]:
    """Whether paper shows what is folded, open or not, and nothing that only a screen needs."""
    window.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = false)")
    window.set_viewport_size({"width": 794, "height": 1123})
    window.emulate_media(media="print")
    faults = []
    for part, needed in FOLDED.items():  # what a fold hides has a height all the same
        seen = window.locator(part).evaluate_all("all => all.map(e => e.checkVisibility() && e.clientHeight > 5)")
        hidden = seen.count(False)
        faults += [f"on paper: {hidden} of {len(seen)} {part} are not seen"] * (hidden > 0 or needed > len(seen))
    seen = "part => [...document.querySelectorAll(part)].some(e => e.checkVisibility())"
    left = window.evaluate(f"parts => parts.filter({seen})", FURNITURE)
    window.emulate_media(media="screen")
    return faults + [f"on paper: {part} is seen" for part in left]


def inspect(window: Any, page: str, theme: str, other: str) -> list[str]:
    """Look at an open page in the theme in which it was loaded, at each width, then in the other theme.

    By day, which begins at 1280, figures are photographed in one chapter; once a week, which begins at 390, in all.
    """
    chapter = page in CHAPTERS
    width = window.viewport_size["width"]
    faults = check_formulas(window, needed=chapter) + check_top(window) + check_width(window)
    if chapter:
        faults += check_solution(window)
    open_folds(window)
    faults += check_width(window) + [f"{theme}: {fault}" for fault in find_faults(window)]
    for narrower in sorted({width, 390, 320} if width > 390 else {width, 768, 320}, reverse=True):
        faults += find_cut(window, narrower) + check_width(window)
    resize(window, 390)
    faults += check_top(window)
    switch_theme(window, other)
    seen = find_faults(window, COLOURS)
    if chapter and (width == 390 or page == CHAPTERS[0]):
        printed = window.locator(".cell_output .output.stream").first
        seen += check_figures(window, other) + check_picture(printed, other, "printed output")
    return faults + [f"{other}: {fault}" for fault in seen] + window.complaints
