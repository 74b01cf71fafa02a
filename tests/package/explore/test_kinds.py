"""What each kind of panel says, against numbers that can be had by hand."""

import json
import math
import re
from typing import Any

import pytest
import torch

import d2lmini as d2l
from tests.package.explore.reading import ALL, LOOP, PANELS, QUARTERS, list_rows, read, say
from tests.package.refusals import rejected


def test_attention_says_who_gives_how_much_to_whom() -> None:
    panel = PANELS["attention"]
    assert list_rows(panel) == [["", "吃", "苹果"], ["吃", "0.12", "0.88"], ["苹果", "0.33", "0.67"]]
    assert list_rows(panel, 1)[2] == ["苹果", "0.50", "0.50"]
    assert say(panel, "a0 b1") == "苹果 gives 0.67 to 苹果 and 0.33 to 吃."
    assert say(panel, "a1 b0") == "吃 gives 1.00 to 吃."
    assert {word["lang"] for word in read(panel).find_all(lang=True)} == {"zh"}


def test_arcs_are_as_thick_as_the_weights_of_the_map_that_is_chosen() -> None:
    page = read(PANELS["attention"])
    style = page.style.string  # type: ignore[union-attr]
    assert "&:has([value=a0]:checked){--w0-0:0.12;--w0-1:0.88;--w1-0:0.33;--w1-1:0.67}" in style
    arcs = page.find_all("path", class_="b1")
    assert [arc["style"] for arc in arcs] == ["--w:var(--w1-0,0)", "--w:var(--w1-1,0)"]


def test_each_map_may_have_a_sentence_of_its_own() -> None:
    panel = d2l.explore_attention(torch.eye(2).repeat(2, 1, 1), [["a", "a"], ["b", "c"]], ["one", "two"], start=(1, 0))
    assert list_rows(panel)[1:] == [["a 1", "1.00", "0.00"], ["a 2", "0.00", "1.00"]]
    assert (say(panel, "a0 b1"), say(panel, "a1 b1")) == ("a 2 gives 1.00 to a 2.", "c 2 gives 1.00 to c 2.")
    page = read(panel)
    assert [button["value"] for button in page.select("input[checked]")] == ["a1", "b0"]
    names = page.find_all("fieldset")[1].find_all("label")
    assert [[part.get_text() for part in name.select("[class^=a]")] for name in names] == [
        ["a 1", "b 1"],
        ["a 2", "c 2"],
    ]


def test_a_score_and_a_vote_say_what_a_word_does() -> None:
    panel = PANELS["sentences"]
    assert list_rows(panel)[1:] == [["吃", "1.50", "2.00"], ["苹果", "0.00", "−1.00"]]
    assert say(panel, "a0 b1") == "苹果 has the score 0.00 and votes −1.00, for firm."
    given = json.loads(read(panel).div["data-given"])  # type: ignore[index, arg-type]
    assert given["layers"][1] == [["−2.00", "0.25"], ["3.00", "1.00"]] and given["words"] == ["吃", "苹果"]


def test_a_query_that_may_attend_to_nothing_gives_nothing() -> None:
    panel = d2l.explore_attention(torch.zeros(1, 1, 1), ["a"], ["b"], glosses=["c"])
    assert say(panel, "a0 b0") == "a c gives nothing to any word."


def test_softmax_of_powers_of_two_is_in_eighths() -> None:
    panel = PANELS["softmax"]
    assert list_rows(panel)[0] == ["", "score 1.39", "score 0.69", "score 0", "score 0"]
    assert list_rows(panel)[1:3] == [["β = 0", *["0.250"] * 4], ["β = 1", "0.500", "0.250", "0.125", "0.125"]]
    heard = 64 / (16 + 4 + 1 + 1)
    assert say(panel, "a0 b1") == f"one: with β = 1 the best key gets 0.500 of the weight. Keys heard: {heard:.1f}."
    assert list_rows(panel)[3][0] == "β = 2.5"
    cells = read(panel).select("tr.b1 td")
    assert [cell["style"] for cell in cells][:2] == ["--w:0.500", "--w:0.250"]


