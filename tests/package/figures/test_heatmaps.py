"""Maps of data show what they are given, can be read, and have the same bytes on another CPU."""

import itertools
import math
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

import d2lmini as d2l
from tests.colours import contrast
from tests.package.figures.pictures import svg
from tests.package.refusals import rejected


def test_masked_scores_stay_empty_in_a_heatmap() -> None:
    d2l.show_heatmaps([[[[1.0, -np.inf], [np.nan, 3.0]]]], "x", "y")
    mesh = plt.gcf().axes[0].collections[0]
    assert mesh.get_clim() == (0, 3) and mesh.get_array().mask.tolist() == [[False, True], [True, False]]


def test_show_heatmaps_has_one_scale_and_row_0_on_top() -> None:
    maps = torch.zeros(2, 3, 4, 5)
    maps[1, 2, 0, 4] = 0.5
    d2l.show_heatmaps(maps, "keys", "queries", titles=["a", "b", "c"], figsize=(6, 4))
    panels = [axes for axes in plt.gcf().axes if axes.get_label() != "<colorbar>"]
    meshes = [panel.collections[0] for panel in panels]
    assert len(panels) == 6 and {mesh.get_clim() for mesh in meshes} == {(0, 0.5)}
    assert meshes[5].get_array().reshape(4, 5)[0, 4] == 0.5
    assert all(panel.get_ylim() == (4, 0) and panel.get_xlim() == (0, 5) for panel in panels)
    assert [panel.get_title() for panel in panels] == ["a", "b", "c", "", "", ""]
    assert [panel.get_xlabel() for panel in panels] == ["", "", "", "keys", "keys", "keys"]
    assert [panel.get_ylabel() for panel in panels] == ["queries", "", "", "queries", "", ""]


@pytest.mark.parametrize(("numbers", "limits"), [([[0.0, 0.0]], (0, 1)), ([[-1.0, 0.5]], (-1, 0.5)), ([[2.0]], (0, 2))])
def test_show_heatmaps_colour_scale(numbers: list[list[float]], limits: tuple[float, float]) -> None:
    d2l.show_heatmaps([[numbers]], "x", "y")
    assert plt.gcf().axes[0].collections[0].get_clim() == limits


@pytest.mark.parametrize(("n", "labels"), [(1, "0"), (4, "0 1 2 3"), (12, "0 2 4 6 8 10"), (60, "0 10 20 30 40 50")])
def test_ticks_of_a_heatmap_name_rows_and_columns(n: int, labels: str) -> None:
    d2l.show_heatmaps(torch.zeros(1, 1, n, 1), "x", "y")
    axes = plt.gcf().axes[0]
    assert " ".join(tick.get_text() for tick in axes.get_yticklabels()) == labels
    assert axes.get_yticks().tolist() == [int(label) + 0.5 for label in labels.split()]


def test_rows_and_columns_of_a_heatmap_can_have_names() -> None:
    d2l.show_heatmaps(torch.zeros(1, 1, 2, 8), "x", "y", xticklabels=list("abcdefgh"), yticklabels=["wǒ", "chī"])
    axes = plt.gcf().axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == list("abcdefgh")
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["wǒ", "chī"]
    assert axes.get_yticks().tolist() == [0.5, 1.5]


@pytest.mark.parametrize("cmap", ["Reds", "Blues", "Greys", "viridis"])
def test_numbers_in_a_heatmap_stand_in_their_cells_and_can_be_read(cmap: str) -> None:
    numbers = torch.linspace(0, 1, 12).reshape(1, 1, 3, 4)
    numbers[0, 0, 1, 1] = math.nan
    d2l.show_heatmaps(numbers, "x", "y", cmap=cmap, fmt=".2f")
    (axes,) = plt.gcf().axes  # no scale beside it
    written = {text.get_position(): text for text in axes.texts}
    assert len(written) == 11 and (1.5, 1.5) not in written
    colours = axes.collections[0].to_rgba(axes.collections[0].get_array()).reshape(3, 4, 4)
    for (x, y), text in written.items():
        i, j = int(y), int(x)
        assert text.get_text() == f"{numbers[0, 0, i, j]:.2f}"
        assert contrast(text.get_color(), mpl.colors.to_hex(colours[i, j])) >= 4.5


