"""Lines: what they show, that their bytes survive another CPU, and that their colours can be told apart."""

import re
import sys
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib import font_manager

import d2lmini as d2l
from d2lmini.figures.plot import choose_faces, use_svg_display
from tests.colours import contrast
from tests.package.figures.pictures import svg
from tests.package.refusals import rejected


def lines() -> list[tuple[list[float], list[float]]]:
    return [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in plt.gca().lines]


@pytest.mark.parametrize(
    ("X", "Y", "expected"),
    [
        ([1, 2], [3, 4], [([1, 2], [3, 4])]),
        (torch.tensor([1, 2]), torch.ones(1, 2, requires_grad=True), [([1, 2], [1, 1])]),
        ([1, 2], torch.tensor([[3, 4], [5, 6]]), [([1, 2], [3, 4]), ([1, 2], [5, 6])]),
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


DRAWN: dict[str, Callable[[list[float]], Any]] = {
    "lines": lambda numbers: d2l.plot(range(6), numbers, bars=(numbers, [numbers[-1]] * 6)),
    "logarithmic lines": lambda numbers: d2l.plot(range(6), numbers, yscale="log", bars=(numbers, [numbers[-1]] * 6)),
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


def test_small_numbers_survive_on_a_logarithmic_axis() -> None:
    d2l.plot([1, 2], [1.23456789e-7, 3e-7], yscale="log")
    assert plt.gca().get_yscale() == "log"
    assert lines()[0][1] == [1.2346e-7, 3e-7]


def test_a_second_plot_into_the_same_axes_adds_to_the_first() -> None:
    axes = plt.figure().add_subplot()
    plt.figure()
    d2l.plot([1, 2], [3, 4], xlabel="x", ylabel="y", legend=["a"], axes=axes)
    d2l.plot([1, 2], [5, 6], legend=["b"], axes=axes)
    assert len(axes.lines) == 2 and (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


def test_bars_stand_at_the_points() -> None:
    d2l.plot([1, 2], [[3, 4], [5, 6]], bars=([[2, 3.5], [5, 5]], [[3.5, 5], [6, 7]]))
    segments = [[line.tolist() for line in bars.get_segments()] for bars in plt.gca().collections]
    assert segments == [[[[1, 2], [1, 3.5]], [[2, 3.5], [2, 5]]], [[[1, 5], [1, 6]], [[2, 5], [2, 7]]]]


def test_lines_stay_apart_in_grey_and_on_white() -> None:
    """Each line has its own dashes, and 4.5 to 1 contrast to the ground (WCAG AA for text)."""
    use_svg_display()
    cycle = list(mpl.rcParams["axes.prop_cycle"])
    assert len({str(entry["linestyle"]) for entry in cycle}) == len(cycle) == 4
    for entry in cycle:
        assert contrast(entry["color"], "ffffff") >= 4.5


def test_figures_do_not_need_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    d2l.plot([1, 2], [3, 4])
    assert lines() == [([1, 2], [3, 4])]


def test_a_notebook_stores_svg_without_a_date_and_png() -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from matplotlib_inline import backend_inline

    shell = InteractiveShell.instance()
    try:
        use_svg_display()
        d2l.plot([1, 2], [3, 4])
        formatters = shell.display_formatter.formatters
        shown = formatters["image/svg+xml"](plt.gcf())
        assert "<svg" in shown and not re.search(r"<dc:date>", shown)
        assert formatters["image/png"](plt.gcf())
        assert backend_inline  # what the formats were set with
    finally:
        InteractiveShell.clear_instance()


test_bad_input_is_refused_by_name = rejected(
    (lambda: d2l.plot([1, 2], [3, 4], bars=([1], [2])), r"ends for lines of \[2\] points, got \[\[1\], \[1\]\]"),
    (lambda: d2l.plot([1, 2], [3, 4], bars=([1, 2],)), "bars must be a pair"),
    (lambda: d2l.plot([1, 2], [3, 4], bars=()), "bars must be a pair"),
    (lambda: d2l.plot([1, 2], [[1, 2]], legend=["a", "b"]), "legend must have one entry .* 1 lines, got 2"),
    (lambda: d2l.plot([1, 2], [[1, 2], [3, 4]], fmts=["-"]), "fmts must have one entry .* 2 lines, got 1"),
    (lambda: d2l.plot([[1], [2], [3]], [[1], [2]]), "X must have one entry .* 2 lines, got 3"),
    (lambda: d2l.plot([1, 2, 3], [1, 2]), "line 0 has 3 abscissae in X but 2 ordinates in Y"),
    (lambda: d2l.plot([1, 2], [[1, 2], [3, 4]], legend="ab"), "legend must have one entry .* got 'ab'"),
)


def test_figures_have_the_face_of_the_pages_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    d2l.plot([1, 2, 3], xlabel="wǒ → 1")
    label = plt.gca().xaxis.label
    assert "SourceSansPro" in font_manager.findfont(label.get_fontproperties())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    choose_faces.cache_clear()
    d2l.plot([1, 2, 3], xlabel="wǒ → 1")
    assert "DejaVuSans" in font_manager.findfont(plt.gca().xaxis.label.get_fontproperties())
    choose_faces.cache_clear()