def test_a_fraction_is_written_as_one() -> None:
    panel = d2l.explore_softmax(torch.tensor([[-16.0, -0.25]]), [1 / 32, 1 / 3, 0.3, 0.75, 1], ["one"])
    assert [row[0] for row in list_rows(panel)[1:]] == ["β = 1/32", "β = 1/3", "β = 0.3", "β = 0.75", "β = 1"]
    assert say(panel, "a0 b0").startswith("one: with β = 1/32 the best key")
    assert list_rows(panel)[0] == ["", "score −16", "score −0.25"]


def test_a_hand_that_turns_by_a_right_angle() -> None:
    panel = PANELS["positions"]
    assert list_rows(panel)[1:4] == [["0", "0.000", "1.000"], ["1", "1.000", "0.000"], ["2", "0.000", "−1.000"]]
    quarter = f"{math.pi / 2:.3f}"
    turns = f"Clock 0 turns by {quarter} radians per step, {quarter} in 1 steps, wherever you are."
    assert say(panel, "a0") == f"{turns} The cosine of that is 0.000."
    assert say(panel, "a0 b2") == "Position 2: angle 3.142 radians; 1 further: 4.712."
    style = read(panel).style.string  # type: ignore[union-attr]
    assert "&:has([value=a0]:checked){--start:0rad;--turn:1.5708rad}" in style
    assert "&:has([value=b3]:checked){--i:3}" in style
    ahead = read(panel).find_all("path", class_="ahead")
    assert [path["style"] for path in ahead] == ["--more:1"] * 2  # a line on the waves, and a hand


def test_a_pair_has_one_name() -> None:
    panel = d2l.explore_positions(d2l.PositionalEncoding(4, 0).P[0, :5], delta=2)
    page = read(panel)
    names = [label.get_text(strip=True) for label in page.find("fieldset").find_all("label")]  # type: ignore[union-attr]
    assert names == [caption.get_text() for caption in page.find_all("caption")] == ["Clock 0", "Clock 1"]
    assert say(panel, "a0").startswith("Clock 0 turns by 1.000 radians per step, 2.000 in 2 steps")
    assert say(panel, "a1").startswith("Clock 1 turns by 0.010 radians per step, 0.020 in 2 steps")
    assert list_rows(panel, 1)[0] == ["", "column 2, sine", "column 3, cosine"]


@pytest.mark.parametrize(("step", "start"), [(1.0, 0.0), (0.001, 2.0), (-2.9, 0.3)])
def test_dots_lie_where_the_table_has_them(step: float, start: float) -> None:
    angles = start + step * torch.arange(12, dtype=torch.float64)
    page = read(d2l.explore_positions(torch.stack([angles.sin(), angles.cos()], dim=1), delta=3))
    dots = re.findall(r"M([\d.]+) ([\d.]+)h0", page.find("path", class_="dots")["d"])  # type: ignore[index, arg-type]
    assert [float(x) for x, _ in dots] == [90 + 10 * i for i in range(12)] * 2
    heights = [40 - 34 * y for y in (*angles.sin().tolist(), *angles.cos().tolist())]
    assert [float(y) for _, y in dots] == pytest.approx(heights, abs=0.06)
    assert [number.get_text() for number in page.find_all("text")] == [str(i) for i in range(15)]


def test_paths_count_inputs_and_steps() -> None:
    panel = PANELS["paths"]
    assert list_rows(panel) == [["", "y₁", "y₂", "y₃"], ["loop", "1", "2", "3"], ["all", "3", "3", "3"]]
    assert list_rows(panel, 1)[1:] == [["loop", "1", "2", "3"], ["all", "1", "1", "1"]]
    assert say(panel, "a0 b0") == "y₁ sees 1 input: x₁. From x₁ it takes 1 step."
    assert say(panel, "a0 b2") == "y₃ sees 3 inputs, from x₁ to x₃. From x₁ it takes 3 steps."


def test_the_shortest_way_is_drawn() -> None:
    short = [((0, 0), (0, 1)), ((0, 1), (0, 2)), ((0, 2), (1, 2)), ((0, 0), (1, 2)), ((1, 0), (1, 1))]
    panel = d2l.explore_paths({"both": short})
    assert say(panel, "a0 b1") == "y₂ sees 1 input: x₁. From x₁ it takes 1 step."
    (way,) = read(panel).select(".b1.way")
    assert way["d"] == "M1 7L3 1"


