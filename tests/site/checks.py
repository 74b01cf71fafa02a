"""What is looked at on one open page. Each check returns the faults it finds; `inspect` makes them all in one visit."""

from typing import Any

import numpy as np
from axe_playwright_python.sync_playwright import Axe

from tests.site.pages import CHAPTERS, KINDS
from tests.site.windows import open_folds, photograph, switch_theme

# Rules of axe-core that it holds back, as experimental or as too new; and the one that takes most of its time.
MORE = ["label-content-name-mismatch", "p-as-heading", "table-fake-caption", "td-has-header", "target-size"]
COLOURS = ["color-contrast", "link-in-text-block"]
# Without `preload`: axe would fetch each style sheet again, which fails on files.
FIND_FAULTS = """([only, more, without]) => {
  scrollTo({top: 0, behavior: 'instant'});  // there nothing lies under the header, which stays in sight
  axe.configure({noHtml: true, rules: more.map(id => ({id, enabled: true}))});
  const rules = Object.fromEntries(without.map(id => [id, {enabled: false}]));
  return axe.run({elementRef: true, preload: false, ...(only ? {runOnly: only} : {rules})}).then(({violations}) =>
    violations.flatMap(r => r.nodes.map(n => `${r.id} (${r.impact}): ${n.element.outerHTML.slice(0, 200)}`)));
}"""
SMALLEST_LETTER = 8  # pixels; letters in figures are 9 points, so 12 pixels in a figure of its own size
# For each output, cell, table, figure and formula: by how many pixels it is wider than its place, and whether a reader
# sees that and can get there. A figure also by how much it is made smaller.
MEASURE = """() => {
  const parts = '.highlight pre, .cell_output pre, .output.text_html, table, .cell_output img, .math, figcaption, p';
  const article = document.querySelector('.bd-article').getBoundingClientRect(), found = [];
  for (const part of document.querySelectorAll(`.bd-article :is(${parts})`)) {
    const shown = part.getBoundingClientRect();
    if (!shown.width || !part.checkVisibility() || part.closest('.chapter-cards')) continue;
    let hidden = 0, cut = 0, signed = true, end = shown.right;
    for (let box = part; box && !box.matches('.bd-article'); box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.overflowX === 'visible' || style.display === 'inline' || box.matches('span.math:not(.wide)')) continue;
      const more = Math.max(box.scrollWidth - box.clientWidth, 0);
      if (/auto|scroll/.test(style.overflowX)) hidden += more;
      else cut += box === part ? more : Math.max(end - box.getBoundingClientRect().right, 0);
      if (more > 1 && !(box.hasAttribute('data-more') && box.tabIndex === 0)) signed = false;
      end = box.getBoundingClientRect().right;
    }
    const figure = part.matches('img'), formula = part.matches('.math');
    found.push({
      kind: figure ? 'figure' : formula ? 'formula' : part.closest('.cell_output') ? 'output' : part.localName,
      text: (figure ? part.alt : part.textContent).trim().slice(0, 60),
      hidden, cut: Math.round(Math.max(cut, end - article.right)), signed,
      scale: figure && part.naturalWidth ? shown.width / part.naturalWidth : 1,
    });
  }
  return found;
}"""
# The buttons and links of the bar that the window cuts, or that reach out of the bar.
OUT = """[...document.querySelectorAll('.bd-header-article :is(a, button)')].filter(e => {
  const box = e.getBoundingClientRect(), bar = e.closest('.bd-header-article').getBoundingClientRect();
  return e.checkVisibility() && (box.left < 0 || box.right > innerWidth || box.bottom > bar.bottom + 1);
}).map(e => e.className)"""
GROUND = {"light": (255, 255, 255), "dark": (18, 18, 18)}
FURNITURE = [".bd-sidebar-primary", ".bd-sidebar-secondary", ".prev-next-footer", ".search-button-field"]
FURNITURE += [".guess-field", ".cover-switch"]
FOLDED = {  # and whether each chapter has some
    "details.solution .cell": True,
    "details.check .cell": False,
    "details.guess .cell_output": True,
    "details.hide pre": False,
}


