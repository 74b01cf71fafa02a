"""Maps of data: numbers as colours, small tables with a colour for each group, words shaded by weight."""

from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from torch import Tensor

from d2lmini.checks import check_names
from d2lmini.figures.parts import open_sheet
from d2lmini.figures.plot import as_array, round_numbers, use_svg_display

__all__ = ["draw_words", "show_heatmaps", "show_tables"]

_FEW_CELLS, _MANY_CELLS = 60, 500  # see show_heatmaps and _draw_runs
# The inks in coloured cells, which change places on a dark page; groups differ in lightness too.
_BLACK, _WHITE = "#000000", "#fefefe"
_GROUP_COLOURS = ("#e3effc", "#f3b27a", "#8fd0b8", "#c9a6dc")


def show_heatmaps(
    matrices: Any,
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | None = None,
    figsize: tuple[float, float] = (2.5, 2.5),
    cmap: str = "Purples",
    *,
    xticklabels: Sequence[str] | None = None,
    yticklabels: Sequence[str] | None = None,
    fmt: str | None = None,
) -> None:
    """Show matrices as heatmaps, all on one colour scale. The scale begins at 0 unless a number is negative.

    Cells that are not finite, such as masked scores of minus infinity, stay empty. Matrices with more than 500 cells
    use only the 24 colours of the scale beside them, so that the file stays small.

    Chapter: Attention pooling.

    Args:
        matrices: `(rows, columns, height, width)`: `rows * columns` matrices. Row 0 of a matrix is on top.
        xlabel: what the columns of a matrix are, for example `"Keys"`.
        ylabel: what the rows of a matrix are, for example `"Queries"`.
        titles: a title for each column of the grid.
        figsize: width and height of the figure in inches.
        cmap: name of a matplotlib colour map; weights of attention have the one that stands here.
        xticklabels: a name for each column of a matrix; by default some of them are numbered.
        yticklabels: a name for each row of a matrix.
        fmt: how to write the number into each cell, for example `".2f"`; by default there is a scale beside the maps,
            unless all numbers are 0 or 1.

    Raises:
        ValueError: if `matrices` does not have four dimensions or is empty, there are not as many titles or names as
            columns or rows, or `fmt` is not a format for numbers.

    >>> d2l.show_heatmaps(torch.eye(3)[None, None], xlabel="keys", ylabel="queries")
    """
    use_svg_display()
    grid = as_array(matrices)
    if grid.ndim != 4 or grid.size == 0:
        raise ValueError(f"matrices must have shape (rows, columns, height, width), none of them 0, got {grid.shape}")
    num_rows, num_cols, height, width = grid.shape
    check_names("titles", titles, num_cols, "columns")
    check_names("xticklabels", xticklabels, width, "columns")
    check_names("yticklabels", yticklabels, height, "rows")
    cells = np.ma.masked_invalid(round_numbers(grid))
    finite = cells.compressed().tolist() or [0.0]
    low, high = min(0.0, *finite), max(finite)
    scale = ScalarMappable(Normalize(low, high if high > low else low + 1.0), cmap)
    coarse = ScalarMappable(scale.norm, scale.cmap.resampled(24))
    figure, panels = plt.subplots(num_rows, num_cols, figsize=figsize, sharex=True, sharey=True, squeeze=False)
    for (row, col), panel in np.ndenumerate(panels):
        # Rectangles rather than an image: they stay sharp, and no compressed pixels enter the file.
        if height * width <= _FEW_CELLS:
            panel.pcolormesh(cells[row, col], norm=scale.norm, cmap=cmap, edgecolors="face", linewidth=0.2)
        else:
            _draw_runs(panel, cells[row, col], coarse if height * width > _MANY_CELLS else scale)
        panel.set(aspect="equal", xlim=(0, width), ylim=(height, 0))
        _frame(panel, _name_cells(width, xticklabels), _name_cells(height, yticklabels))
        if fmt is not None:
            _write_numbers(panel, grid[row, col], scale.to_rgba(cells[row, col]), fmt)
    plt.setp(panels[-1].tolist(), xlabel=xlabel)
    plt.setp(panels[:, 0].tolist(), ylabel=ylabel)
    for panel, title in zip(panels[0], titles or [], strict=False):
        panel.set_title(title)
    # Where numbers stand in the cells, or all of them are 0 or 1, nobody needs a scale.
    if fmt is None and not set(finite) <= {0.0, 1.0}:
        # Fewer than 50 colours in the bar, or matplotlib would draw it as compressed pixels.
        bar = figure.colorbar(coarse, ax=panels, shrink=0.7)
        bar.solids.set_edgecolor("face")  # type: ignore[union-attr]
        bar.outline.set_visible(False)


