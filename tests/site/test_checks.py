"""Faults planted in a page: each is found by the checks that every page of the book has to pass."""

import re
from typing import Any

import pytest

from tests.site.checks import check_paper, inspect
from tests.site.pages import CHAPTERS, FILES, SITE
from tests.site.windows import open_page, open_window

PAGE = "book/notation.html"  # short, and it sets formulas
OUTPUT = '<div class="cell"><div class="cell_output">{}</div></div>'
PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'>{}</svg>"
WHITE = PICTURE.format("<path d='M0 0h90v90h-90' fill='white'/>")

# What is planted -> the fault that must be reported.
FAULTS = {
    '<p id="grey" style="background: #777">Words on grey.</p>': 'light: color-contrast .*id="grey"',
    f'<img id="mute" src="{WHITE}">': 'light: image-alt .*id="mute"',
    '<span class="math"><math><mi>x</mi></math>\\(\\frac{1}\\)</span>': "a formula shows TeX: ",
    '<span class="math"><math></math></span>': r"\d+ formulas, \d+ of them set",
    '<div style="width: 500px">wide</div>': "scrolls sideways: [5-9]",
    OUTPUT.format(f'<pre style="overflow: hidden; white-space: pre !important">{"cut " * 40}</pre>'): (
        "390 px: output 'cut cut.* is cut by"
    ),
    f'<div class="highlight" style="overflow-x: auto"><pre style="width: 900px">{"wide " * 30}</pre></div>': (
        "390 px: pre 'wide wide .* hides [0-9]+ px without a sign"
    ),
    OUTPUT.format(f'<img alt="" style="width: 50px" src="{WHITE}">'): "390 px: figure '' has letters of 6.7 px",
    "<style>.bd-header-article button { translate: -900px }</style>": "390 px: .* at the top is cut",
    '<p style="transition: top 9s !important">moving</p>': "1 elements move",
    '<img src="https://example.org/spy.png" alt="">': "asked https://example.org/spy.png",
    "<script>throw Error('planted')</script>": "script error: planted",
    OUTPUT.format(f'<img alt="" src="{WHITE}">'): "dark: figure data:.*: ink and ground are too close",
    OUTPUT.format('<div class="output stream" style="background: #fff; color: #000"><pre>3 words</pre></div>'): (
        r"dark: printed output stands on \(255, 255, 255\)"
    ),
    '<details class="solution" open><summary>Show</summary><div class="cell">planted</div></details>': (
        "a solution is seen before it is opened"
    ),
    "<style>@media print { html .prev-next-footer { display: block !important } }</style>": (
        "on paper: .prev-next-footer is seen"
    ),
}


@pytest.mark.thorough
def test_each_planted_fault_is_found(browser: Any, server: str) -> None:
    page = (SITE / PAGE).read_text("utf-8").replace("</article>", f"{''.join(FAULTS)}</article>")
    with open_window(browser, server, width=390, reduced_motion="reduce") as window:
        window.route(FILES + PAGE, lambda route: route.fulfill(body=page, content_type="text/html"))
        open_page(window, FILES + PAGE)
        found = inspect(window, CHAPTERS[0], "light", "dark") + check_paper(window)  # as if the page were a chapter
    assert [fault for fault in FAULTS.values() if not any(re.match(fault, line) for line in found)] == [], found