@pytest.mark.parametrize(
    ("numbers", "fmt", "written"),
    [
        ([12345.0, 0.125], ".3f", ["12345.000", "0.125"]),
        ([100, 0.0625], ".4f", ["100.0000", "0.0625"]),
        ([1 / 3, -1e-9], ".2f", ["0.33", "0.00"]),
        ([-0.5, 10.0], ".0f", ["0", "10"]),
        ([-1.0, 1 / 3], ".6f", ["-1.000000", "0.333333"]),
    ],
)
def test_numbers_in_a_heatmap_are_the_numbers_given(numbers: list[float], fmt: str, written: list[str]) -> None:
    d2l.show_heatmaps([[[numbers]]], "x", "y", fmt=fmt)
    assert [text.get_text() for text in plt.gcf().axes[0].texts] == written


def test_yes_and_no_need_no_scale() -> None:
    d2l.show_heatmaps(torch.eye(3, dtype=torch.bool)[None, None], "x", "y")
    assert len(plt.gcf().axes) == 1


@pytest.mark.parametrize("size", [(9, 9), (60, 32)])
def test_a_heatmap_of_many_cells_is_small_and_shows_the_same(size: tuple[int, int]) -> None:
    """Each cell has the colour of its number, cells that are not finite are empty, and the file stays small."""
    matrix = d2l.PositionalEncoding(size[1], 0.0, size[0]).P[0].clone()
    matrix[3, 4] = math.nan
    d2l.show_heatmaps(matrix[None, None], "x", "y", cmap="Blues", figsize=(3.5, 4))
    panel = plt.gcf().axes[0]
    levels = 256 if size == (9, 9) else 24
    low, high = np.nanmin(matrix), np.nanmax(matrix)
    expected = mpl.colormaps["Blues"].resampled(levels)((matrix.numpy() - low) / (high - low))
    shown = np.zeros((*size, 4))
    for patch in panel.patches:
        for rectangle in patch.get_path().to_polygons():
            column, top, bottom = int(rectangle[0][0]), int(rectangle[0][1]), int(rectangle[2][1])
            assert not shown[top:bottom, column].any(), "drawn twice"
            corners = itertools.product((column, column + 1), (top, bottom))
            assert set(map(tuple, rectangle[:4])) == set(corners)
            shown[top:bottom, column] = patch.get_facecolor()
    assert not shown[3, 4].any()
    shown[3, 4] = expected[3, 4]
    assert np.abs(shown - expected).max() < 2 / levels
    picture = svg()
    assert len(picture) < 120_000 and "<image" not in picture


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
        colours = {tuple(map(int, patch.get_xy())): to_hex(patch.get_facecolor()) for patch in axes.patches}
        of_group = {int(groups[i, j]): colours[j, i] for i in range(2) for j in range(columns)}
        assert all(colours[j, i] == of_group[int(groups[i, j])] for i in range(2) for j in range(columns))
        assert len(set(of_group.values())) == len(of_group)