def test_an_output_that_the_first_input_does_not_reach() -> None:
    panel = d2l.explore_paths({"apart": [((0, 0), (0, 1)), ((1, 0), (1, 1)), ((2, 1), (3, 1))]})
    assert say(panel, "a0 b1") == "y₂ sees 1 input: x₂. x₁ does not reach it."
    assert say(panel, "a0 b3") == "y₄ sees no input."
    assert list_rows(panel, 1)[1] == ["apart", "1", "–", "–", "–"]


def test_heads_go_in_the_order_that_was_given() -> None:
    panel = PANELS["pruning"]
    assert list_rows(panel)[0] == ["", "who", "where", "all"]
    assert [row[0] for row in list_rows(panel)[1:]] == ["2", "1", "0"]
    assert [list_rows(panel, i)[2][1:] for i in (0, 1)] == [["1.00", "0.12", "0.56"], ["0.00", "1.00", "0.50"]]
    assert say(panel, "a0 b0") == "No head is gone. Left: head 0 (first); head 1 (last). 1.00 of all answers are right."
    assert say(panel, "a1 b1").startswith("The last to go was head 1 (last). Left: head 0 (first). 0.50 ")
    assert say(panel, "a1 b2").startswith("The last to go was head 0 (first). No head is left. ")


ONE, TWO = torch.ones(1, 1, 1), torch.full((1, 2, 2), 0.5)
WRONG: list[tuple[str, Any, str]] = [
    ("weights", lambda: d2l.explore_attention(ONE[0], ["a"], ["b"]), r"weights .*\(maps, queries, keys\).*\(1, 1\)"),
    ("no tensor", lambda: d2l.explore_attention([[[1.0]]], ["a"], ["b"]), "weights must be a tensor .* got list"),  # type: ignore[arg-type]
    ("complex", lambda: d2l.explore_attention(ONE * 1j, ["a"], ["b"]), "weights must be a tensor .*complex"),
    ("empty", lambda: d2l.explore_attention(ONE[:0], ["a"], []), "none of them 0"),
    ("too much", lambda: d2l.explore_attention(2 * ONE, ["a"], ["b"]), "from 0 to 1, got 2"),
    ("nan", lambda: d2l.explore_attention(ONE * math.nan, ["a"], ["b"]), "from 0 to 1, got nan"),
    ("tokens", lambda: d2l.explore_attention(TWO, ["a"], ["b"]), "tokens must have .* the 2 queries"),
    ("keys", lambda: d2l.explore_attention(TWO[:, :1], ["a"], ["b"]), "each of the 2 keys, got 1"),
    ("a text", lambda: d2l.explore_attention(TWO, "ab", ["b"]), "tokens must have one entry .* got 'ab'"),
    ("titles", lambda: d2l.explore_attention(ONE, ["a"], []), "titles must have .* the 1 maps, got 0"),
    ("no list", lambda: d2l.explore_attention(ONE, ["a"], None), "titles must have .* got None"),  # type: ignore[arg-type]
    ("blank", lambda: d2l.explore_attention(ONE, [" "], ["b"]), "tokens must be texts that are not empty, got ' '"),
    ("glosses", lambda: d2l.explore_attention(ONE, ["a"], ["b"], glosses=["c", "d"]), "glosses must .* got 2"),
    (
        "sentences",
        lambda: d2l.explore_attention(ONE, [["a"], ["b"]], ["c"]),
        "one sentence for each of the 1 maps, got 2",
    ),
    ("start", lambda: d2l.explore_attention(ONE, ["a"], ["b"], start=(0, 1)), r"start must be one .* got \(0, 1\)"),
    (
        "votes",
        lambda: d2l.explore_sentences(TWO[0], ONE[0], ["a", "b"], ["c", "d"], ["e", "f"]),
        "titles must .* 1 layers",
    ),
    (
        "no lang",
        lambda: d2l.explore_sentences(TWO[0], TWO[0], ["a", "b"], ["c", "d"], ["e", "f"], lang=None),
        "lang must",
    ),  # type: ignore[arg-type]
    ("one sense", lambda: d2l.explore_sentences(TWO[0], TWO[0], ["a", "b"], ["c", "d"], ["e"]), "senses must .* got 1"),
    ("words", lambda: d2l.explore_sentences(TWO[0], TWO[0], ["a"], ["c", "d"], ["e", "f"]), "words must .* got 1"),
    (
        "sentence glosses",
        lambda: d2l.explore_sentences(TWO[0], TWO[0], ["a", "b"], ["c", "d"], ["e", "f"], glosses=["g"]),
        "glosses must .* got 1",
    ),
    ("lang", lambda: d2l.explore_attention(ONE, ["a"], ["b"], lang=None), "lang must be .* got None"),  # type: ignore[arg-type]
    ("scores", lambda: d2l.explore_softmax(torch.ones(2), [1], ["a"]), r"scores must .*\(sets, keys\)"),
    ("infinite", lambda: d2l.explore_softmax(ONE[0] * math.inf, [1], ["a"]), "from -1000 to 1000, got inf"),
    ("betas", lambda: d2l.explore_softmax(ONE[0], [], ["a"]), r"betas must be a list of numbers, not empty, got \[\]"),
    ("beta", lambda: d2l.explore_softmax(ONE[0], [-1], ["a"]), "betas must be a number from 0 to 1000, got -1"),
    ("sets", lambda: d2l.explore_softmax(ONE[0], [1], ["a", "b"]), "titles .* each of the 1 sets, got 2"),
    ("one row", lambda: d2l.explore_positions(QUARTERS[:1]), r"at least 2 positions .* got \(1, 2\)"),
    ("odd", lambda: d2l.explore_positions(torch.zeros(3, 3)), r"an even number of columns, got \(3, 3\)"),
    ("no circle", lambda: d2l.explore_positions(QUARTERS / 2), "sine and cosine of an angle .* pair 0 is off by 0.5"),
    ("unsteady", lambda: d2l.explore_positions(QUARTERS[[0, 1, 3]]), "grows steadily, pair 0 is off by 1.41"),
    ("delta", lambda: d2l.explore_positions(QUARTERS, 0), "delta must be an integer of at least 1, got 0"),
    ("no network", lambda: d2l.explore_paths({}), "networks must be a dictionary .* not empty"),
    ("a list", lambda: d2l.explore_paths([ALL]), "networks must be a dictionary"),  # type: ignore[arg-type]
    ("no edges", lambda: d2l.explore_paths({"a": []}), r"connections of 'a' must be pairs .* at least one, got \[\]"),
    ("no pair", lambda: d2l.explore_paths({"a": [(0, 1)]}), r"connections of 'a' must be pairs .* got \(0, 1\)"),  # type: ignore[list-item]
    ("down", lambda: d2l.explore_paths({"a": [((0, 1), (0, 0))]}), "that lead upwards"),
    ("back", lambda: d2l.explore_paths({"a": [((1, 1), (0, 1))]}), "to the right above the inputs"),
    ("inputs", lambda: d2l.explore_paths({"a": [((0, 0), (1, 0))]}), "to the right above the inputs"),
    ("fraction", lambda: d2l.explore_paths({"a": [((0, 0), (0.5, 1))]}), "whole numbers from 0 on"),  # type: ignore[list-item]
    ("sizes", lambda: d2l.explore_paths({"a": LOOP, "b": LOOP[:1]}), "same positions, got {'a': 3, 'b': 1}"),
    ("no order", lambda: d2l.explore_pruning({}, ONE, [], []), "orders must be a dictionary, not empty"),
    ("twice", lambda: d2l.explore_pruning({"a": [0, 0]}, torch.ones(1, 3, 1), ["b", "c"], ["d"]), "2 heads once"),
    ("mixed", lambda: d2l.explore_pruning({"a": ["x", 0]}, torch.ones(1, 3, 1), ["b", "c"], ["d"]), "heads once"),  # type: ignore[list-item]
    ("right", lambda: d2l.explore_pruning({"a": [0]}, ONE, ["b"], ["d"]), "each of the 0 removals in right, got 1"),
    ("orders", lambda: d2l.explore_pruning({"a": [0]}, torch.ones(2, 2, 1), ["b"], ["d"]), "2 orders in right, got 1"),
    ("questions", lambda: d2l.explore_pruning({"a": [0]}, torch.ones(1, 2, 1), ["b"], []), "1 questions .* got 0"),
]


test_wrong_input_is_refused_at_the_door = rejected(*(pytest.param(*case[1:], id=case[0]) for case in WRONG))
