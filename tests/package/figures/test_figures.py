"""What a figure shows is what was given, can be read, and has the same bytes on another CPU."""

import io
import itertools
import re
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import font_manager
from matplotlib.colors import to_hex

import d2lmini as d2l
from d2lmini.figures.diagrams import _DIAGRAMS
from d2lmini.figures.plot import choose_faces
from tests.colours import contrast
from tests.package.refusals import rejected

STYLE = (resources.files("d2lmini.figures") / "style.mplstyle").read_text("utf-8")
TABLE, GROUPS = torch.tensor([[3, 1, 4], [1, 5, 9]]), torch.tensor([[0, 1, 2], [3, 0, 1]])


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


def svg() -> str:
    """The figure that was drawn last, as the file that a notebook stores."""
    buffer = io.StringIO()
    plt.gcf().savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@pytest.mark.parametrize("name", _DIAGRAMS)
def test_a_diagram_has_the_same_bytes_each_time_and_the_colours_that_a_dark_page_exchanges(name: str) -> None:
    pictures = [(d2l.draw_diagram(name), svg())[1] for _ in range(2)]
    used = set(re.findall(r"#([0-9a-f]{6})\b", pictures[0]))
    assert pictures[0] == pictures[1] and used <= set(re.findall(r"\b[0-9a-f]{6}\b", STYLE)) and len(used) >= 3


DRAWN: dict[str, Callable[[list[float]], Any]] = {
    "lines": lambda numbers: d2l.plot(range(6), numbers),
    "logarithmic lines": lambda numbers: d2l.plot(range(6), numbers, yscale="log"),
    "heatmap": lambda numbers: d2l.show_heatmaps([[[[*numbers, 0.0]]]], "keys", "queries"),
}


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e5])
@pytest.mark.parametrize("drawn", DRAWN)
def test_the_last_bit_is_not_shown_and_what_differs_is(drawn: str, unit: float) -> None:
    def draw(share: float, first: float = 0.25) -> str:
        DRAWN[drawn]([*(number * unit * share for number in (first, 1 / 3, 1 / 32, 0.99995, 0.5)), unit])
        return svg()

    eps = torch.finfo(torch.float32).eps
    assert draw(1 - eps if drawn == "heatmap" else 1.0) == draw(1 + eps) != draw(1.0, 0.255)


@pytest.mark.parametrize(("size", "levels"), [((3, 4), 256), ((9, 9), 256), ((60, 32), 24)])
@pytest.mark.parametrize("least", [0.5, -1.0])
def test_cells_have_colours_of_one_scale_from_0_or_below(size: tuple[int, int], levels: int, least: float) -> None:
    """Row 0 is on top, and cells that are not finite are empty."""
    torch.manual_seed(0)
    numbers = torch.linspace(least, 2.0, 2 * size[0] * size[1])
    maps = numbers[torch.randperm(len(numbers))].reshape(1, 2, *size)
    maps[0, 0, 1, 2], maps[0, 1, 2, 0] = torch.nan, -torch.inf
    d2l.show_heatmaps(maps, "x", "y", cmap="Blues")
    assert "<image" not in svg()
    low = min(least, 0.0)
    expected = mpl.colormaps["Blues"].resampled(levels)((maps[0].numpy() - low) / (2 - low))
    expected[~maps[0].isfinite()] = 0
    for panel, colours in zip(plt.gcf().axes[:2], expected, strict=True):
        shown = np.zeros((*size, 4))
        for mesh in panel.collections:
            shown += mesh.to_rgba(mesh.get_array())
        for patch in panel.patches:
            for rectangle in patch.get_path().to_polygons():
                (column, top), (end, bottom) = rectangle[0].astype(int), rectangle[2].astype(int)
                assert end == column + 1 and not shown[top:bottom, column].any(), "drawn twice"
                shown[top:bottom, column] = patch.get_facecolor()
        assert np.abs(shown - colours).max() < 2 / levels
        assert (panel.get_xlim(), panel.get_ylim()) == ((0, size[1]), (size[0], 0))


@pytest.mark.parametrize(("n", "labels"), [(1, "0"), (4, "0 1 2 3"), (60, "0 10 20 30 40 50"), (700, "0")])
def test_at_most_six_rows_have_numbers_and_yes_and_no_need_no_scale(n: int, labels: str) -> None:
    d2l.show_heatmaps(torch.zeros(1, 1, n, 1), "x", "y", ["title"], xticklabels=["name"])
    (axes,) = plt.gcf().axes
    assert axes.get_title() + axes.get_xlabel() + axes.get_xticklabels()[0].get_text() == "titlexname"
    ticks = {tick: label.get_text() for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)}
    assert ticks == {int(label) + 0.5: label for label in labels.split()}


