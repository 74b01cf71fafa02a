"""What a page folds, and what opens it: predictions that wait, and how to run a chapter."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from book_site.phrases import PREDICT, SCRIPTS

from tests.site.checks import check_width
from tests.site.pages import CHAPTERS, COMPLETE, FILES, soup
from tests.site.windows import open_page, open_window
from tools.notebooks.files import NOTEBOOKS

FIRST, SECOND = "notebooks/attention-pooling.html", "notebooks/self-attention.html"
PRINTED = "34.0341"  # the answer to the first prediction of the first chapter


def test_set_up_and_imports_are_folded_below_the_ways_to_run_the_chapter() -> None:
    for page in CHAPTERS:
        fold = soup(page).select_one("details.run")
        sections = [h for h in fold.find_all_previous("h2") if h.find_parent("article")]
        assert not sections, f"{page}: below a first section"
        assert [bool(cell.find(string=re.compile("import"))) for cell in fold.select(".cell")] == [True, True], page
        downloads = [link["href"].rpartition(".")[2] for link in fold.select("a[download]")[:2]]
        assert downloads == ["ipynb", "whl"], page


@pytest.mark.parametrize("page", CHAPTERS)
def test_each_prediction_that_a_cell_answers_is_covered(page: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{Path(page).stem}.ipynb", as_version=4)
    text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    asked, covers = len(re.findall(rf"\*\*{PREDICT}(?![A-Za-z0-9_])", text)), soup(page).select("details.guess")
    assert asked - 3 <= len(covers) <= asked, "few are answered by a sentence instead of a cell"
    assert asked > 3 or page not in COMPLETE, f"{page}: {asked} predictions"
    for cover in covers:
        assert cover.select(".cell_output") and not cover.get("open")
        assert re.search(PREDICT, soup(page).find(id=cover["data-question"]).get_text())


def answer_of(window: Any) -> Any:
    return window.locator("details.guess").first.locator(".cell_output")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_answer_waits_and_the_keyboard_opens_it(browser: Any, server: str, scripts: bool) -> None:
    with open_window(browser, server, width=390, java_script_enabled=scripts) as window:
        window.goto(FILES + FIRST)
        assert not answer_of(window).is_visible()
        window.locator("details.guess summary").first.press("Enter")
        assert PRINTED in re.sub(r"\s+", " ", answer_of(window).inner_text())


def test_the_switch_uncovers_all_answers_and_is_remembered(browser: Any, server: str) -> None:
    with open_window(browser, server) as window:
        open_page(window, server + FIRST)
        switch = window.locator(".cover-switch")
        assert switch.inner_text() == "Answers: covered"
        switch.press("Enter")
        assert answer_of(window).is_visible()
        open_page(window, server + SECOND)
        assert switch.inner_text() == "Answers: open" and answer_of(window).is_visible()
        switch.press("Enter")
        open_page(window, server + FIRST)
        assert not answer_of(window).is_visible() and not window.complaints


def test_a_guess_is_kept_and_stands_beside_what_came_out(browser: Any, server: str) -> None:
    with open_window(browser, server, width=390) as window:
        open_page(window, server + SECOND)
        together = window.locator("details.guesses")
        assert not together.is_visible()
        window.get_by_role("textbox", name=SCRIPTS["guess"]).first.fill("<b>twelve</b>")
        window.keyboard.press("Enter")
        cover = window.locator("details.guess[open]")
        assert f"{SCRIPTS['guessed']} <b>twelve</b>" in cover.inner_text()
        assert "weights in sevenths" in cover.inner_text()
        open_page(window, server + SECOND)
        assert window.get_by_role("textbox", name=SCRIPTS["guess"]).first.input_value() == "<b>twelve</b>"
        together.locator("> summary").press("Enter")
        [row] = together.locator("tbody tr").all()
        cells = [re.sub(r"\s+", " ", text) for text in row.locator("td").all_inner_texts()]
        assert cells[0].endswith("?") and cells[1] == "<b>twelve</b>" and "weights in sevenths" in cells[2]
        assert check_width(window) == []


def test_a_chapter_that_was_read_to_its_end_is_marked_in_this_browser(browser: Any, server: str) -> None:
    with open_window(browser, server) as window:
        open_page(window, server + FIRST)
        marks = window.locator(".bd-links .chapter-read")
        assert marks.count() == 0
        window.locator("#exercises").scroll_into_view_if_needed()
        marks.first.wait_for()
        open_page(window, server + "book/intro.html")
        read = window.locator("a:has(.chapter-read)")
        assert {link.get_attribute("href").rpartition("/")[2] for link in read.all()} == {FIRST.rpartition("/")[2]}
        assert (
            read.count() == 2 and f"1 of {len(CHAPTERS)} chapters read" in window.locator(".progress-read").inner_text()
        )
        assert window.complaints == []