def show_tables(
    tables: Sequence[Any],
    groups: Sequence[Any],
    titles: Sequence[str],
    figsize: tuple[float, float],
    *,
    xlabel: str = "",
    ylabel: str = "",
) -> None:
    """Show small tables side by side, each cell in the colour of its group.

    Chapter: Multi-head attention.

    Args:
        tables: matrices of what to write, whole numbers or words; tensors or nested lists.
        groups: for each table, a matrix of the same shape with numbers in `0..3`: the group of each cell.
        titles: a title for each table.
        figsize: width and height of the figure in inches.
        xlabel: what the columns are.
        ylabel: what the rows are.

    Raises:
        ValueError: if there are not as many groups and titles as tables, a table is not a matrix or differs in shape
            from its groups, or a group lies outside `0..3`.

    >>> d2l.show_tables([[[1, 2], [3, 4]]], [[[0, 0], [1, 1]]], ["heads"], (2, 1))
    """
    check_names("groups", groups, len(tables), "tables")
    check_names("titles", titles, len(tables), "tables")
    pairs = [(np.asarray(table), np.asarray(group)) for table, group in zip(tables, groups, strict=True)]
    for i, (table, group) in enumerate(pairs):
        if table.ndim != 2 or table.size == 0 or group.shape != table.shape:
            raise ValueError(f"table {i} must be a matrix with a group for each cell, got {table.shape}, {group.shape}")
        if not set(group.flat) <= set(range(len(_GROUP_COLOURS))):
            raise ValueError(f"groups of table {i} must lie in 0..3, got {group.tolist()}")
    use_svg_display()
    widths = [table.shape[1] for table, _ in pairs]
    _, panels = plt.subplots(1, len(pairs), figsize=figsize, width_ratios=widths, squeeze=False)
    for panel, (table, group), title in zip(panels[0], pairs, titles, strict=True):
        rows, columns = table.shape
        panel.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", anchor="N", xlabel=xlabel, title=title)
        _frame(panel, {}, {})
        for (i, j), text in np.ndenumerate(table):
            colour = _GROUP_COLOURS[group[i, j]]
            # As cells of a map: a dark page turns the colour of the cell and the ink together.
            panel.add_patch(Rectangle((j + 0.02, i + 0.02), 0.96, 0.96, color=colour, linewidth=0.2))
            panel.text(j + 0.5, i + 0.5, str(text), color=_BLACK, ha="center", va="center")
    panels[0, 0].set_ylabel(ylabel)


def draw_words(words: Sequence[str], weights: Sequence[Sequence[float]] | Tensor, titles: Sequence[str]) -> None:
    """Write a text once for each row of `weights`: the heavier a word, the darker the box behind it.

    Chapter: Reading reviews.

    Args:
        words: the words of the text, without blanks.
        weights: `(texts, words)`, finite and at least 0. Shades are relative to the largest in each row.
        titles: one for each row, written above it.

    Raises:
        ValueError: if there are no words, the shapes do not fit, or a weight is negative or not finite.

    >>> d2l.draw_words(["not", "good"], [[0.9, 0.1]], ["first head"])
    """
    rows = as_array(weights)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"weights must have shape (texts, words), none of them 0, got {rows.shape}")
    check_names("titles", titles, rows.shape[0], "rows of weights")
    check_names("words", words, rows.shape[1], "columns of weights")
    wrong = rows[~((rows >= 0) & np.isfinite(rows))]
    if wrong.size:
        raise ValueError(f"weights must be finite and at least 0, got {wrong[0]}")
    use_svg_display()
    lines = wrap(" ".join(words), 62, break_long_words=False, break_on_hyphens=False)
    height = len(titles) * (len(lines) + 1)
    size = min(63 / (max(map(len, lines)) + 1), 1.4)  # a short text has larger letters
    axes = open_sheet((5.4, 0.25 * size * height), xlim=(0, 63 / size), ylim=(height, 0))
    shares = rows / np.maximum(rows.max(axis=1, keepdims=True), 1e-300)
    y = 0.5
    for title, shades in zip(titles, shares.tolist(), strict=True):
        axes.text(0.3, y, title, va="center", fontsize=9 * size)
        for line in lines:
            x, y = 0.5, y + 1
            for word in line.split():
                _write_word(axes, x, y, word, shades.pop(0), 9.5 * size)
                x += len(word) + 1
        y += 1


