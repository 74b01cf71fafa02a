"""What a reader may put in: what the page says of it is what PyTorch says, by mouse, keyboard and address."""

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from tests.site.pages import FILES, SITE, soup
from tests.site.windows import open_folds, open_page, open_window

TITLE, CHAPTER = "index.html", "notebooks/self-attention.html"
CLOCKS, SCORES = "notebooks/positional-encoding.html", "notebooks/attention-pooling.html"
# Lay each sentence by its tiles, one word after the other, and read what is said.
LAY_ALL = """() => {
  const [slots, tiles] = ['.slot', '.tile'].map(kind => [...document.querySelectorAll(`.play button${kind}`)]);
  const read = () => [...document.querySelectorAll('.play .layer strong')].map(said => said.textContent);
  return tiles.flatMap((_, a) => tiles.flatMap((_, b) => tiles.map((_, c) => {
    [a, b, c].forEach((word, place) => { slots[place].click(); tiles[word].click(); });
    return [...read(), document.querySelector('.play .verdict').textContent];
  })));
}"""


def read_given(page: str, kind: str) -> dict[str, Any]:
    """The numbers that the script gets."""
    text = (SITE / page).read_text("utf-8")
    return dict(json.loads(html.unescape(re.findall(rf'data-play="{kind}" data-given="([^"]*)"', text)[0])))


@contextmanager
def open_play(browser: Any, page: str, **settings: Any) -> Iterator[tuple[Any, Any]]:
    with open_window(browser, "http://nowhere", **settings) as window:
        open_page(window, FILES + page)
        yield window, window.locator(".play").first
        assert window.complaints == []


def answer_all(given: dict[str, Any]) -> torch.Tensor:
    """What both layers put out for all sentences, `(layers, sentences)`, by the softmax of PyTorch."""
    numbers = torch.tensor([[[float(x.replace("−", "-")) for x in row] for row in rows] for rows in given["layers"]])
    last = len(given["words"]) - 1
    laid = torch.nn.functional.pad(torch.cartesian_prod(*[torch.arange(last + 1)] * 3), (0, 1), value=last)
    scores, votes = numbers.double().unbind(dim=2)
    return (torch.softmax(scores[:, laid], dim=2) * votes[:, laid]).sum(dim=2)


def test_the_page_decides_each_sentence_as_the_layers_do(browser: Any) -> None:
    given = read_given(CHAPTER, "sentences")
    outputs = answer_all(given)
    assert read_given(TITLE, "sentences") == given
    differ = (outputs[0] > 0) != (outputs[1] > 0)
    with open_play(browser, TITLE) as (window, play):
        said = window.evaluate(LAY_ALL)
        assert len(said) == outputs.shape[1] == 14**3
        assert f"one of the {differ.sum()} sentences, of 2,744," in play.inner_text()
    for (*layers, verdict), both, apart in zip(said, outputs.T.tolist(), differ.tolist(), strict=True):
        assert verdict.startswith("They disagree:" if apart else "They agree:")
        for text, output in zip(layers, both, strict=True):
            share = 100 / (1 + torch.tensor(-abs(output)).exp().item())
            assert text == f"{given['senses'][output < 0]}, {share:.0f}%"
    assert verdict.endswith(f"Found: {differ.sum()} of {differ.sum()}.")
    printed = soup(CHAPTER).find(string=re.compile(f"They disagree on {differ.sum()} of 2,744 sentences"))
    assert printed, "the chapter counts another number"


def test_the_address_holds_the_sentence_and_nothing_else(browser: Any) -> None:
    with open_play(browser, f"{CHAPTER}#她.咬.修") as (window, play):
        assert "disagree" in play.locator(".verdict").inner_text()
        for wrong in ("她.咬", "她.咬.犬", "<b>.咬.修", "%", "summary"):
            window.evaluate("hash => { location.hash = hash }", wrong)
            window.wait_for_timeout(50)
            assert "disagree" in play.locator(".verdict").inner_text() and play.locator("b").count() == 0
        play.locator(".tile").nth(0).click()
        assert window.evaluate("decodeURIComponent(location.hash)") == "#我.咬.修"


def test_the_keyboard_lays_a_sentence(browser: Any) -> None:
    with open_play(browser, TITLE, width=390, reduced_motion="reduce") as (window, play):
        play.locator(".slot").first.focus()
        window.keyboard.press("ArrowRight")
        window.keyboard.press("Enter")
        window.keyboard.press("Tab")
        window.keyboard.press("End")
        window.keyboard.press("ArrowRight")  # round to the first
        window.keyboard.press("Space")
        assert [slot.split() for slot in play.locator("button.slot").all_inner_texts()][1] == ["我", "I"]
        assert play.locator("button.slot[aria-pressed=true]").get_attribute("aria-label") == "Place 3: 吃 eat"


def test_own_scores_are_weighed_as_the_panel_below_says(browser: Any) -> None:
    """Each state of the panel, whose numbers the notebook compares."""
    with open_play(browser, SCORES) as (_, play):
        tables = soup(SCORES).select('.touch[data-play="softmax"] table')
        for table in tables:
            scores = [th.get_text().removeprefix("score ").replace("−", "-") for th in table.select("thead th")]
            for field, score in zip(play.locator("input[type=number]").all(), scores, strict=True):
                field.fill(score)
            for row in table.select("tbody tr"):
                beta = row.th.get_text().removeprefix("β = ")
                if "/" in beta and beta != "1/2":
                    continue  # the slider moves by 0.05
                play.locator("input[type=range]").fill(str(0.5 if beta == "1/2" else float(beta)))
                assert play.locator(".bar").all_inner_texts() == [td.get_text() for td in row.select("td")], beta
        play.locator("input[type=number]").first.fill("")
        assert "Each score must be a number" in play.inner_text()


def test_the_hands_of_query_and_key_score_as_the_encoding_does(browser: Any) -> None:
    count = read_given(CLOCKS, "clock")["positions"]
    angles = torch.arange(count)[:, None] * 10000 ** (-torch.arange(3, dtype=torch.float64) / 3)
    rows = torch.cat([angles.sin(), angles.cos()], dim=1)
    with open_play(browser, CLOCKS) as (_, play):
        query, key, _ = play.locator("input[type=range]").all()
        said = play.locator("output").last
        for i, j in ((0, 15), (15, 0), (7, 7), (3, 12)):
            query.fill(str(i))
            key.fill(str(j))
            assert f"Offset {j - i}. Score: {rows[i] @ rows[j]:.3f}." == said.inner_text().replace("−", "-")


@pytest.mark.parametrize("page", [TITLE, CHAPTER, CLOCKS, SCORES])
def test_fingers_paper_forced_colours_and_no_script(browser: Any, page: str) -> None:
    with open_play(browser, page, width=390, forced_colors="active") as (window, play):
        assert window.locator(".touch table").count() == 0  # what stands there without a script is not even made
        boxes = [part.bounding_box() for part in play.locator("button, input").all()]
        assert min(min(box["width"], box["height"]) for box in boxes) >= 44
        assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for pressed in play.locator("[aria-pressed=true]").all():
            assert pressed.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
        window.emulate_media(media="print")
        assert not play.is_visible()
    with open_window(browser, "http://nowhere", java_script_enabled=False) as window:
        window.goto(FILES + page)
        assert window.locator(".play").count() == 0
        open_folds(window)
        stands = "img[src$='cover.svg']:visible" if page == TITLE else ".touch table:visible"
        assert window.locator(stands).count() > 0
