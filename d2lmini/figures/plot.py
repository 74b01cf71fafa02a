"""Line plots in one style: vector graphics that can be compared as text and numbers.

The figures of this book round their data before drawing, so that two CPUs that differ in the last bit draw the same.
"""

import importlib.util
import math
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from d2lmini.checks import check_names

__all__ = ["plot", "use_svg_display"]

_LINE, _AROUND = 0.17, 0.6  # inches: from one name to the next, and of a figure outside its axes
_FEW_POINTS = 12  # up to this many, each point gets a mark: it was measured, the line between was not


def plot(
    X: Any,
    Y: Any = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    legend: Sequence[str] | None = None,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    xscale: str = "linear",
    yscale: str = "linear",
    fmts: Sequence[str] | None = None,
    figsize: tuple[float, float] = (4.5, 2.8),
    *,
    marks: Sequence[tuple[float, float, str]] = (),
) -> None:
    """Plot one or more lines.

    Chapter: Attention pooling.

    Args:
        X: abscissae: one sequence for all lines, or a list with one for each. Without `Y` these are the ordinates,
            plotted against 0, 1, 2, ...
        Y: ordinates: a sequence, or a list of sequences. Tensors and arrays of two dimensions count as lists of rows.
        xlabel: label of the x-axis.
        ylabel: label of the y-axis.
        legend: one name per line, written at its end, or none.
        xlim: limits of the x-axis.
        ylim: limits of the y-axis.
        xscale: `"linear"` or `"log"`, as in matplotlib. With few points, a logarithmic axis has its ticks at them.
        yscale: the same for the y-axis.
        fmts: matplotlib formats, one per line; by default the cycle of colours and dashes of the style.
        figsize: width and height of the figure in inches.
        marks: points that the text speaks of, each with its word: x, y, word.

    Raises:
        ValueError: if there are not as many abscissae, names or formats as lines, or points lack a coordinate.

    >>> d2l.plot([1, 2, 4], [1, 4, 16], xlabel="n", ylabel="n²")
    """
    use_svg_display()
    lines = [(round_numbers(x, xscale), round_numbers(y, yscale)) for x, y in _pair(X, Y)]
    check_names("legend", legend, len(lines), "lines")
    check_names("fmts", fmts, len(lines), "lines")
    axes = plt.figure(figsize=figsize).add_subplot()
    for (x, y), fmt, name in zip(lines, fmts or repeat(None), legend or repeat(None), strict=False):
        (line,) = axes.plot(x, y, *([] if fmt is None else [fmt]), label=name)
        if len(x) <= _FEW_POINTS and fmt is None:
            line.set_marker("o")
    settings = {"xscale": xscale, "yscale": yscale, "xlabel": xlabel, "ylabel": ylabel, "xlim": xlim, "ylim": ylim}
    axes.set(**{setting: value for setting, value in settings.items() if value is not None})
    measured = sorted({point for x, _ in lines for point in x.tolist() if point > 0})
    if xscale == "log" and len(measured) <= _FEW_POINTS:
        axes.set_xticks(measured, [f"{point:g}" for point in measured])
        axes.set_xticks([], minor=True)
    if legend is not None:
        name_lines(axes)
    for place in marks:
        axes.plot(*place[:2], "o", color="C3", label="_", zorder=3)
        axes.annotate(place[2], place[:2], (7, 7), textcoords="offset points", color="C3")


def name_lines(axes: Axes) -> None:
    """Write the name of each line beside its end, in its colour: nobody needs to match colours with a legend.

    Names that would lie on each other are moved apart, from below; those that then stand too high, from above.
    """
    named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    gap = _LINE / (axes.figure.get_size_inches()[1] - _AROUND)  # type: ignore[union-attr]
    places = [round(min(1.0, max(0.0, find_end(axes, line))), 3) for line in named]
    order = sorted(range(len(named)), key=lambda i: (places[i], -i))
    for below, above in pairwise(order):
        places[above] = max(places[above], places[below] + gap)
    limit = 1.0
    for i in reversed(order):
        places[i] = min(places[i], limit)
        limit = places[i] - gap
    for line, place in zip(named, places, strict=True):
        axes.annotate(
            str(line.get_label()), (1, round(place, 3)), (5, 0), "axes fraction", "offset points",
            color=line.get_color(), va="center", annotation_clip=False,
        )  # fmt: skip


