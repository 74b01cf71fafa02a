"""Figures: what they show, that their bytes survive another CPU, and that their colours can be told apart."""

from __future__ import annotations

import io
import math
import re
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import d2lmini as d2l


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


def lines() -> list[tuple[list[float], list[float]]]:
    return [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in plt.gca().lines]


def svg() -> str:
    buffer = io.StringIO()
    plt.gcf().savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("X", "Y", "expected"),
    [
        ([1, 2], [3, 4], [([1, 2], [3, 4])]),
        (
            torch.tensor([1, 2]),
            torch.tensor([[3.0, 4], [5, 6]], requires_grad=True),
            [([1, 2], [3, 4]), ([1, 2], [5, 6])],
        ),
        ([[1, 2], [3]], [np.array([3, 4]), torch.tensor([5])], [([1, 2], [3, 4]), ([3], [5])]),
        ([3, 4], None, [([0, 1], [3, 4])]),
        ([[3, 4], [5, 6, 7]], None, [([0, 1], [3, 4]), ([0, 1, 2], [5, 6, 7])]),
        ([1, 2], [[torch.tensor(3), 4]], [([1, 2], [3, 4])]),
    ],
)
def test_plot_takes_what_one_would_pass(X: Any, Y: Any, expected: Any) -> None:
    d2l.plot(X, Y)
    assert lines() == expected


def test_plot_labels_scales_and_limits() -> None:
    d2l.plot([1, 10], [[1, 2], [3, 4]], "x", "y", ["a", "b"], (1, 10), (0, 5), "log", fmts=["-", "m--"], figsize=(3, 2))
    axes = plt.gca()
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == ("x", "y", "log")
    assert (axes.get_xlim(), axes.get_ylim()) == ((1, 10), (0, 5))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]
    assert plt.gcf().get_size_inches().tolist() == [3, 2]


def test_a_logarithmic_axis_is_marked_at_what_was_measured() -> None:
    d2l.plot([1, 4, 16], [1, 2, 3], xscale="log")
    assert [tick.get_text() for tick in plt.gca().get_xticklabels()] == ["1", "4", "16"]
    assert plt.gca().lines[0].get_marker() == "o"
    d2l.plot(range(1, 100), range(1, 100), xscale="log")
    assert len(plt.gca().get_xticks()) < 20 and plt.gca().lines[0].get_marker() == "None"


def test_plot_into_given_axes() -> None:
    axes = plt.figure().add_subplot()
    d2l.plot([1, 2], [3, 4], axes=axes)
    assert len(axes.lines) == 1 and len(plt.get_fignums()) == 1


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e5])
@pytest.mark.parametrize("number", [0.25, 1 / 3, 1 / 32, 0.03125, 0.99995])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_figures_do_not_show_the_last_bit(number: float, unit: float, scale: str) -> None:
    pictures = []
    for factor in (1.0, 1 + torch.finfo(torch.float32).eps):
        noisy = number * unit * factor
        d2l.plot([1, 2, 3], [noisy, 0.5 * unit, unit], yscale=scale)
        pictures.append(svg())
        d2l.show_heatmaps(torch.tensor([[[[noisy, 0.5 * unit], [unit, 0.0]]]], dtype=torch.float64), "keys", "queries")
        pictures.append(svg())
    assert pictures[0] == pictures[2] and pictures[1] == pictures[3]


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e5])
def test_figures_show_what_differs(unit: float) -> None:
    pictures = []
    for number in (0.25, 0.255):
        d2l.plot([1, 2], [number * unit, 0.5 * unit])
        pictures.append(svg())
        d2l.show_heatmaps([[[[number * unit, 0.5 * unit]]]], "keys", "queries")
        pictures.append(svg())
    assert pictures[0] != pictures[2] and pictures[1] != pictures[3]


def test_small_numbers_survive_on_a_logarithmic_axis() -> None:
    d2l.plot([1, 2], [1.23456789e-7, 3e-7], yscale="log")
    assert plt.gca().get_yscale() == "log"
    assert lines()[0][1] == [1.2346e-7, 3e-7]