@pytest.mark.parametrize("cmap", ["Purples", "Blues", "Greys", "viridis"])
@pytest.mark.parametrize(
    ("numbers", "fmt", "written"),
    [
        ([12345.0, 0.125, torch.nan], ".3f", ["12345.000", "0.125"]),
        ([1 / 3, -1e-9, 0.999], ".2f", ["0.33", "0.00", "1.00"]),
        ([i / 20 for i in range(-10, 11)], ".0f", [f"{round(i / 20)}" for i in range(-10, 11)]),
    ],
)
def test_numbers_in_cells_are_those_given_and_can_be_read(
    numbers: list[float], fmt: str, written: list[str], cmap: str
) -> None:
    d2l.show_heatmaps([[[numbers]]], "x", "y", cmap=cmap, fmt=fmt)
    (axes,) = plt.gcf().axes  # no scale beside it
    assert [text.get_text() for text in axes.texts] == written
    mesh = axes.collections[0]
    for j, (text, ground) in enumerate(zip(axes.texts, mesh.to_rgba(mesh.get_array())[0], strict=False)):
        assert text.get_position() == (j + 0.5, 0.5) and contrast(to_hex(text.get_color()), to_hex(ground)) >= 4.5


def test_each_entry_of_a_table_has_the_colour_of_its_group() -> None:
    d2l.show_tables([TABLE, [["A"], ["B"]]], [GROUPS, GROUPS[:, :1]], ["all", "first"], (4, 2))
    entries = [(text, patch) for axes in plt.gcf().axes for text, patch in zip(axes.texts, axes.patches, strict=True)]
    assert "".join(text.get_text() for text, _ in entries) == "314159AB"
    assert all(np.allclose(patch.get_center(), text.get_position()) for text, patch in entries)
    groups = [*GROUPS.flatten().tolist(), *GROUPS[:, 0].tolist()]
    pairs = {(group, patch.get_facecolor()) for group, (_, patch) in zip(groups, entries, strict=True)}
    assert len(pairs) == len({colour for _, colour in pairs}) == 4


def test_the_heavier_a_word_the_darker_and_lines_break_between_words() -> None:
    words, weights = [*["lighthouse"] * 20, "."], torch.linspace(0, 1, 21)
    d2l.draw_words(words, torch.stack([weights, 5 * weights.flip(0)]), ["attention", "effect"])
    (axes,) = plt.gcf().axes
    assert [text.get_text() for text in axes.texts] == ["attention", *words, "effect", *words]
    inks = [to_hex(text.get_color()) for text in axes.texts if text.get_text() in words]
    assert all(contrast(ink, to_hex(p.get_facecolor())) >= 4.5 for ink, p in zip(inks, axes.patches, strict=True))
    shades = [-sum(patch.get_facecolor()) for patch in axes.patches]
    assert shades[:21] == sorted(shades[:21]) == pytest.approx(shades[:20:-1])  # relative to the largest of a row
    boxes = sorted((patch.get_y(), patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches)
    assert len({y for y, _, _ in boxes}) == 2 * 4 and max(end for _, _, end in boxes) <= axes.get_xlim()[1]
    assert all(y != below or end <= x for (y, _, end), (below, x, _) in itertools.pairwise(boxes)), "boxes overlap"


@pytest.mark.parametrize(
    ("X", "Y", "expected"),
    [
        (torch.tensor([1, 2]), torch.ones(2, 2, requires_grad=True), [([1, 2], [1, 1])] * 2),
        ([[1, 2], [3]], [np.array([3, 4]), torch.tensor([5])], [([1, 2], [3, 4]), ([3], [5])]),
        ([3, 4], None, [([0, 1], [3, 4])]),
        ([[3, 4], [5, 6, 7]], None, [([0, 1], [3, 4]), ([0, 1, 2], [5, 6, 7])]),
        ([1, 2], [[torch.tensor(3), 4]], [([1, 2], [3, 4])]),
    ],
)
def test_plot_takes_what_one_would_pass(X: Any, Y: Any, expected: Any) -> None:
    d2l.plot(X, Y)
    assert [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in plt.gca().lines] == expected


@pytest.mark.parametrize(("points", "mark"), [(12, "o"), (13, "None")])
def test_few_points_are_marked_also_on_a_logarithmic_axis(points: int, mark: str) -> None:
    d2l.plot(range(1, points + 1), range(points), xscale="log", legend=["a"])
    assert (plt.gca().get_xticks().tolist() == [*range(1, points + 1)]) == (mark == "o")
    assert plt.gca().lines[0].get_marker() == mark


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4))
@settings(max_examples=20)
def test_each_line_has_its_name_at_its_end_and_no_two_lie_on_each_other(ends: list[float]) -> None:
    d2l.plot([1, 2], [[0.0, end] for end in ends], legend=[f"line {i}" for i in range(len(ends))])
    names = {text.get_text(): text for text in plt.gca().texts}
    heights = [names[f"line {i}"].xy[1] for i in range(len(ends))]  # type: ignore[attr-defined]
    assert all(-1e-3 <= height <= 1 for height in heights)
    assert all(abs(a - b) > 0.07 for a, b in itertools.combinations(heights, 2))
    assert all(
        (a < b) == (c < d)
        for (a, c), (b, d) in itertools.permutations(zip(ends, heights, strict=True), 2)
        if abs(a - b) > 1
    )
    assert [names[f"line {i}"].get_color() for i in range(len(ends))] == [line.get_color() for line in plt.gca().lines]
    plt.close("all")


