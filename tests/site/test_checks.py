"""Faults planted in a page: each is found by the checks that every page of the book has to pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.site.axe import COLOURS, find_faults
from tests.site.checks import check_paper, inspect
from tests.site.pages import ALL_CHAPTERS, SITE
from tests.site.windows import open_page, open_window, switch_theme

PAGE = "book/notation.html"  # short, and it sets formulas
CODE = '<div class="cell"><div class="cell_input"><div class="highlight"><pre>{}</pre></div></div></div>'
OUTPUT = '<div class="cell"><div class="cell_output">{}</div></div>'
PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'>{}</svg>"
FIGURE = OUTPUT.format(f'<img alt="" src="{PICTURE}">')
LINK = (
    '<p style="color: {}; background: #fff">Where all of this begins is told in the <a id="{}" href="intro.html" '
    'style="color: {}; text-decoration: none">introduction</a>, page by page.</p>'
)
FINE = LINK.format("#000", "told", "#0a5fb4")  # what is right on one page is no excuse for the next

# What is planted -> the fault that must be reported.
FAULTS = {
    "text too pale in the dark in one code cell": (
        CODE.format('<span class="c1"># all is well here</span>')
        + CODE.format('<span class="c1" id="pale"># one pale comment</span>')
        + '<style>html[data-theme="dark"] #pale { color: #5c5c5c !important }</style>',
        'dark: color-contrast .*id="pale"',
    ),
    "a grey ground behind a paragraph": (
        '<p id="grey" style="background: #777">Words on grey.</p>',
        'light: color-contrast .*id="grey"',
    ),
    "a grey plate that another element lays under a paragraph": (
        '<p id="plate">Words on a plate.</p><div style="position: absolute; z-index: -1; width: 300px; height: 4rem; '
        'margin-top: -4rem; background: #777"></div>',
        'light: color-contrast .*id="plate"',
    ),
    "a pale link": (
        '<p>To the <a id="thin" style="opacity: 0.4" href="intro.html">introduction</a>.</p>',
        'light: color-contrast .*id="thin"',
    ),
    "a pale word in a field": (
        '<input id="field" aria-label="Word" value="pale" style="background: #fff; color: #ccc">',
        'light: color-contrast .*id="field"',
    ),
    "a link that is told from its text by a little colour only": (
        LINK.format("#000", "plain", "#222"),
        'dark: link-in-text-block .*id="plain"',
    ),
    "a link that was told from another text": (
        LINK.format("#333", "lost", "#0a5fb4"),
        'dark: link-in-text-block .*id="lost"',
    ),
    "a picture without words": (f'<img id="mute" src="{PICTURE.format("")}">', 'light: image-alt .*id="mute"'),
    "a control without a name": ('<button id="nameless"></button>', 'light: button-name .*id="nameless"'),
    "a formula that shows TeX": (
        '<span class="math"><math><mi>x</mi></math>\\(\\frac{1}\\)</span>',
        "a formula shows TeX: ",
    ),
    "a formula that is not set": ('<span class="math"><math></math></span>', r"\d+ formulas, \d+ of them set"),
    "a number at the left": (
        '<div class="math" style="flex-flow: row-reverse"><math><mi>x</mi></math><span class="number">(0)</span></div>',
        r"number \(0\) is not at the right",
    ),
    "something too wide": ('<div style="width: 500px">wide</div>', "scrolls sideways: [5-9]"),
    "a line that is cut": (
        OUTPUT.format(f'<pre style="overflow: hidden; white-space: pre !important">{"cut " * 40}</pre>'),
        "390 px: output 'cut cut.* is cut by",
    ),
    "code that scrolls without a sign": (
        f'<div class="highlight" style="overflow-x: auto"><pre style="width: 900px">{"wide " * 30}</pre></div>',
        "390 px: code 'wide wide .* hides 7.. px without a sign",
    ),
    "a figure whose letters are lost": (
        FIGURE.format("<path d='M0 0h90v90h-90' fill='white'/>").replace("<img", '<img style="width: 60px"'),
        "390 px: figure '' has letters of 8.0 px",
    ),
    "a second search box": ('<input type="search" aria-label="Search">', "2 search boxes"),
    "a foreign request": ('<img src="https://example.org/spy.png" alt="">', "asked https://example.org/spy.png"),
    "a file that is missing": ('<img src="nowhere.png" alt="">', "not loaded: .*nowhere.png"),
    "a script error": ("<script>throw Error('planted')</script>", "script error: planted"),
    "a complaint on the console": ("<script>console.warn('careful')</script>", "warning: careful"),
    "a figure that stays white": (
        FIGURE.format("<path d='M0 0h90v90h-90' fill='white'/><path d='M9 9L90 90' stroke='black'/>"),
        r"dark: figure data:.* stands on \(255, 255, 255\)",
    ),
    "a figure without ink": (
        FIGURE.format("<path d='M0 0h90v90h-90' fill='white'/>"),
        "light: figure data:.*: ink and ground are too close",
    ),
    "output on a plate": (
        OUTPUT.format('<div class="output stream" style="background: #fff; color: #000"><pre>3 words</pre></div>'),
        r"dark: printed output stands on \(255, 255, 255\)",
    ),
    "a solution that stands open": (
        '<details class="solution" open><summary>Show</summary><div class="cell">planted</div></details>',
        "a solution is seen before it is opened",
    ),
    "a solution that the keyboard closes": ("", "a solution does not open by the keyboard"),
    "a solution that is lost on paper": (
        "<style>@media print { details.solution::details-content { content-visibility: hidden } }</style>",
        "on paper: 1 of 1 cells in solutions",
    ),
    "furniture on paper": (
        "<style>@media print { html .prev-next-footer { display: block !important } }</style>",
        "on paper: .prev-next-footer is seen",
    ),
}


def plant(window: Any, html: str) -> None:
    """Open the page with something at its end, and without its policy, which would keep some of the faults away."""
    address, page = f"{SITE.as_uri()}/{PAGE}", (SITE / PAGE).read_text("utf-8")
    page = page.replace("</article>", f"{html}</article>").replace("Content-Security-Policy", "")
    window.route(address, lambda route: route.fulfill(body=page, content_type="text/html"), times=1)
    open_page(window, address)


@pytest.fixture(scope="module")
def window(browser: Any, server: str) -> Iterator[Any]:
    with open_window(browser, server, width=390, reduced_motion="reduce") as window:
        plant(window, FINE)
        assert inspect(window, PAGE, ("light", "dark")) == []
        plant(window, "".join(planted for planted, _ in FAULTS.values()))
        yield window


@pytest.fixture(scope="module")
def found(window: Any) -> list[str]:
    """What one visit finds, as if the page were a chapter."""
    return inspect(window, ALL_CHAPTERS[0], ("light", "dark")) + check_paper(window)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(found: list[str], fault: str) -> None:
    assert any(re.match(FAULTS[fault][1], line) for line in found), "\n".join(found)


EVERYWHERE = """only => axe.run({runOnly: only, preload: false, elementRef: true}).then(({violations}) =>
  violations.flatMap(r => r.nodes.map(n => `${r.id} (${r.impact}): ${n.element.outerHTML.slice(0, 200)}`)))"""


@pytest.mark.usefixtures("found")
def test_one_element_of_each_look_is_enough(window: Any) -> None:
    window.evaluate("axe.reset()")
    everywhere = window.evaluate(EVERYWHERE, COLOURS)
    assert len(everywhere) > 4
    assert find_faults(window, COLOURS) == everywhere


def test_a_visit_is_always_the_first(visit: Callable[[str, str, int], Any]) -> None:
    for _ in range(2):
        window = visit(f"{SITE.as_uri()}/{PAGE}", "light", 390)
        assert window.evaluate("[localStorage.seen, document.documentElement.dataset.theme]") == [None, "light"]
        assert window.complaints == [] and window.viewport_size == {"width": 390, "height": 900}
        window.evaluate("localStorage.seen = 'yes'; console.warn('of the visit before')")
        check_paper(window)
        switch_theme(window, "dark")
