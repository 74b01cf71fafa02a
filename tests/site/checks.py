"""What is looked at on one open page. Each check returns the faults it finds; `inspect` makes them all in one visit."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from tests.site.axe import COLOURS, find_faults
from tests.site.layout import find_cut
from tests.site.pages import ALL_CHAPTERS
from tests.site.windows import switch_theme

GROUND = {"light": (255, 255, 255), "dark": (18, 18, 18)}
FURNITURE = (".bd-sidebar-primary", ".bd-sidebar-secondary", ".prev-next-footer", ".search-button-field")


def check_formulas(window: Any, needed: bool) -> list[str]:
    """Whether each formula was set when the page was built, its numbers stand at the right, and no TeX is left."""
    formulas = window.locator(".math").count()
    set_ = window.locator(".math:has(math > *)").count()
    left = window.locator(".math").evaluate_all("all => all.map(e => e.innerText).filter(t => t.includes('\\\\'))")
    faults = [f"{formulas} formulas, {set_} of them set"] * (set_ != formulas)
    faults += [f"a formula shows TeX: {text}" for text in left]
    astray = window.locator("div.math > .number").evaluate_all(
        """all => all.filter(e => { const box = e.getBoundingClientRect(), formula = e.parentElement;
          return !box.width || (formula.scrollWidth <= formula.clientWidth
            && Math.abs(box.right - formula.getBoundingClientRect().right) > 2); }).map(e => e.textContent)"""
    )
    return (
        faults + [f"number {text} is not at the right" for text in astray] + ["no formula"] * (needed and formulas == 0)
    )


def check_width(window: Any) -> list[str]:
    width = window.evaluate("document.documentElement.scrollWidth")
    return [f"scrolls sideways: {width} px wide"] * (width > window.viewport_size["width"])


def check_search_box(window: Any) -> list[str]:
    boxes = window.locator("input[type=search], .search-button-field, .search-button").all()
    seen = sum(box.is_visible() for box in boxes)
    return [f"{seen} search boxes or buttons that open one, not 1"] * (seen != 1)


def check_solution(window: Any) -> list[str]:
    """Whether the first solution is folded, and opens by the keyboard."""
    solution = window.locator("details.solution").first
    cell = solution.locator(".cell").first
    faults = ["a solution is seen before it is opened"] * cell.is_visible()
    solution.locator("summary").focus()
    window.keyboard.press("Enter")
    return faults + ["a solution does not open by the keyboard"] * (not cell.is_visible())


def photograph(part: Any) -> Image.Image:
    return Image.open(io.BytesIO(part.screenshot())).convert("RGB")


def check_ground(picture: Image.Image, theme: str, name: str) -> list[str]:
    ground = picture.getpixel((3, 3))
    return [f"{name} stands on {ground}, not on {GROUND[theme]}"] * (ground != GROUND[theme])


def check_figures(window: Any, theme: str) -> list[str]:
    """Whether each figure has the opaque ground of the theme, and ink that can be seen on it."""
    faults = []
    for figure in window.locator(".cell_output img").all():
        figure.evaluate("image => { image.loading = 'eager'; return image.decode().catch(() => 0) }")
        picture, name = photograph(figure), f"figure {figure.get_attribute('src')}"
        faults += check_ground(picture, theme, name)
        faults += [f"{name}: ink and ground are too close"] * bool(np.ptp(np.asarray(picture).sum(axis=2)) <= 450)
    return faults


def check_printed_output(window: Any, theme: str) -> list[str]:
    return check_ground(photograph(window.locator(".cell_output .output.stream").first), theme, "printed output")


def check_paper(window: Any) -> list[str]:
    """Whether paper shows the solutions, folded or not, and nothing that only a screen needs."""
    window.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = false)")
    window.set_viewport_size({"width": 794, "height": 1123})
    window.emulate_media(media="print")
    # What a fold hides has a height all the same.
    shown = window.locator("details.solution .cell").evaluate_all(
        "all => all.map(e => e.checkVisibility() && e.clientHeight > 10)"
    )
    hidden = shown.count(False)
    faults = [f"on paper: {hidden} of {len(shown)} cells in solutions are not seen"] * (hidden > 0 or not shown)
    left = [part for part in FURNITURE if any(piece.is_visible() for piece in window.locator(part).all())]
    window.emulate_media(media="screen")
    return faults + [f"on paper: {part} is seen" for part in left]


def inspect(window: Any, page: str, themes: tuple[str, str]) -> list[str]:
    """Look at an open page in the theme in which it was loaded, then in the other."""
    chapter = page in ALL_CHAPTERS
    faults = check_formulas(window, needed=chapter) + check_search_box(window) + check_width(window)
    if chapter:
        faults += check_solution(window)
    window.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
    faults += check_width(window)
    width = window.viewport_size["width"]
    for other in (1440, 1280) if width == 1280 else (768, 320, width):
        faults += find_cut(window, other)
    for theme, rules in zip(themes, (None, COLOURS), strict=True):
        switch_theme(window, theme)
        seen = find_faults(window, rules)
        if chapter:
            seen += check_figures(window, theme) + check_printed_output(window, theme)
        faults += [f"{theme}: {fault}" for fault in seen]
    return faults + window.complaints
