"""What a page folds, and what opens it: predictions that wait, and how to run a chapter."""

import re
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from book_site.guesses import find_guesses
from book_site.phrases import PREDICT, SCRIPTS

from tests.site.checks import check_width
from tests.site.pages import CHAPTERS, COMPLETE, FILES, SITE, soup
from tests.site.windows import open_page, open_window
from tools.notebooks.files import NOTEBOOKS

FIRST, SECOND = "notebooks/attention-pooling.html", "notebooks/self-attention.html"
NUMBER = "notebooks/costs-on-a-machine.html"  # its first question asks for one
PRINTED = "34.0341"  # the answer to the first prediction of the first chapter


def test_set_up_and_imports_are_folded_below_the_ways_to_run_the_chapter() -> None:
    for page in CHAPTERS:
        fold = soup(page).select_one("details.run")
        sections = [h for h in fold.find_all_previous("h2") if h.find_parent("article")]
        assert not sections, f"{page}: below a first section"
        assert [bool(cell.find(string=re.compile("import"))) for cell in fold.select(".cell")] == [True, True], page
        (download,) = fold.select("a[download]")
        with zipfile.ZipFile(SITE / Path(page).parent / download["href"]) as archive:
            name = Path(page).stem
            assert {file.rpartition(".")[2] for file in archive.namelist()} == {"ipynb", "whl"}
            notebook = nbformat.reads(archive.read(f"{name}/{name}.ipynb").decode(), as_version=4)
        title = soup(page).find("h1").get_text().strip("#¶ \n")
        assert notebook.cells[0].source.startswith(f"# {title}\n"), page
        assert not any(
            re.search(r"\]\((?!https?:|#|attachment:)", c.source) for c in notebook.cells if c.cell_type == "markdown"
        ), page


@pytest.mark.parametrize("page", CHAPTERS)
def test_each_guess_has_a_card_that_covers_what_answers_it(page: str) -> None:
    guesses = list(find_guesses(nbformat.read(NOTEBOOKS / f"{Path(page).stem}.ipynb", as_version=4)))
    cards = soup(page).select(".guess-card")
    assert [card["data-name"] for card in cards] == [guess.key["name"] for guess in guesses]
    assert len(guesses) > 2 or page not in COMPLETE, f"{page}: {len(guesses)} questions"
    for card, guess in zip(cards, guesses, strict=True):
        cover, code = card.find("details", class_="guess"), card.find_next_sibling("details", class_="guess-code")
        assert cover.select(".cell_output") and cover.find("p", recursive=False) and not cover.get("open")
        assert card.select_one("p.predict strong").get_text().startswith(PREDICT)
        texts = [item.get_text().strip() for item in card.select(":scope > ul > li")]
        assert len(texts) == len(guess.choices) and (not texts or card["data-right"] in texts), texts
        assert len(code.select(":scope > .cell")) == len(guess.code) and not code.select(".cell_output")


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


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("64", "So it is"),
        ("64.0", "So it is"),
        ("128/2", "So it is"),
        ("66", "close"),
        ("−64", "it is 64"),
        ("40 %", "it is 64"),
        ("<b>four</b>", "number"),
    ],
)
def test_a_number_is_judged_and_kept(written: str, said: str, browser: Any, server: str) -> None:
    with open_window(browser, server, width=390) as window:
        open_page(window, server + NUMBER)
        together, field = window.locator("details.guesses"), window.get_by_role("textbox", name=SCRIPTS["guess"]).first
        assert not together.is_visible()
        field.fill(written)
        window.keyboard.press("Enter")
        cover = window.locator("details.guess[open]")
        assert said in cover.locator(".guessed").inner_text() and "FLOPs per byte" in cover.inner_text()
        open_page(window, server + NUMBER)
        assert field.input_value() == written
        true = said in ("So it is", "close")
        assert f"{int(true)} of 1" in together.locator("> summary").inner_text()
        together.locator("> summary").press("Enter")
        [row] = together.locator("tbody tr").all()
        cells = [re.sub(r"\s+", " ", text) for text in row.locator("td").all_inner_texts()]
        assert cells[0].endswith("?") and cells[1:] == [written, "✓ 64" if true else "64"]
        assert check_width(window) == [] and window.complaints == []


def test_a_choice_is_judged_and_kept(browser: Any, server: str) -> None:
    with open_window(browser, server) as window:
        open_page(window, server + SECOND)
        card = window.locator(".guess-card[data-kind=choice]").first
        right = card.get_attribute("data-right")
        for button in card.locator("button.choice").all():
            button.press("Enter")
            told = card.locator(".guessed").inner_text()
            assert ("So it is" in told) == (button.inner_text() == right) and right in told
            assert card.locator("[aria-pressed=true]").all_inner_texts() == [button.inner_text()]
        last = button.inner_text()
        open_page(window, server + SECOND)
        assert card.locator("[aria-pressed=true]").all_inner_texts() == [last] and window.complaints == []


def test_a_chapter_that_was_read_to_its_end_is_marked_in_this_browser(browser: Any, server: str) -> None:
    with open_window(browser, server) as window:
        open_page(window, server + FIRST)
        marks = window.locator(".bd-links .chapter-read")
        assert marks.count() == 0
        window.locator("#exercises").scroll_into_view_if_needed()
        assert window.evaluate("KEPT.list('chapters-read')") == []
        window.locator(".bd-article > section > section").last.locator("> :last-child").scroll_into_view_if_needed()
        marks.first.wait_for()
        open_page(window, server + "index.html")
        read = window.locator("a:has(.chapter-read)")
        assert {link.get_attribute("href").rpartition("/")[2] for link in read.all()} == {FIRST.rpartition("/")[2]}
        assert (
            read.count() == 2 and f"1 of {len(CHAPTERS)} chapters read" in window.locator(".progress-read").inner_text()
        )
        assert window.complaints == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_opens_with_its_picture_and_one_line_about_it(page: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{Path(page).stem}.ipynb", as_version=4)
    tagged = [cell for cell in notebook.cells if "opening" in cell.metadata.get("tags", [])]
    opening, about = soup(page).select("#opening"), soup(page).select_one(".about-chapter")
    assert len(opening) == len(tagged) <= 1
    assert {"Prerequisites", "Run this chapter"} <= {text.strip(": ") for text in about.stripped_strings}
    assert about.select_one(".cover-switch") and about.find_previous("h1") and not about.find_previous("h2", id=True)
    if tagged:
        assert opening[0].find_next_sibling("div") is about and opening[0].find_previous_sibling("p")
        (place,) = soup(page).select("a[href='#opening']")
        assert place.find_parent(class_="cell").find(class_="cell_input") or place.find_parent(class_="cell")


def test_on_a_phone_the_first_screen_shows_the_opening(browser: Any, server: str) -> None:
    with open_window(browser, server, width=390, height=844) as window:
        for page in CHAPTERS:
            window.goto(FILES + page)
            if window.locator("#opening").count():
                assert window.locator("#opening").bounding_box()["y"] < 844 / 2, page


def test_on_paper_the_answers_stand_behind_the_chapter(browser: Any, server: str) -> None:
    with open_window(browser, server) as window:
        open_page(window, FILES + CHAPTERS[0])
        inside, behind = ".guess-card details.guess", "section.answers details.guess"
        count = window.locator(inside).count()
        for event, left, moved in (("beforeprint", 0, count), ("afterprint", count, 0)):
            window.evaluate(f"dispatchEvent(new Event('{event}'))")
            assert (window.locator(inside).count(), window.locator(behind).count()) == (left, moved)
        assert count > 2 and window.complaints == []
