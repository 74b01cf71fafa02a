"""Faults planted in a page: each is found by the checks that every page of the book has to pass."""

import re
from typing import Any

import pytest

from tests.site.axe import COLOURS, find_faults
from tests.site.checks import check_paper, inspect
from tests.site.pages import CHAPTERS, FILES, SITE
from tests.site.windows import open_page, open_window

PAGE = "book/notation.html"  # short, and it sets formulas
CODE = '<div class="cell"><div class="cell_input"><div class="highlight"><pre>{}</pre></div></div></div>'
OUTPUT = '<div class="cell"><div class="cell_output">{}</div></div>'
PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'>{}</svg>"
WHITE = "<path d='M0 0h90v90h-90' fill='white'/>"
FIGURE = OUTPUT.format(f'<img alt="" src="{PICTURE}">')
LINK = (
    '<p style="color: {}; background: #fff">Where all of this begins is told in the <a id="{}" href="intro.html" '
    'style="color: {}; text-decoration: none">introduction</a>, page by page.</p>'
)
FINE = LINK.format("#000", "told", "#0a5fb4")  # what is right on one page is no excuse for the next

# What is planted -> the fault that must be reported.
FAULTS = {
    CODE.format('<span class="c1"># all is well here</span>')
    + CODE.format('<span class="c1" id="pale"># one pale comment</span>')
    + '<style>html[data-theme="dark"] #pale { color: #5c5c5c !important }</style>': 'dark: color-contrast .*id="pale"',
    '<p id="grey" style="background: #777">Words on grey.</p>': 'light: color-contrast .*id="grey"',
    LINK.format("#000", "plain", "#222"): 'dark: link-in-text-block .*id="plain"',
    f'<img id="mute" src="{PICTURE.format("")}">': 'light: image-alt .*id="mute"',
    '<button id="nameless"></button>': 'light: button-name .*id="nameless"',
    '<span class="math"><math><mi>x</mi></math>\\(\\frac{1}\\)</span>': "a formula shows TeX: ",
    '<span class="math"><math></math></span>': r"\d+ formulas, \d+ of them set",
    '<div style="width: 500px">wide</div>': "scrolls sideways: [5-9]",
    OUTPUT.format(f'<pre style="overflow: hidden; white-space: pre !important">{"cut " * 40}</pre>'): (
        "390 px: output 'cut cut.* is cut by"
    ),
    f'<div class="highlight" style="overflow-x: auto"><pre style="width: 900px">{"wide " * 30}</pre></div>': (
        "390 px: code 'wide wide .* hides 7.. px without a sign"
    ),
    FIGURE.format(WHITE).replace("<img", '<img style="width: 60px"'): "390 px: figure '' has letters of 8.0 px",
    "<style>.bd-header-article button { translate: -900px }</style>": "390 px: .* at the top is cut",
    '<input type="search" aria-label="Search">': "2 of input.* in sight",
    '<p style="transition: top 9s !important">moving</p>': "1 elements move",
    '<img src="https://example.org/spy.png" alt="">': "asked https://example.org/spy.png",
    '<img src="nowhere.png" alt="">': "not loaded: .*nowhere.png",
    "<script>throw Error('planted')</script>": "script error: planted",
    FIGURE.format(f"{WHITE}<path d='M9 9L90 90' stroke='black'/>"): r"dark: figure data:.* stands on \(255, 255, 255\)",
    FIGURE.format(WHITE): "dark: figure data:.*: ink and ground are too close",
    OUTPUT.format('<div class="output stream" style="background: #fff; color: #000"><pre>3 words</pre></div>'): (
        r"dark: printed output stands on \(255, 255, 255\)"
    ),
    '<details class="solution" open><summary>Show</summary><div class="cell">planted</div></details>': (
        "a solution is seen before it is opened"
    ),
    "<style>@media print { details.solution::details-content { content-visibility: hidden } }</style>": (
        "on paper: 1 of 1 details.solution .cell are not seen"
    ),
    "<style>@media print { html .prev-next-footer { display: block !important } }</style>": (
        "on paper: .prev-next-footer is seen"
    ),
}
EVERYWHERE = """only => axe.run({runOnly: only, preload: false, elementRef: true}).then(({violations}) =>
  violations.flatMap(r => r.nodes.map(n => `${r.id} (${r.impact}): ${n.element.outerHTML.slice(0, 200)}`)))"""


def plant(window: Any, html: str) -> None:
    """Open the page with something at its end, and without its policy, which would keep some of the faults away."""
    page = (SITE / PAGE).read_text("utf-8")
    page = page.replace("</article>", f"{html}</article>").replace("Content-Security-Policy", "")
    window.route(FILES + PAGE, lambda route: route.fulfill(body=page, content_type="text/html"), times=1)
    open_page(window, FILES + PAGE)


@pytest.mark.thorough
def test_each_planted_fault_is_found_and_one_element_of_each_look_is_enough(browser: Any, server: str) -> None:
    with open_window(browser, server, width=390, reduced_motion="reduce") as window:
        plant(window, FINE)
        assert inspect(window, PAGE, "light", "dark") == []
        plant(window, "".join(FAULTS))
        found = inspect(window, CHAPTERS[0], "light", "dark") + check_paper(window)  # as if the page were a chapter
        assert [fault for fault in FAULTS.values() if not any(re.match(fault, line) for line in found)] == [], found
        window.evaluate("axe.reset()")
        everywhere = window.evaluate(EVERYWHERE, COLOURS)
        assert len(everywhere) >= 3 and find_faults(window, COLOURS) == everywhere