def find_end(axes: Axes, line: Line2D) -> float:
    """How high a line ends, as a part of the height of its axes."""
    points = np.asarray(line.get_xydata(), dtype=float)
    low, high = axes.get_xlim()
    seen = points[np.isfinite(points).all(axis=1) & (low <= points[:, 0]) & (points[:, 0] <= high)]
    end = seen[-1] if len(seen) else (0.0, 0.0)
    return float(axes.transAxes.inverted().transform(axes.transData.transform(end))[1])


@cache
def choose_faces() -> list[str]:
    """The sans of the book's pages where it is installed, and what matplotlib brings for the signs that it lacks."""
    spec = importlib.util.find_spec("font_source_sans_pro")
    folders = spec.submodule_search_locations if spec else None
    for path in Path(folders[0]).glob("files/*.otf") if folders else ():
        font_manager.fontManager.addfont(path)
    return [*(["Source Sans Pro"] if folders else []), "DejaVu Sans"]


def use_svg_display() -> None:
    """Draw figures in the style of this book; in a notebook, store them as SVG and as PNG.

    Every function that draws calls it first. The SVG is what the book shows and what tests compare, and where Jupyter
    is dark, it is; the PNG is for viewers that hide the SVG of a notebook they do not trust.
    """
    plt.style.use(str(resources.files(__package__) / "style.mplstyle"))
    plt.rcParams["font.family"] = choose_faces()
    if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()):
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", "png", metadata={"Date": None})
        formatter = shell.display_formatter.formatters["image/svg+xml"]
        draw = formatter.for_type(Figure)
        formatter.for_type(Figure, lambda figure: bear_dark(draw(figure)))


def bear_dark(svg: str) -> str:
    """A figure that changes its palette where the ground around it is dark; the colours of data stay."""
    style = (resources.files(__package__) / "dark.css").read_text("utf-8")
    return re.sub(r"<svg\b[^>]*>", lambda tag: f'{tag[0]}<style id="dark">{style}</style>', svg, count=1)


def as_array(numbers: Any) -> np.ndarray:
    """A tensor, or lists of numbers and tensors, as an array of float64."""
    if isinstance(numbers, Tensor):
        numbers = numbers.detach().cpu().double()
    elif isinstance(numbers, (list, tuple)):
        return np.array([as_array(entry) for entry in numbers], dtype=float)
    return np.asarray(numbers, dtype=float)


def round_numbers(numbers: np.ndarray, scale: str = "linear") -> np.ndarray:
    """Keep four digits below the largest number, or five each on a logarithmic axis: the last bit does not show.

    Rounded twice, so that a number half-way between two results falls to the same side on every machine.
    """
    if scale == "log":
        return np.array([float(f"{float(f'{number:.8g}'):.5g}") for number in numbers])
    largest = float(np.max(np.abs(numbers), where=np.isfinite(numbers), initial=0.0))
    decimals = 4 - math.floor(math.log10(largest)) if largest > 0 else 4
    return np.round(np.round(numbers, decimals + 3), decimals)


def _pair(X: Any, Y: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """The abscissae and ordinates of each line."""
    lines = _split_lines(X if Y is None else Y)
    abscissae = [np.arange(len(line)) for line in lines] if Y is None else _split_lines(X)
    if len(abscissae) == 1:
        abscissae *= len(lines)
    check_names("X", abscissae, len(lines), "lines")
    return list(zip(abscissae, lines, strict=True))


def _split_lines(numbers: Any) -> list[np.ndarray]:
    """Whatever holds one line or several, as a list of one-dimensional arrays."""
    if isinstance(numbers, (list, tuple)) and any(np.ndim(entry) > 0 for entry in numbers):
        return [as_array(entry) for entry in numbers]
    array = as_array(numbers)
    return list(array) if array.ndim == 2 else [array]
