"""Figures in one style: vector graphics whose bytes are the same on every machine.

The functions round their data before drawing, so that a figure of an exactly known quantity can be compared byte
for byte although two CPUs may differ in the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import NullLocator
from torch import Tensor

__all__ = ["plot", "show_heatmaps", "use_svg_display"]


_FEW_CELLS, _MANY_CELLS = 60, 500  # see show_heatmaps and _draw_runs
_FEW_POINTS = 12  # up to here each point gets a mark: it was measured, the line between was not


def use_svg_display() -> None:
    """Draw figures in the style of this book; in a notebook, store them as SVG and as PNG.

    The drawing functions of this module call it by themselves. The SVG is what the book shows and what tests compare;
    the PNG is for viewers that hide the SVG of a notebook they do not trust.
    """
    plt.style.use(str(resources.files(__package__) / "style.mplstyle"))
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    if get_ipython() is not None:
        set_matplotlib_formats("svg", "png", metadata={"Date": None})


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
    axes: Axes | None = None,
    *,
    bars: tuple[Any, Any] | None = None,
) -> None:
    """Plot one or several lines.

    Args:
        X: abscissae: one sequence for all lines, or a list with one for each. Without ``Y`` these are the ordinates,
            plotted over 0, 1, 2, ...
        Y: ordinates: a sequence, or a list of sequences. Tensors and arrays of two dimensions count as lists of rows.
        xlabel: label of the x-axis.
        ylabel: label of the y-axis.
        legend: one name a line, or none.
        xlim: limits of the x-axis.
        ylim: limits of the y-axis.
        xscale: ``"linear"`` or ``"log"``, as in matplotlib. A logarithmic axis with few points is marked at these.
        yscale: the same for the y-axis.
        fmts: matplotlib formats, one a line; by default the cycle of colours and dashes of the style.
        figsize: width and height of a new figure in inches.
        axes: where to draw; by default a new figure.
        bars: the lower and the upper ends of a vertical bar at each point, each of the form of ``Y``.

    Raises:
        ValueError: if there are not as many abscissae, names, formats or bars as lines, or a line has not as many
            abscissae or bars as ordinates.
    """
    use_svg_display()
    pairs = _paired(X, Y)
    for name, given in (("legend", legend), ("fmts", fmts)):
        if given is not None and (isinstance(given, str) or len(given) != len(pairs)):
            found = repr(given) if isinstance(given, str) else len(given)
            raise ValueError(f"{name} must have one entry for each of the {len(pairs)} lines, got {found}")
    ends = [] if bars is None else _bar_ends(bars, [len(x) for x, _ in pairs])
    if axes is None:
        axes = plt.figure(figsize=figsize).add_subplot()
    for i, (x, y) in enumerate(pairs):
        line = axes.plot(_rounded(x, xscale), _rounded(y, yscale), *([fmts[i]] if fmts else []))[0]
        if len(x) <= _FEW_POINTS and not fmts:
            line.set_marker("o")
        if ends:
            low, high = (_rounded(end[i], yscale) for end in ends)
            axes.vlines(_rounded(x, xscale), low, high, color=line.get_color(), linewidth=1.2)
        if legend is not None:
            line.set_label(legend[i])
    axes.set(xscale=xscale, yscale=yscale)
    settings = {"xlabel": xlabel, "ylabel": ylabel, "xlim": xlim, "ylim": ylim}
    axes.set(**{name: setting for name, setting in settings.items() if setting is not None})
    points = sorted({x for line, _ in pairs for x in _rounded(line, xscale).tolist() if x > 0})
    if xscale == "log" and len(points) <= _FEW_POINTS:
        axes.set_xticks(points, [f"{point:g}" for point in points])
        axes.xaxis.set_minor_locator(NullLocator())
    if legend is not None:
        axes.legend()


def show_heatmaps(
    matrices: Any,
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | None = None,
    figsize: tuple[float, float] = (2.5, 2.5),
    cmap: str = "Reds",
    *,
    xticklabels: Sequence[str] | None = None,
    yticklabels: Sequence[str] | None = None,
    fmt: str | None = None,
) -> None:
    """Show matrices as heatmaps, all on one colour scale. The scale begins at 0 unless a number is negative.

    Cells that are not finite, such as masked scores of minus infinity, stay empty. Matrices with more than 500 cells
    have the 24 colours of the scale beside them only, so that the file stays small.

    Args:
        matrices: ``(rows, columns, height, width)``: ``rows * columns`` matrices. Row 0 of a matrix is on top.
        xlabel: what the columns of a matrix are, for example ``"Keys"``.
        ylabel: what its rows are, for example ``"Queries"``.
        titles: a title for each column of the grid.
        figsize: width and height of the figure in inches.
        cmap: name of a matplotlib colour map.
        xticklabels: a name for each column of a matrix; by default some of them are numbered.
        yticklabels: a name for each row of a matrix.
        fmt: how to write the number into each cell, for example ``".2f"``; by default a scale beside the maps tells,
            unless all numbers are 0 or 1.

    Raises:
        ValueError: if ``matrices`` has not four dimensions or is empty, there are not as many titles or names as
            columns or rows, or ``fmt`` is no format for numbers.
    """
    use_svg_display()
    grid = _as_array(matrices)
    if grid.ndim != 4 or grid.size == 0:
        raise ValueError(f"matrices must have shape (rows, columns, height, width), none of them 0, got {grid.shape}")
    num_rows, num_cols, height, width = grid.shape
    check_names("titles", titles, num_cols, "columns")
    check_names("xticklabels", xticklabels, width, "columns")
    check_names("yticklabels", yticklabels, height, "rows")
    written = None if fmt is None else _written(grid, fmt)
    grid = _rounded(grid)
    finite = grid[np.isfinite(grid)]
    low, high = float(min(finite, default=0.0)), float(max(finite, default=0.0))
    low = min(0.0, low)
    high = high if high > low else low + 1.0
    scale = ScalarMappable(Normalize(low, high), cmap)
    figure, panels = plt.subplots(num_rows, num_cols, figsize=figsize, sharex=True, sharey=True, squeeze=False)
    # Rectangles rather than images: they stay sharp, and no compressed pixels enter the file.
    for (row, col), panel in np.ndenumerate(panels):
        cells = np.ma.masked_invalid(grid[row, col])
        if cells.size <= _FEW_CELLS:
            panel.pcolormesh(cells, cmap=cmap, vmin=low, vmax=high, edgecolors="face", linewidth=0.2)
        else:
            colours = scale.cmap if cells.size <= _MANY_CELLS else _resampled(scale.cmap)
            _draw_runs(panel, np.ma.asarray(scale.norm(cells)), colours)
        panel.set(aspect="equal", xlim=(0, width), ylim=(height, 0))
        _frame(panel, _cell_ticks(width, xticklabels), _cell_ticks(height, yticklabels))
        if row == num_rows - 1:
            panel.set_xlabel(xlabel)
        if col == 0:
            panel.set_ylabel(ylabel)
        if titles is not None and row == 0:
            panel.set_title(titles[col])
        if written is not None:
            _write_numbers(panel, scale.to_rgba(cells), written[row, col])
    # Where numbers stand in the cells, or all of them are 0 or 1, nobody needs a scale.
    if written is None and not set(np.unique(finite)) <= {0.0, 1.0}:
        # Fewer than 50 colours in the bar, or matplotlib would draw it as compressed pixels.
        bar = figure.colorbar(ScalarMappable(scale.norm, _resampled(scale.cmap)), ax=panels, shrink=0.7)
        bar.solids.set_edgecolor("face")  # type: ignore[union-attr]
        bar.outline.set_visible(False)


def _frame(panel: Axes, xticks: tuple[list[float], list[str]], yticks: tuple[list[float], list[str]]) -> None:
    """No lines but the names beside the cells."""
    panel.grid(visible=False)
    panel.set_xticks(*xticks)
    panel.set_yticks(*yticks)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def _paired(X: Any, Y: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """The abscissae and ordinates of each line."""
    lines = _as_lines(X) if Y is None else _as_lines(Y)
    abscissae = [np.arange(len(line)) for line in lines] if Y is None else _as_lines(X)
    if len(abscissae) == 1:
        abscissae = abscissae * len(lines)
    if len(abscissae) != len(lines):
        raise ValueError(f"X must have one entry for each of the {len(lines)} lines, got {len(abscissae)}")
    for i, (x, y) in enumerate(zip(abscissae, lines, strict=True)):
        if len(x) != len(y):
            raise ValueError(f"line {i} has {len(x)} abscissae in X but {len(y)} ordinates in Y")
    return list(zip(abscissae, lines, strict=True))


def _bar_ends(bars: tuple[Any, Any], lengths: list[int]) -> list[list[np.ndarray]]:
    """The lower and the upper ends of the bars of each line."""
    if not isinstance(bars, tuple) or len(bars) != 2:
        raise ValueError(f"bars must be a pair (lower ends, upper ends), got {bars!r}")
    ends = [_as_lines(end) for end in bars]
    if any([len(line) for line in end] != lengths for end in ends):
        raise ValueError(
            f"bars must have ends for lines of {lengths} points, got {[list(map(len, end)) for end in ends]}"
        )
    return ends


def check_names(name: str, given: Sequence[str] | None, count: int, what: str) -> None:
    """Check that there is one name for each of ``count`` rows or columns.

    Raises:
        ValueError: if not.
    """
    if given is not None and (isinstance(given, str) or len(given) != count):
        found = repr(given) if isinstance(given, str) else len(given)
        raise ValueError(f"{name} must have one entry for each of the {count} {what}, got {found}")


def _written(numbers: np.ndarray, fmt: str) -> np.ndarray:
    """The numbers as text, without the last bits and without a sign of zero; nothing for those that are not finite."""
    try:
        texts = [format(float(f"{number:.7g}"), fmt) if np.isfinite(number) else "" for number in numbers.flat]
    except ValueError as error:
        raise ValueError(f"fmt must be a format for numbers such as '.2f', got {fmt!r}") from error
    return np.array([text if text.strip("-0.") else text.lstrip("-") for text in texts]).reshape(numbers.shape)


def _draw_runs(panel: Axes, shares: np.ma.MaskedArray, cmap: Colormap) -> None:
    """The same as ``pcolormesh``, in a smaller file: 300 bytes for each cell would be too many.

    Neighbours of one colour in a column are one rectangle, and all rectangles of a colour are one path. ``shares``
    are numbers in 0..1.
    """
    levels = np.minimum(shares.filled(-1.0) * cmap.N, cmap.N - 1).astype(int)
    runs: dict[int, list[Path]] = {}
    for column, entries in enumerate(levels.T):
        edges = [0, *(np.flatnonzero(np.diff(entries)) + 1).tolist(), len(entries)]
        for top, bottom in pairwise(edges):
            corners = [(column, top), (column + 1, top), (column + 1, bottom), (column, bottom), (column, top)]
            runs.setdefault(int(entries[top]), []).append(Path(corners, closed=True))
    for level, paths in sorted(runs.items()):
        if level >= 0:
            panel.add_patch(PathPatch(Path.make_compound_path(*paths), color=cmap(level), linewidth=0.2))


def _resampled(cmap: Colormap) -> Colormap:
    return cmap.resampled(24)


def _write_numbers(panel: Axes, colours: np.ndarray, texts: np.ndarray) -> None:
    """The numbers in their cells, dark on light and light on dark, whatever the theme of the page."""
    for (i, j), text in np.ndenumerate(texts):
        if not text:
            continue
        colour = colours[i, j, :3]
        linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        light = linear @ [0.2126, 0.7152, 0.0722] > 0.179  # where black and white are equally easy to read
        ink = "#000000" if light else "#fefefe"
        panel.text(j + 0.5, i + 0.5, text, color=ink, fontsize=9, ha="center", va="center")


def _cell_ticks(count: int, labels: Sequence[str] | None) -> tuple[list[float], list[str]]:
    """Positions and labels of ticks at the middle of the cells: of all if they have names, else of six at most."""
    if labels is not None:
        return [i + 0.5 for i in range(count)], list(labels)
    step = next(s for power in (1, 10, 100, 1000, 10000) for s in (power, 2 * power, 5 * power) if count / s <= 6)
    indices = range(0, count, step)
    return [i + 0.5 for i in indices], [str(i) for i in indices]


def _as_array(numbers: Any) -> np.ndarray:
    if isinstance(numbers, Tensor):
        numbers = numbers.detach().cpu().double()
    elif isinstance(numbers, (list, tuple)):
        return np.array([_as_array(entry) for entry in numbers], dtype=float)
    return np.asarray(numbers, dtype=float)


def _as_lines(numbers: Any) -> list[np.ndarray]:
    """Whatever holds one line or several, as a list of one-dimensional arrays."""
    several = isinstance(numbers, (list, tuple)) and any(np.ndim(entry) > 0 for entry in numbers)
    if several:
        return [_as_array(entry) for entry in numbers]
    array = _as_array(numbers)
    return list(array) if array.ndim == 2 else [array]


def _rounded(numbers: np.ndarray, scale: str = "linear") -> np.ndarray:
    """Four digits below the largest number, on a logarithmic axis five digits each: the last bit does not show.

    Rounded twice, so that a number half-way between two results falls to the same side on every machine.
    """
    if scale == "log":
        return np.array([float(f"{float(f'{number:.8g}'):.5g}") for number in numbers])
    largest = float(np.max(np.abs(numbers), where=np.isfinite(numbers), initial=0.0))
    decimals = 4 - math.floor(math.log10(largest)) if largest > 0 else 4
    return np.round(np.round(numbers, decimals + 3), decimals)
