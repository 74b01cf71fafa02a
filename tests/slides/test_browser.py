"""The decks in Chromium: each slide is measured, toys are played with, and they are printed."""

from collections.abc import Iterator
from typing import Any

import pypdfium2
import pytest

from tests.site.windows import open_window, start_browser
from tests.slides.decks import CHAPTERS, list_slides
from tools.teaching.slides import FOLDER

pytestmark = pytest.mark.thorough

# At 1280 by 720 letters in a figure have at least 16 pixels.
MEASURE = """() => {
    const slide = Reveal.getCurrentSlide(), faults = [], name = (part) => `${part.tagName}.${part.className}`;
    const seen = [...slide.querySelectorAll("*")].filter((part) => !part.closest("aside, svg, math math"));
    for (const part of seen.filter((part) => !part.parentElement.closest("math"))) {
        const { left, top, right, bottom, width } = part.getBoundingClientRect();
        if (width && (left < 20 || right > 1260 || top < 4 || bottom > 718))
            faults.push(`${name(part)} lies at ${[left, top, right, bottom].map(Math.round)}`);
        if (part.matches(".text, .cell, pre, table") && part.scrollWidth > part.clientWidth + 1)
            faults.push(`${name(part)} holds more than it shows`);
        if (part.matches("p, li, pre, table") && parseFloat(getComputedStyle(part).fontSize) < 13)
            faults.push(`${name(part)} has small letters`);
    }
    for (const image of slide.querySelectorAll("figure img[src*='svg']")) {
        const box = image.getBoundingClientRect();
        const point = Math.min(box.width / image.naturalWidth, box.height / image.naturalHeight) * 400 / 3;
        const sizes = [...atob(image.src.split(",")[1]).matchAll(/scale\\((0\\.\\d+) /g)].map(([, size]) => size);
        const least = point * Math.min(...sizes);
        if (least < 15.9) faults.push(`a figure has letters of ${least}`);
    }
    return faults;
}"""


@pytest.fixture
def window() -> Iterator[Any]:
    with start_browser() as chromium, open_window(chromium, FOLDER.as_uri(), height=720) as page:
        yield page


def open_deck(window: Any, name: str, query: str = "") -> None:
    window.goto(f"{(FOLDER / name).as_uri()}.html{query}")
    window.wait_for_function("Reveal.isReady()")
    window.evaluate("document.fonts.ready.then(() => true)")


@pytest.mark.parametrize("name", CHAPTERS)
def test_everything_fits_toys_play_and_nothing_comes_from_elsewhere(window: Any, name: str) -> None:
    open_deck(window, name)
    faults = {}
    for number, slide in enumerate(list_slides(name)):
        window.evaluate(f"Reveal.slide({number})")
        window.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if found := window.evaluate(MEASURE):
            faults[number + 1] = found
        if slide.xpath(".//*[@data-play]"):
            toy = window.locator("section.present .play")
            before = toy.inner_text()
            control = toy.locator("button.tile, input[type=range]").last
            control.press("ArrowLeft" if "range" in str(control.get_attribute("type")) else "Enter")
            assert toy.inner_text() != before
    assert not faults and not window.complaints


@pytest.mark.parametrize("name", CHAPTERS)
def test_printed_each_slide_is_one_page(window: Any, name: str) -> None:
    open_deck(window, name, "?print-pdf")
    window.wait_for_selector(".pdf-page:last-of-type section")
    pages = pypdfium2.PdfDocument(window.pdf(prefer_css_page_size=True, print_background=True))
    assert len(pages) == len(list_slides(name))
    for page, slide in zip(pages, list_slides(name), strict=True):
        title = slide.xpath("string(.//h1 | .//h2)").split()[0]
        assert page.get_size() == (960, 540) and title[1:-1] in page.get_textpage().get_text_bounded()
