"""The decks in Chromium: each slide is measured, keys are pressed, and they are printed."""

from collections.abc import Iterator
from typing import Any

import pypdfium2
import pytest

from tests.site.windows import open_window, start_browser
from tests.slides.decks import CHAPTERS, list_slides, squeeze
from tools.teaching.slides import FOLDER

pytestmark = pytest.mark.thorough

SMALLEST = 15  # pixels of letters in tables and code
LOWEST = 280  # pixels of a figure
MEASURE = """([smallest, lowest]) => {
    const slide = Reveal.getCurrentSlide(), faults = [], name = part => `${part.tagName}.${part.className}`;
    const room = part => part.matches(".text") ? 9 : 1;  // formulas reach a little below their line
    const parts = [...slide.querySelectorAll("*")].filter(part => !part.closest("aside, svg"));
    for (const part of parts.filter(part => !part.parentElement.closest("math"))) {
        const box = part.getBoundingClientRect();
        if (box.width && (box.left < 20 || box.right > 1260 || box.top < 20 || box.bottom > 700))
            faults.push(`${name(part)} lies at ${[box.left, box.top, box.right, box.bottom].map(Math.round)}`);
    }
    for (const part of slide.querySelectorAll(".text:not(aside *), .cell, .code, pre, table"))
        if (part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + room(part))
            faults.push(`${name(part)} holds more than it shows`);
    for (const part of slide.querySelectorAll(".cell :is(pre, table)"))
        if (parseFloat(getComputedStyle(part).fontSize) < smallest) faults.push(`${name(part)} has small letters`);
    for (const part of slide.querySelectorAll("figure img"))
        if (!part.naturalWidth || part.getBoundingClientRect().height < lowest) faults.push("a figure is small");
    let below = 0;
    for (const part of slide.querySelectorAll(":scope > :not(aside)")) {
        const box = part.getBoundingClientRect();
        if (box.top < below - 1) faults.push(`${name(part)} covers what is above it`);
        below = box.bottom;
    }
    return faults;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with start_browser() as chromium:
        yield chromium


@pytest.fixture
def window(browser: Any) -> Iterator[Any]:
    with open_window(browser, FOLDER.as_uri(), height=720) as page:
        yield page


def open_deck(window: Any, name: str, query: str = "") -> None:
    window.goto(f"{(FOLDER / name).as_uri()}.html{query}")
    window.wait_for_function("Reveal.isReady()")
    window.evaluate("document.fonts.ready.then(() => true)")


@pytest.mark.parametrize("name", CHAPTERS)
def test_everything_fits_and_nothing_comes_from_elsewhere(window: Any, name: str) -> None:
    open_deck(window, name)
    faults = {}
    for number in range(len(list_slides(name))):
        window.evaluate(f"Reveal.slide({number}, 0, 99)")  # with all its fragments
        window.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found = window.evaluate(MEASURE, [SMALLEST, LOWEST])
        if found:
            faults[number + 1] = found
    assert not faults and not window.complaints


@pytest.mark.parametrize("name", CHAPTERS)
def test_printed_each_slide_is_one_page(window: Any, name: str) -> None:
    open_deck(window, name, "?print-pdf")
    window.wait_for_selector(".pdf-page:last-of-type section")
    pages = pypdfium2.PdfDocument(window.pdf(prefer_css_page_size=True, print_background=True))
    slides = list_slides(name)
    assert len(pages) == len(slides)
    for page, slide in zip(pages, slides, strict=True):
        assert page.get_size() == (960, 540)
        printed = page.get_textpage()
        assert squeeze(slide.xpath("string(.//h1 | .//h2)").split()[0]) in squeeze(printed.get_text_bounded())
        # The inner margin: reveal.js takes it away.
        assert all(printed.get_rect(at)[0] > 40 for at in range(printed.count_rects()))


def test_the_keyboard_leads_from_the_first_slide_to_the_last(window: Any) -> None:
    name = CHAPTERS[0]
    open_deck(window, name)
    seen = [window.evaluate("Reveal.getIndices().h")]
    while not window.evaluate("Reveal.isLastSlide()") and len(seen) < 200:
        window.keyboard.press("ArrowRight")
        seen.append(window.evaluate("Reveal.getIndices().h"))
    assert sorted(set(seen)) == list(range(len(list_slides(name))))
    assert len(seen) > len(set(seen))  # what answers a question comes with a press of its own
    window.keyboard.press("Home")
    assert window.evaluate("Reveal.isFirstSlide()")