def test_tables_can_hold_words_and_have_names() -> None:
    words, names = [["A", "B"], ["B", "B"]], ["1", "2"]
    named: Any = {"xlabel": "d", "ylabel": "n", "xticklabels": names, "yticklabels": names}
    d2l.show_tables([words], [[[0, 1], [1, 1]]], ["map"], (3, 3), **named)
    axes = plt.gcf().axes[0]
    assert [text.get_text() for text in axes.texts] == ["A", "B", "B", "B"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == names
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("d", "n")


TABLE = torch.zeros(2, 3, dtype=torch.long)


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.show_heatmaps(torch.zeros(2, 2), "x", "y"), r"matrices must have shape .* got \(2, 2\)"),
    (lambda: d2l.show_heatmaps(torch.zeros(1, 0, 2, 2), "x", "y"), r"none of them 0, got \(1, 0, 2, 2\)"),
    (lambda: d2l.show_heatmaps(torch.zeros(1, 2, 2, 2), "x", "y", titles=["a"]), "titles .* 2 columns, got 1"),
    (lambda: d2l.show_heatmaps(torch.zeros(1, 1, 2, 3), "x", "y", xticklabels=["a"]), "xticklabels .* 3 columns"),
    (lambda: d2l.show_heatmaps(torch.zeros(1, 1, 2, 3), "x", "y", fmt=".2x"), "fmt must be a format .* got '.2x'"),
    (lambda: d2l.show_heatmaps(torch.zeros(1, 1, 2, 3), "x", "y", yticklabels="abc"), "2 rows, got 'abc'"),
    (lambda: d2l.show_tables([TABLE], [TABLE], [], (4, 2)), r"as many groups and titles, got 1, \[\]"),
    (lambda: d2l.show_tables([TABLE], [TABLE], "a", (4, 2)), "titles, got 1, 'a'"),
    (lambda: d2l.show_tables([TABLE], [TABLE.T], ["a"], (4, 2)), r"table 0 .* \(2, 3\), its groups .*\(3, 2\)"),
    (lambda: d2l.show_tables([TABLE[0]], [TABLE[0]], ["a"], (4, 2)), r"table 0 must be a matrix, .* \(3,\)"),
    (lambda: d2l.show_tables([TABLE[:0]], [TABLE], ["a"], (4, 2)), r"table 0 must be a matrix, not empty"),
    (lambda: d2l.show_tables([TABLE], [TABLE + 4], ["a"], (4, 2)), r"groups of table 0 must lie in 0..3, got 4"),
    (lambda: d2l.show_tables([], [], [], (4, 2)), r"0 tables must have as many groups and titles, got 0, \[\]"),
    (lambda: d2l.show_tables([[[1, 2]]], [[["a", 7]]], ["a"], (4, 2)), "table 0 must lie in 0..3, got 'a'"),
    (lambda: d2l.show_tables([[[1, 2.5]]], [[[0, 1]]], ["a"], (4, 2)), r"table 0 must hold .* got 2.5"),
    (lambda: d2l.show_tables([TABLE + 0.7], [TABLE], ["a"], (4, 2)), r"table 0 must hold whole numbers or words"),
    (lambda: d2l.show_tables([TABLE], [TABLE], ["a"], (4, 2), xticklabels=["b"]), r"xticklabels .* 3 columns"),
    (lambda: d2l.show_tables([TABLE], [TABLE], ["a"], (4, 2), yticklabels=["b"]), r"yticklabels .* 2 rows, got 1"),
)


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


def test_draw_words_can_be_read_on_every_shade() -> None:
    shares = [i / 20 for i in range(21)]
    d2l.draw_words(["word"] * 21, [shares], ["all shades"])
    (axes,) = plt.gcf().axes
    inks = [to_hex(text.get_color()) for text in axes.texts[1:]]
    grounds = [to_hex(patch.get_facecolor()) for patch in axes.patches]
    assert min(map(contrast, inks, grounds)) >= 4.5


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


@pytest.mark.parametrize(
    ("words", "weights", "titles", "message"),
    [
        (["a", "b"], [[1.0]], ["x"], "words must have one entry for each of the 1 columns of weights, got 2"),
        (["a"], [[1.0], [1.0]], ["x"], "titles must have one entry for each of the 2 rows of weights, got 1"),
        ([], torch.zeros(1, 0), ["x"], r"weights must have shape .* got \(1, 0\)"),
        ("ab", [[1.0, 1.0]], ["x"], "words must have .* got 'ab'"),
        (["a"], [[-1.0]], ["x"], "at least 0, got -1.0"),
        (["a"], [[float("nan")]], ["x"], "finite and at least 0, got nan"),
    ],
)
def test_draw_words_refuses_what_does_not_fit(words: Any, weights: Any, titles: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.draw_words(words, weights, titles)
