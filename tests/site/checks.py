"""What is looked at on one open page. Each check returns the faults it finds; `inspect` makes them all in one visit.

axe-core spends four fifths of its time on the contrast of colours, element by element, where a page has thousands of
elements and some thirty looks: it measures one element of each look.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from PIL import Image

from tests.site.pages import ALL_CHAPTERS
from tests.site.windows import switch_theme

GROUND = {"light": (255, 255, 255), "dark": (18, 18, 18)}
FURNITURE = (".bd-sidebar-primary", ".bd-sidebar-secondary", ".prev-next-footer", ".search-button-field")

# A look is all that decides a contrast: colour, size and weight of a text, whether axe excuses it, the grounds and
# opacities behind it, and the plates of other elements that lie over its place. The longest text of each look is
# marked: axe passes over a single letter.
MARK_LOOKS = """() => {
  const grounds = new Map([[null, '']]), plates = [], texts = [], looks = new Map();
  for (const element of document.querySelectorAll('body, body *')) {
    const s = getComputedStyle(element), behind = grounds.get(element.parentElement) ?? '';
    const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.mixBlendMode, s.position].join();
    grounds.set(element, own === 'rgba(0, 0, 0, 0),none,1,none,normal,static' ? behind : own + '>' + behind);
    delete element.dataset?.look;
    const length = [...element.childNodes].reduce((n, c) => n + (c.nodeType === 3 ? c.data.trim().length : 0), 0);
    const seen = element.checkVisibility({visibilityProperty: true, opacityProperty: true});
    if (seen && (length || element.matches('input, select, textarea'))) texts.push([element, length]);
    if (seen && s.position !== 'static' && !own.startsWith('rgba(0, 0, 0, 0),none'))
      plates.push({plate: element, p: element.getBoundingClientRect()});
  }
  for (const [element, length] of texts) {
    const s = getComputedStyle(element), box = element.getBoundingClientRect();
    const excused = !!element.closest('label, :disabled, [aria-disabled=true]');
    const over = plates.filter(({plate, p}) => p.left < box.right && box.left < p.right && p.top < box.bottom
      && box.top < p.bottom && !plate.contains(element)).map(({plate}) => grounds.get(plate));
    const look = [s.color, s.fontSize, s.fontWeight, s.textShadow, excused, grounds.get(element), over].join();
    if (!looks.has(look) || looks.get(look)[1] < length) looks.set(look, [element, length]);
  }
  looks.forEach(([element]) => element.dataset.look = '');
}"""
COLOURS_ONLY = {"runOnly": ["color-contrast", "link-in-text-block"]}
ALL_ELEMENTS = Axe()
ONE_OF_EACH_LOOK = Axe(
    f"{ALL_ELEMENTS.axe_script}; ({MARK_LOOKS})();"
    "axe.configure({rules: [{id: 'color-contrast', selector: '[data-look]'}]});"
)


def check_accessibility(window: Any, axe: Axe = ONE_OF_EACH_LOOK, **options: Any) -> list[str]:
    """What axe-core finds, of any impact."""
    # Without `preload`: axe would fetch each style sheet again, which fails on files.
    found = axe.run(window, options={"resultTypes": ["violations"], "preload": False} | options).response["violations"]
    return [f"{v['id']} ({v['impact']}): {node['html'][:200]}" for v in found for node in v["nodes"]]


def check_formulas(window: Any, needed: bool) -> list[str]:
    wrong = window.locator("mjx-merror").evaluate_all("all => all.map(e => e.dataset.mjxError || e.textContent)")
    formulas = window.locator(".math").count()
    set_ = window.locator("mjx-container:has(mjx-assistive-mml math)").count()
    faults = [f"a formula is an error: {text}" for text in wrong]
    faults += [f"{formulas} formulas, {set_} of them set and readable aloud"] * (set_ != formulas)
    return faults + ["no formula"] * (needed and formulas == 0)


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
    heights = window.locator("details.solution .cell").evaluate_all("all => all.map(e => e.clientHeight)")
    hidden = sum(height <= 10 for height in heights)
    faults = [f"on paper: {hidden} of {len(heights)} cells in solutions are not seen"] * (hidden > 0 or not heights)
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
    for theme, options in zip(themes, ({}, COLOURS_ONLY), strict=True):
        switch_theme(window, theme)
        seen = check_accessibility(window, **options)
        if chapter:
            seen += check_figures(window, theme) + check_printed_output(window, theme)
        faults += [f"{theme}: {fault}" for fault in seen]
    return faults + window.complaints
