"""What all panels share: every choice shows something, nothing runs, and the bytes are the same everywhere."""

import re

import pytest
import torch

import d2lmini as d2l
from d2lmini.explore.numbers import write
from tests.package.explore.reading import PANELS, make_all, read

each_panel = pytest.mark.parametrize("kind", PANELS)


@each_panel
def test_the_same_numbers_give_the_same_bytes_on_another_processor(kind: str) -> None:
    eps = torch.finfo(torch.float32).eps
    found = {make_all(bit)[kind]._repr_html_() for bit in (-eps, 0, eps)}
    assert found == {PANELS[kind]._repr_html_()}


def test_each_panel_has_a_name_of_its_own() -> None:
    names = [read(panel).div["id"] for panel in PANELS.values()]  # type: ignore[index]
    assert len(set(names)) == len(PANELS)
    one, other = (d2l.explore_softmax(torch.tensor([[1.0, score]]), [1], ["a"]) for score in (0.5, 0.25))
    assert read(one).div["id"] != read(other).div["id"]  # type: ignore[index]


@each_panel
def test_each_option_shows_something_and_hides_it_again(kind: str) -> None:
    page = read(PANELS[kind])
    style = str(page.style.string)  # type: ignore[union-attr]
    options = [str(button["value"]) for button in page.find_all("input")]
    marked = {word for part in page.find_all(class_=True) for word in part["class"] if re.fullmatch(r"[ab]\d+", word)}
    assert marked <= set(options), "a part that no option shows"
    rows = {word for part in page.select("tr[class]") for word in part["class"]}
    for option in options:
        assert re.search(rf"&:not\(:has\(\[value={option}\]:checked\)\) \.{option}[,{{]", style)
        assert option in marked or f"row-{option}" in rows


@each_panel
def test_buttons_are_named_described_and_one_of_each_group_is_chosen(kind: str) -> None:
    page = read(PANELS[kind])
    for group in page.find_all("fieldset"):
        buttons = group.find_all("input", type="radio")
        assert group.legend.get_text().strip() and len({button["name"] for button in buttons}) == 1
        assert [button.has_attr("checked") for button in buttons] == [True] + [False] * (len(buttons) - 1)
        for button in buttons:
            assert button.parent.name == "label" and button.parent.get_text().strip()
            assert page.find(id=button["aria-describedby"]).find("p")
    assert page.find(id=page.div["aria-labelledby"]).get_text().strip()  # type: ignore[index, union-attr]
    groups = [group.input["name"] for group in page.find_all("fieldset")]
    assert len(groups) == len(set(groups)) == 2


def test_minus_is_the_sign_that_the_text_has() -> None:
    panel = d2l.explore_positions(d2l.PositionalEncoding(4, 0).P[0, :5], delta=3)
    numbers = re.sub(r"<style>.*</style>|<svg.*</svg>|<[^>]*>", " ", panel._repr_html_())
    assert "−0.990" in numbers and "-" not in numbers
    assert "−0.990" in repr(panel) and "-" not in repr(panel)


@each_panel
def test_nothing_runs_moves_or_is_fetched(kind: str) -> None:
    html = PANELS[kind]._repr_html_()
    assert not re.search(r"<script|\son\w+=|transition|animation|@keyframes|url\(|@import|https?:", html)


@each_panel
def test_a_terminal_shows_all_numbers(kind: str) -> None:
    text = repr(PANELS[kind])
    for table in read(PANELS[kind]).find_all("table"):
        assert table.caption.get_text() in text
        for row in table.find_all("tr"):
            words = " ".join(cell.get_text() for cell in row.find_all(["th", "td"])).split()
            assert any(line.split() == words for line in text.splitlines()), words


def test_what_is_given_is_never_markup() -> None:
    nasty = '</style><b class="x">&amp;'
    panels = [
        d2l.explore_attention(torch.ones(1, 1, 1), [nasty], [nasty], glosses=[nasty], lang='z"h'),
        d2l.explore_softmax(torch.ones(1, 1), [1], [nasty]),
        d2l.explore_paths({nasty: [((0, 0), (0, 1))]}),
        d2l.explore_pruning({nasty: [0]}, torch.ones(1, 2, 1), [nasty], [nasty]),
    ]
    for panel in panels:
        page = read(panel)
        assert page.find("b") is None and nasty in page.get_text() and len(page.find_all("style")) == 1


def test_a_panel_that_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must fit into 36 KiB, this one has \d+ KiB: show less of it"):
        d2l.explore_attention(torch.full((11, 11, 11), 1 / 11), [*"abcdefghijk"], [*"abcdefghijk"])


def test_chinese_words_keep_the_columns_of_a_terminal() -> None:
    text = repr(PANELS["attention"]).splitlines()
    assert text[3] == "        吃  苹果" and text[4] == "  吃  0.12  0.88"


@each_panel
def test_without_styles_meters_show_what_is_chosen_at_first(kind: str) -> None:
    page = read(PANELS[kind])
    still = page.select_one("div.still")
    assert still and not still.find(["style", "svg", "script"])
    for meter in still.find_all("meter"):
        low, high, value = (float(meter[name]) for name in ("min", "max", "value"))
        assert low <= value <= high
        assert write(value, len(meter["value"].partition(".")[2])) in meter.parent.get_text()
    assert len(still.find_all("meter")) > 1
