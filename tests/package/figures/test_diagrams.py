"""Drawings show what they are asked to show."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_hex

import d2lmini as d2l

mpl.use("svg")


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Iterator[None]:
    yield
    plt.close("all")


def test_show_tables_writes_each_entry_in_the_colour_of_its_group() -> None:
    table, groups = torch.tensor([[3, 1, 4], [1, 5, 9]]), torch.tensor([[0, 1, 2], [3, 0, 1]])
    d2l.show_tables([table, table[:, :1]], [groups, groups[:, :1]], ["all", "first"], figsize=(4, 2))
    both = plt.gcf().axes
    assert [axes.get_title() for axes in both] == ["all", "first"]
    for axes, columns in zip(both, (3, 1), strict=True):
        written = {text.get_position(): int(text.get_text()) for text in axes.texts}
        expected = {(j + 0.5, i + 0.5): int(table[i, j]) for i in range(2) for j in range(columns)}
        assert written == expected
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # row 0 on top
        colours = {patch.get_xy(): to_hex(patch.get_facecolor()) for patch in axes.patches}
        of_group = {int(groups[i, j]): colours[j, i] for i in range(2) for j in range(columns)}
        assert all(colours[j, i] == of_group[int(groups[i, j])] for i in range(2) for j in range(columns))
        assert len(set(of_group.values())) == len(of_group)


def test_groups_differ_in_lightness_and_their_numbers_can_be_read() -> None:
    table = torch.arange(4)[None]
    d2l.show_tables([table], [table], ["groups"], figsize=(4, 2))
    greys = []
    for patch in plt.gcf().axes[0].patches:
        red, green, blue, _ = patch.get_facecolor()
        greys.append(0.3 * red + 0.6 * green + 0.1 * blue)
    gaps = [a - b for i, a in enumerate(greys) for b in greys[i + 1 :]]
    assert min(map(abs, gaps[:1])) > 0.1 and min(greys) > 0.6


def test_multi_head_attention_is_drawn_with_all_its_parts() -> None:
    d2l.draw_multi_head_attention()
    axes = plt.gcf().axes[0]
    texts = " ".join(text.get_text() for text in axes.texts)
    for part in (
        "queries",
        "keys",
        "values",
        "W_q^{(1)}",
        "W_k^{(1)}",
        "W_v^{(h)}",
        "h_1",
        "h_h",
        "concat",
        "W_o",
        "output",
    ):
        assert part in texts
    across = sorted(
        (text.get_position()[0], text.get_text()) for text in axes.texts if text.get_text().startswith("$W_")
    )
    assert [text[3] for _, text in across if "o" not in text] == list("qkvqkv")
    # 3 inputs to 3 matrices in each of 2 heads, from there to the pooling, on to the concatenation, W_o and the output
    arrows = [child for child in axes.texts if getattr(child, "arrow_patch", None) is not None]
    assert len(arrows) == 6 + 6 + 2 + 2


def test_drawings_have_the_same_bytes_each_time() -> None:
    pictures = []
    for _ in range(2):
        d2l.draw_multi_head_attention()
        file = io.StringIO()
        plt.savefig(file, format="svg", metadata={"Date": None})
        pictures.append(file.getvalue())
    assert pictures[0] == pictures[1] and "<image" not in pictures[0]


def test_tables_can_hold_words_and_have_names() -> None:
    words, names = [["A", "B"], ["B", "B"]], ["1", "2"]
    d2l.show_tables(
        [words], [[[0, 1], [1, 1]]], ["map"], (3, 3), xlabel="d", ylabel="n", xticklabels=names, yticklabels=names
    )
    axes = plt.gcf().axes[0]
    assert [text.get_text() for text in axes.texts] == ["A", "B", "B", "B"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == names
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("d", "n")


def test_the_three_architectures_and_their_ways_from_x1() -> None:
    d2l.draw_architectures()
    panels = plt.gcf().axes
    assert [panel.get_title() for panel in panels] == ["CNN", "RNN", "self-attention"]
    for panel, edges, way in zip(panels, (2 * 13, 5 + 4, 25), (2, 5, 1), strict=True):
        arrows = [child for child in panel.texts if getattr(child, "arrow_patch", None) is not None]
        lines = [line for line in panel.lines if line.get_marker() != "o"]
        assert len(arrows) == way and len(arrows) + len(lines) == edges
        assert {f"$x_{i}$" for i in range(1, 6)} <= {text.get_text() for text in panel.texts}


def test_the_transformer_and_its_norms() -> None:
    d2l.draw_transformer()
    words = [text.get_text() for text in plt.gcf().axes[0].texts]
    assert words.count("add & norm") == 5 and words.count("feed-forward") == 2 and words.count("cross-attention") == 1
    d2l.draw_residual_streams()
    panels = {panel.get_title(): panel for panel in plt.gcf().axes}
    heights = {
        name: {word: [text.get_position() for text in panel.texts if text.get_text() == word] for word in ("norm", "+")}
        for name, panel in panels.items()
    }
    for name, above in (("post-norm", True), ("pre-norm", False)):
        for (x, norm), (stream, plus) in zip(heights[name]["norm"], heights[name]["+"], strict=True):
            assert (norm > plus) == above == (x == stream)


TABLE = torch.zeros(2, 3, dtype=torch.long)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: d2l.show_tables([TABLE], [TABLE], [], (4, 2)),
            r"1 tables must have as many groups and titles, got 1, \[\]",
        ),
        (lambda: d2l.show_tables([TABLE], [TABLE], "a", (4, 2)), "titles, got 1, 'a'"),
        (
            lambda: d2l.show_tables([TABLE], [TABLE.T], ["a"], (4, 2)),
            r"table 0 has shape \(2, 3\), its groups .*\(3, 2\)",
        ),
        (lambda: d2l.show_tables([TABLE[0]], [TABLE[0]], ["a"], (4, 2)), r"table 0 must be a matrix, .* \(3,\)"),
        (lambda: d2l.show_tables([TABLE[:0]], [TABLE], ["a"], (4, 2)), r"table 0 must be a matrix, not empty"),
        (
            lambda: d2l.show_tables([TABLE], [TABLE + 4], ["a"], (4, 2)),
            r"groups of table 0 must lie in 0..3, got 4",
        ),
        (lambda: d2l.show_tables([], [], [], (4, 2)), r"0 tables must have as many groups and titles, got 0, \[\]"),
        (
            lambda: d2l.show_tables([[[1, 2]]], [[["a", 7]]], ["a"], (4, 2)),
            r"groups of table 0 must lie in 0..3, got 'a'",
        ),
        (lambda: d2l.show_tables([[[1, 2.5]]], [[[0, 1]]], ["a"], (4, 2)), r"table 0 must hold .* got 2.5"),
        (lambda: d2l.show_tables([TABLE + 0.7], [TABLE], ["a"], (4, 2)), r"table 0 must hold whole numbers or words"),
        (
            lambda: d2l.show_tables([TABLE], [TABLE], ["a"], (4, 2), xticklabels=["b"]),
            r"xticklabels .* 3 columns, got 1",
        ),
        (lambda: d2l.show_tables([TABLE], [TABLE], ["a"], (4, 2), yticklabels=["b"]), r"yticklabels .* 2 rows, got 1"),
    ],
)
def test_bad_input_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_draw_words_shades_each_word_by_its_weight() -> None:
    words = ["not", "every", "joke", "works", "."]
    d2l.draw_words(words, torch.tensor([[0.0, 0.1, 0.4, 0.2, 0.0], [2.0, 0.0, 1.0, 0.0, 0.0]]), ["attention", "effect"])
    (axes,) = plt.gcf().axes
    written = [text.get_text() for text in axes.texts]
    assert written == ["attention", *words, "effect", *words]
    lightness = [sum(patch.get_facecolor()[:3]) for patch in axes.patches]
    assert lightness[2] < lightness[3] < lightness[1] < lightness[0] == lightness[4]
    assert lightness[5] == lightness[2] < lightness[7] < lightness[6]  # shades are relative to the largest of a row
    inks = {text.get_text(): to_hex(text.get_color()) for text in axes.texts[1:6]}
    assert inks == {"not": "#000000", "every": "#000000", "joke": "#fefefe", "works": "#000000", ".": "#000000"}


def test_draw_words_breaks_lines_between_words() -> None:
    words = ["lighthouse"] * 20
    d2l.draw_words(words, [[1.0] * 20], ["all the same"])
    (axes,) = plt.gcf().axes
    places = [text.get_position() for text in axes.texts[1:]]
    assert len({y for _, y in places}) == 4  # five words of ten letters fit into 62 columns
    right_ends = [patch.get_x() + patch.get_width() for patch in axes.patches]
    assert max(right_ends) <= axes.get_xlim()[1]
    boxes = [(patch.get_x(), patch.get_y(), patch.get_x() + patch.get_width()) for patch in axes.patches]
    for (x, y, end), (other, below, _) in itertools.pairwise(sorted(boxes, key=lambda box: (box[1], box[0]))):
        assert y != below or end <= other, f"boxes overlap at {x}"


def test_draw_words_with_no_weight_at_all_stays_light() -> None:
    d2l.draw_words(["a", "film"], [[0.0, 0.0]], ["nothing"])
    assert all(sum(patch.get_facecolor()[:3]) > 2.8 for patch in plt.gcf().axes[0].patches)


@pytest.mark.parametrize(
    ("words", "weights", "titles", "message"),
    [
        (["a", "b"], [[1.0]], ["x"], "a row for each title and a column for each word"),
        (["a"], [[1.0], [1.0]], ["x"], "a row for each title"),
        ([], torch.zeros(1, 0), ["x"], "a row for each title"),
        ("ab", [[1.0, 1.0]], ["x"], "'ab'"),
        (["a"], [[-1.0]], ["x"], "at least 0, got -1.0"),
        (["a"], [[float("nan")]], ["x"], "finite and at least 0, got nan"),
    ],
)
def test_draw_words_refuses_what_does_not_fit(words: Any, weights: Any, titles: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.draw_words(words, weights, titles)
