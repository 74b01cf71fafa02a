"""Defects that are planted in a translation, by a seed: how many of them the gates see, and each gate seen red."""

import random
import re
from collections import Counter
from collections.abc import Callable

import pytest

from tools.translating.__main__ import read_settings
from tools.translating.build import State, choose_text, find_states
from tools.translating.gates import check_entry, check_style, read_terms
from tools.translating.store import Entry, Unit, list_texts, read_comments, split_sections

LANGUAGE = "zh"
SETTINGS = read_settings(LANGUAGE)


def put(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Callable[[str, random.Random], str]:
    """Replace one of the places where a pattern is found; the text as it is where there is none."""

    def plant(text: str, chance: random.Random) -> str:
        found = list(re.finditer(pattern, text, re.MULTILINE))
        if not found:
            return text
        place = chance.choice(found)
        return text[: place.start()] + (new if isinstance(new, str) else new(place)) + text[place.end() :]

    return plant


# What a hand that copies, or a machine that translates, does to a text; each is seen by a gate of its own.
MECHANICAL = {
    "a formula": put(r"(?<=\$)(\\?[A-Za-z]+)(?=[^$\n]*\$)", lambda found: found[0] + "'"),
    "a number": put(r"(?<![\d.$`(])\d+(?=[^$`()\n]*$)", lambda found: f"{int(found[0]) + 7}"),
    "an address": put(r"(?<=\]\()[^)\n]+", lambda found: found[0] + "x"),
    "a code span": put(r"`[^`\n]+`", "`x`"),
    "bold": put(r"\*\*([^*\n]+)\*\*", lambda found: found[1]),
    "a paragraph": put(r"\n\n(?!\$\$|- |\d|\|)[^\n$]+$", ""),
    "an item": put(r"^(- |\d+\. )[^\n]+\n", ""),
    "a heading": put(r"^#(#+) ", lambda found: found[1] + " "),
    "a full stop": put("。", "."),
    "a blank": put(r"(?<=[\u4e00-\u9fff]) (?=\$)", ""),
    "you": put("你", "您"),
    "English": put(r"(?<=。)|(?<=\w\. )", "The weights add up to one. "),
    "a sentence twice": put(r"([^。.\n$*|`\[\]]{30,}[。.] ?)", lambda found: 3 * found[1]),
}


def list_entries(language: str = LANGUAGE) -> list[State]:
    """Each text that is translated, and up to date."""
    return [
        state
        for name in list_texts(language)
        for state in find_states(language, name)
        if state.kind == "fresh" and state.unit.part == "text" and len(state.unit.english) > 60
    ]


@pytest.mark.parametrize("language", [LANGUAGE, "vi"])
def test_of_200_mechanical_defects_the_gates_see_at_least_95_percent(language: str) -> None:
    chance, entries, seen, planted = random.Random(2026), list_entries(language), Counter[str](), Counter[str]()
    kinds = [kind for kind in MECHANICAL if language == "zh" or kind not in ("a full stop", "a blank", "you")]
    while planted.total() < 200:
        kind, state = kinds[planted.total() % len(kinds)], chance.choice(entries)
        assert state.entry is not None
        text = MECHANICAL[kind](state.entry.text, chance)
        if text == state.entry.text:
            continue
        planted[kind] += 1
        changed = Entry(state.entry.key, "text", state.entry.english, text, state.entry.options)
        seen[kind] += bool(check_entry(state.unit.english, changed, language, read_settings(language)))
    missed = {kind: planted[kind] - seen[kind] for kind in planted if seen[kind] < planted[kind]}
    print(f"{seen.total()} of {planted.total()} seen; missed {missed}")
    assert seen.total() >= 0.95 * planted.total() and all(seen.values()), missed


@pytest.mark.parametrize(
    ("english", "wrong", "said"),
    [
        ("The score is never large.", "分数很大。", "logic: 'never'"),
        ("Only the key counts.", "键算数。", "logic: 'Only'"),
        ("A query asks.", "键提问。", "term: 'query'"),
        ("It has *two* keys.", "它有两个键。", "italics"),
        ("A **key** counts.", "**键。**算数。", "stars that are shown"),
        ("吃 has a key.", "它有一个键。", "Chinese words lost"),
        ("So it is (2.1).", "这就是（2.1）。", "the number of a formula"),
        ("A key.\n\n$$\nx\n$$", "一个键。\n\n$$\ny\n$$", "displayed formulas"),
        ("| a key |\n|---|\n| b |", "| 一个键 |\n|---|", "table rows"),
    ],
)
def test_each_gate_was_seen_red(english: str, wrong: str, said: str) -> None:
    faults = check_entry(english, Entry("x", "text", "", wrong), LANGUAGE, SETTINGS)
    assert any(said in fault for fault in faults), faults


def test_figures_and_comments_have_gates_of_their_own() -> None:
    figure = Entry("x", "figure", "", "caption: 一个键。")
    assert check_entry("caption: A key.\nalt: 3 keys.", figure, LANGUAGE, SETTINGS)
    comments = "# the key\n# the query"
    assert len(check_entry(comments, Entry("x", "comments", "", "# the kye\n=> # 键"), LANGUAGE, SETTINGS)) == 3
    assert not check_entry(
        comments, Entry("x", "comments", "", "# the key\n=> # 键\n# the query\n=> -"), LANGUAGE, SETTINGS
    )
    assert read_comments("# a\n=> \n# b\n=> # 乙") == {"# b": "# 乙"}


def test_where_words_changed_a_notice_stands_and_where_a_fact_did_the_english() -> None:
    notice, english = SETTINGS["notice"], "## Keys\n\nThe 3 keys are read."
    entry = Entry("x", "text", "of old", "## 键\n\n读 3 个键。")
    assert choose_text(State(Unit("x", "text", english), "stale", entry), notice).startswith(
        f"## 键\n\n> {notice['stale']}\n"
    )
    unsafe = choose_text(State(Unit("x", "text", english), "unsafe", entry, ["numbers"]), notice)
    assert notice["unsafe"] in unsafe and "The 3 keys" in unsafe and "读" not in unsafe


def test_a_prose_page_is_cut_at_its_headings_and_not_in_its_code() -> None:
    text = "# Title\n\nWords.\n\n```\n## no heading\n```\n\n## One & two\n\nMore.\n"
    assert [key for key, _ in split_sections(text)] == ["title", "one--two"]


def test_a_language_without_a_column_of_terms_is_told() -> None:
    with pytest.raises(ValueError, match="no column 'fa'"):
        read_terms("fa")


@pytest.mark.parametrize(
    "wrong",
    re.split(
        r"\|",
        "Chúng tôi đo|một câu truy vấn|mã thông báo|máy biến áp|sản phẩm điểm|lớp phức tạp|kết nối còn lại|thẻ|đào tạo"
        '|trọng lượng|phím|sự chú ý của|một cách đều|từ từ|các các|được tính bởi|ba , bốn|ba,bốn|hoà|thuỷ|"ba"',
    ),
)
def test_what_a_machine_wrote_in_vietnamese_is_refused(wrong: str) -> None:
    settings = read_settings("vi")
    assert list(check_style("So.", f"Vậy {wrong}.", settings)) and not list(check_style("So.", "Vậy.", settings))