def test_a_second_plot_into_the_same_axes_adds_to_the_first() -> None:
    axes = plt.figure().add_subplot()
    d2l.plot([1, 2], [3, 4], xlabel="x", ylabel="y", legend=["a"], axes=axes)
    d2l.plot([1, 2], [5, 6], legend=["b"], axes=axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


def test_bars_stand_at_the_points() -> None:
    d2l.plot([1, 2], [[3, 4], [5, 6]], bars=([[2, 3.5], [5, 5]], [[3.5, 5], [6, 7]]))
    segments = [[line.tolist() for line in bars.get_segments()] for bars in plt.gca().collections]
    assert segments == [[[[1, 2], [1, 3.5]], [[2, 3.5], [2, 5]]], [[[1, 5], [1, 6]], [[2, 5], [2, 7]]]]
    for bars, message in (
        (([1], [2]), r"bars must have ends for lines of \[2\] points, got \[\[1\], \[1\]\]"),
        (([1, 2],), "bars must be a pair"),
        ((), "bars must be a pair"),
    ):
        with pytest.raises(ValueError, match=message):
            d2l.plot([1, 2], [3, 4], bars=bars)


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


@pytest.mark.parametrize(
    ("count", "labels"), [(1, "0"), (4, "0 1 2 3"), (12, "0 2 4 6 8 10"), (60, "0 10 20 30 40 50")]
)
def test_ticks_of_a_heatmap_name_rows_and_columns(count: int, labels: str) -> None:
    d2l.show_heatmaps(torch.zeros(1, 1, count, 1), "x", "y")
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


def test_figures_are_vector_graphics() -> None:
    d2l.show_heatmaps(torch.rand(1, 1, 4, 4), "x", "y")
    assert "<image" not in svg()


def test_lines_stay_apart_in_grey_and_on_white() -> None:
    """Each line has its own dashes, and 4.5 to 1 contrast to the ground (WCAG AA for text)."""
    d2l.use_svg_display()
    cycle = list(mpl.rcParams["axes.prop_cycle"])
    assert len({str(entry["linestyle"]) for entry in cycle}) == len(cycle) == 4
    for entry in cycle:
        assert contrast(entry["color"], "ffffff") >= 4.5


def test_figures_do_not_need_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    d2l.plot([1, 2], [3, 4])
    assert lines() == [([1, 2], [3, 4])]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.1 between two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour.lstrip("#")[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_notebook_stores_svg_without_a_date_and_png() -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from matplotlib_inline import backend_inline

    shell = InteractiveShell.instance()
    try:
        d2l.use_svg_display()
        d2l.plot([1, 2], [3, 4])
        formatters = shell.display_formatter.formatters
        shown = formatters["image/svg+xml"](plt.gcf())
        assert "<svg" in shown and not re.search(r"<dc:date>", shown)
        assert formatters["image/png"](plt.gcf())
        assert backend_inline  # what the formats were set with
    finally:
        InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d2l.plot([1, 2], [[1, 2]], legend=["a", "b"]), "legend must have one entry .* 1 lines, got 2"),
        (lambda: d2l.plot([1, 2], [[1, 2], [3, 4]], fmts=["-"]), "fmts must have one entry .* 2 lines, got 1"),
        (lambda: d2l.plot([[1], [2], [3]], [[1], [2]]), "X must have one entry .* 2 lines, got 3"),
        (lambda: d2l.plot([1, 2, 3], [1, 2]), "line 0 has 3 abscissae in X but 2 ordinates in Y"),
        (lambda: d2l.plot([1, 2], [[1, 2], [3, 4]], legend="ab"), "legend must have one entry .* got 'ab'"),
        (lambda: d2l.show_heatmaps(torch.zeros(2, 2), "x", "y"), r"matrices must have shape .* got \(2, 2\)"),
        (lambda: d2l.show_heatmaps(torch.zeros(1, 0, 2, 2), "x", "y"), r"none of them 0, got \(1, 0, 2, 2\)"),
        (lambda: d2l.show_heatmaps(torch.zeros(1, 2, 2, 2), "x", "y", titles=["a"]), "titles .* 2 columns, got 1"),
        (lambda: d2l.show_heatmaps(torch.zeros(1, 1, 2, 3), "x", "y", xticklabels=["a"]), "xticklabels .* 3 columns"),
        (lambda: d2l.show_heatmaps(torch.zeros(1, 1, 2, 3), "x", "y", fmt=".2x"), "fmt must be a format .* got '.2x'"),
        (
            lambda: d2l.show_heatmaps(torch.zeros(1, 1, 2, 3), "x", "y", yticklabels="abc"),
            "yticklabels .* 2 rows, got 'abc'",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


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
            assert {tuple(corner) for corner in rectangle[:4]} == {
                (x, y) for x in (column, column + 1) for y in (top, bottom)
            }
            shown[top:bottom, column] = patch.get_facecolor()
    assert not shown[3, 4].any()
    shown[3, 4] = expected[3, 4]
    assert np.abs(shown - expected).max() < 2 / levels
    assert len(svg()) < 120_000