def test_lines_stay_apart_in_grey_and_on_white() -> None:
    """Each line has its own dashes, and 4.5 to 1 contrast to the ground (WCAG AA for text)."""
    d2l.plot([1, 2])
    cycle = list(mpl.rcParams["axes.prop_cycle"])
    assert len({str(entry["linestyle"]) for entry in cycle}) == len(cycle) == 4
    assert all(contrast(entry["color"], "ffffff") >= 4.5 for entry in cycle)


def test_a_notebook_stores_svg_without_a_date_and_png() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    formatters = InteractiveShell.instance().display_formatter.formatters
    try:
        d2l.plot([1, 2], [3, 4])
        shown = formatters["image/svg+xml"](plt.gcf())
        assert "<svg" in shown and "<dc:date>" not in shown and formatters["image/png"](plt.gcf())
    finally:
        InteractiveShell.clear_instance()


@pytest.mark.parametrize("face", ["SourceSansPro", "DejaVuSans"])
def test_figures_have_the_face_of_the_pages_where_it_is_installed(face: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if face == "DejaVuSans":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    choose_faces.cache_clear()
    d2l.plot([1, 2, 3], xlabel="wǒ → 1")
    choose_faces.cache_clear()
    assert face in font_manager.findfont(plt.gca().xaxis.label.get_fontproperties())


def heat(*shape: int, **options: Any) -> Callable[[], None]:
    return lambda: d2l.show_heatmaps(torch.zeros(shape), "x", "y", **options)


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.draw_diagram("tree"), r"name must be one of 'attention pooling', .*, got 'tree'"),
    (heat(1, 0, 2, 2), r"none of them 0, got \(1, 0, 2, 2\)"),
    (heat(1, 2, 2, 2, titles=["a"]), "titles .* 2 columns, got 1"),
    (heat(1, 1, 2, 3, xticklabels=["a"]), "xticklabels .* 3 columns"),
    (heat(1, 1, 2, 3, yticklabels="abc"), "2 rows, got 'abc'"),
    (lambda: d2l.show_tables([TABLE], [], ["a"], (4, 2)), "groups .* 1 tables, got 0"),
    (lambda: d2l.show_tables([TABLE], [GROUPS], "a", (4, 2)), "titles .* got 'a'"),
    (lambda: d2l.show_tables([TABLE], [GROUPS.T], ["a"], (4, 2)), r"table 0 .* \(2, 3\), .*\(3, 2\)"),
    (lambda: d2l.show_tables([TABLE], [GROUPS + 1], ["a"], (4, 2)), "groups of table 0 must lie in 0..3, .*4"),
    (lambda: d2l.draw_words(["a", "b"], [[1.0]], ["x"]), "words .* 1 columns of weights, got 2"),
    (lambda: d2l.draw_words(["a"], [[1.0], [1.0]], ["x"]), "titles .* 2 rows of weights, got 1"),
    (lambda: d2l.draw_words([], torch.zeros(1, 0), ["x"]), r"weights must have shape .* got \(1, 0\)"),
    (lambda: d2l.draw_words(["a"], [[-1.0]], ["x"]), "weights .* at least 0, got -1.0"),
    (lambda: d2l.plot([1, 2], [[1, 2]], legend=["a", "b"]), "legend must have one entry .* 1 lines, got 2"),
    (lambda: d2l.plot([1, 2], [[1, 2], [3, 4]], fmts=["-"]), "fmts must have one entry .* 2 lines, got 1"),
    (lambda: d2l.plot([[1], [2], [3]], [[1], [2]]), "X must have one entry .* 2 lines, got 3"),
)