def _draw_runs(panel: Axes, cells: np.ma.MaskedArray, scale: ScalarMappable) -> None:
    """The same as `pcolormesh`, in a smaller file: 300 bytes for each cell would be too many.

    Neighbours of one colour in a column become one rectangle, and all rectangles of a colour become one path.
    """
    shares: np.ma.MaskedArray = np.ma.asarray(scale.norm(cells))  # in 0..1
    colours = scale.cmap
    levels = np.minimum(shares.filled(-1.0) * colours.N, colours.N - 1).astype(int)
    runs: dict[int, list[Path]] = {}
    for column, entries in enumerate(levels.T):
        edges = [0, *(np.flatnonzero(np.diff(entries)) + 1).tolist(), len(entries)]
        for top, bottom in pairwise(edges):
            corners = [(column, top), (column + 1, top), (column + 1, bottom), (column, bottom), (column, top)]
            runs.setdefault(int(entries[top]), []).append(Path(corners, closed=True))
    for level, paths in sorted(runs.items()):
        if level >= 0:
            panel.add_patch(PathPatch(Path.make_compound_path(*paths), color=colours(level), linewidth=0.2))


def _write_numbers(panel: Axes, numbers: np.ndarray, colours: np.ndarray, fmt: str) -> None:
    """The numbers in their cells, without their last bits or the sign of a zero: dark on light and light on dark."""
    for i, j in np.argwhere(np.isfinite(numbers)):
        text = format(float(f"{numbers[i, j]:.7g}"), fmt)
        text = text if text.strip("-0.") else text.lstrip("-")
        ink = _choose_ink(colours[i, j, :3])
        panel.text(j + 0.5, i + 0.5, text, color=ink, fontsize=9, ha="center", va="center")


def _choose_ink(ground: np.ndarray) -> str:
    """Black or white, whichever is easier to read on a colour."""
    linear = np.where(ground <= 0.04045, ground / 12.92, ((ground + 0.055) / 1.055) ** 2.4)
    return _BLACK if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else _WHITE  # where both are equally easy


def _frame(panel: Axes, columns: dict[int, str], rows: dict[int, str]) -> None:
    """No lines, but the names of columns and rows beside the middle of their cells."""
    panel.grid(visible=False)
    panel.set_xticks([j + 0.5 for j in columns], list(columns.values()))
    panel.set_yticks([i + 0.5 for i in rows], list(rows.values()))
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def _name_cells(count: int, names: Sequence[str] | None) -> dict[int, str]:
    """The names of rows or columns; if they have none, the numbers of six of them at most."""
    if names is not None:
        return dict(enumerate(names))
    step = next(step for step in (1, 2, 5, 10, 20, 50, count) if count <= 6 * step)
    return {i: str(i) for i in range(0, count, step)}


def _write_word(axes: Axes, x: float, y: float, word: str, share: float, size: float) -> None:
    """A word in a box from nearly white to the purple of weights; the letters are dark on light, light on dark."""
    red, green, blue = ((1 - share) * light + share * dark for light, dark in ((0.96, 0.25), (0.95, 0), (0.98, 0.49)))
    axes.add_patch(Rectangle((x - 0.45, y - 0.42), len(word) + 0.9, 0.84, facecolor=(red, green, blue)))
    ink = _choose_ink(np.array([red, green, blue]))
    axes.text(x + len(word) / 2, y, word, ha="center", va="center", fontsize=size, color=ink, family="monospace")