def find_faults(window: Any, only: list[str] | None = None, without: tuple[str, ...] = ()) -> list[str]:
    """What axe-core finds, of any impact: by all rules, only by some, or without some."""
    if not window.evaluate("!!window.axe"):
        window.evaluate(Axe().axe_script)
    return list(window.evaluate(FIND_FAULTS, [only, MORE, without]))


def resize(window: Any, width: int) -> None:
    """Make the window as wide, and wait until what watches the width has seen it."""
    window.set_viewport_size({"width": width, "height": 900})
    window.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")


def find_cut(window: Any, width: int) -> list[str]:
    """What is cut, hidden without a sign, or too small to read."""
    resize(window, width)
    faults = [f"{width} px: {part} at the top is cut" for part in window.evaluate(OUT)]
    for part in window.evaluate(MEASURE):
        name = f"{width} px: {part['kind']} {part['text']!r}"
        if part["cut"] > 1:
            faults.append(f"{name} is cut by {part['cut']} px")
        if part["hidden"] > 1 and not part["signed"]:
            faults.append(f"{name} hides {part['hidden']} px without a sign")
        if part["hidden"] > 24 and width == 390 and part["kind"] == "pre":
            faults.append(f"{name} hides {part['hidden']} px of a phone")
        if 12 * part["scale"] < SMALLEST_LETTER - 0.05:
            faults.append(f"{name} has letters of {12 * part['scale']:.1f} px")
    return faults


def check_formulas(window: Any, needed: bool) -> list[str]:
    """Whether each formula was set when the page was built, and no TeX is left."""
    formulas = window.locator(".math").count()
    set_ = window.locator(".math:has(math > *)").count()
    left = window.locator(".math").evaluate_all("all => all.map(e => e.innerText).filter(t => t.includes('\\\\'))")
    faults = [f"{formulas} formulas, {set_} of them set"] * (set_ != formulas) + ["no formula"] * (needed > formulas)
    faults += [f"a formula shows TeX: {text}" for text in left]
    return faults


def check_width(window: Any) -> list[str]:
    width = window.evaluate("document.documentElement.scrollWidth")
    return [f"scrolls sideways: {width} px wide"] * (width > window.viewport_size["width"])


def check_letters(window: Any) -> list[str]:
    """Whether each letter outside formulas and pictures has 11 pixels; with none it is not shown."""
    small = window.evaluate(
        """[...document.body.querySelectorAll('*')].filter(e => e.checkVisibility({ visibilityProperty: true })
        && !e.closest('math, sup, sub, svg, script, style')
        && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
        && ((size) => 0 < size && size < 11)(parseFloat(getComputedStyle(e).fontSize)))
        .map(e => e.outerHTML.slice(0, 120))"""
    )
    return [f"small letters: {html}" for html in small]


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
    measured = page in KINDS or width == 390  # by day the colours of one page of each kind
    without = () if measured else tuple(COLOURS)
    faults += (
        check_letters(window)
        + check_width(window)
        + [f"{theme}: {fault}" for fault in find_faults(window, without=without)]
    )
    for narrower in sorted({width, 390, 320} if width > 390 else {width, 768, 320}, reverse=True):
        faults += find_cut(window, narrower) + check_width(window)
    resize(window, 390)
    faults += check_top(window)
    switch_theme(window, other)
    seen = find_faults(window, COLOURS) if measured else []
    if chapter and (width == 390 or page == CHAPTERS[0]):
        printed = window.locator(".cell_output .output.stream").first
        seen += check_figures(window, other) + check_picture(printed, other, "printed output")
    return faults + [f"{other}: {fault}" for fault in seen] + window.complaints
