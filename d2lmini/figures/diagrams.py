"""Drawings: what a computation looks like, tables in colours, words in shades."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle
from torch import Tensor

from d2lmini.figures.plot import check_names, use_svg_display

__all__ = [
    "draw_architectures",
    "draw_multi_head_attention",
    "draw_residual_streams",
    "draw_transformer",
    "draw_words",
    "show_tables",
]

# Cells keep these colours in the dark, as heatmaps do. They differ in lightness, too.
_GROUP_COLOURS = ("#e3effc", "#f3b27a", "#8fd0b8", "#c9a6dc")
_QUERIES, _KEYS, _VALUES = (("#0a5fb4", "-"), ("#b34700", "--"), ("#00785c", "-."))


def show_tables(
    tables: Sequence[Sequence[Sequence[object]]],
    groups: Sequence[Sequence[Sequence[int]]],
    titles: Sequence[str],
    figsize: tuple[float, float],
    *,
    xlabel: str = "",
    ylabel: str = "",
    xticklabels: Sequence[str] | None = None,
    yticklabels: Sequence[str] | None = None,
) -> None:
    """Show small tables side by side, each cell in the colour of its group.

    Args:
        tables: matrices of what is to be written, whole numbers or words; tensors or nested lists.
        groups: for each table a matrix of its shape with numbers in ``0..3``: the group of each cell.
        titles: a title for each table.
        figsize: width and height of the figure in inches.
        xlabel: what the columns are.
        ylabel: what the rows are.
        xticklabels: a name for each column; by default none.
        yticklabels: a name for each row; by default none.

    Raises:
        ValueError: if there are not as many groups and titles as tables, a table is no matrix, holds a fraction or
            differs in shape from its groups, a group lies outside ``0..3``, or there are not as many names as columns
            or rows.
    """
    if isinstance(titles, str) or not tables or not len(tables) == len(groups) == len(titles):
        raise ValueError(f"{len(tables)} tables must have as many groups and titles, got {len(groups)}, {titles!r}")
    cells = [(_matrix(f"table {i}", tables[i]), _matrix(f"groups of table {i}", groups[i])) for i in range(len(tables))]
    for i, (table, group) in enumerate(cells):
        if table.shape != group.shape:
            raise ValueError(f"table {i} has shape {table.shape}, its groups have {group.shape}")
        outside = [number for number in group.flat if number not in range(len(_GROUP_COLOURS))]
        if outside:
            raise ValueError(f"groups of table {i} must lie in 0..3, got {outside[0]!r}")
        check_names("xticklabels", xticklabels, table.shape[1], "columns")
        check_names("yticklabels", yticklabels, table.shape[0], "rows")
    use_svg_display()
    widths = [table.shape[1] for table, _ in cells]
    _, panels = plt.subplots(1, len(tables), figsize=figsize, width_ratios=widths, squeeze=False)
    for panel, (table, group), title in zip(panels[0], cells, titles, strict=True):
        rows, columns = table.shape
        panel.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", anchor="N", xlabel=xlabel, title=title)
        panel.set_ylabel(ylabel if panel is panels[0, 0] else "")
        panel.set_xticks([j + 0.5 for j in range(columns)] if xticklabels else [], xticklabels or [])
        panel.set_yticks([i + 0.5 for i in range(rows)] if yticklabels else [], yticklabels or [])
        _show_table(panel, table, group)


def _show_table(panel: Axes, table: np.ndarray, group: np.ndarray) -> None:
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    panel.grid(visible=False)
    for (i, j), text in np.ndenumerate(table):
        colour = _GROUP_COLOURS[group[i, j]]
        panel.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="#59636e", linewidth=0.5))
        panel.text(j + 0.5, i + 0.5, str(text), color="#101010", ha="center", va="center")


def _matrix(name: str, entries: object) -> np.ndarray:
    """A matrix of whole numbers or words, as an array of objects."""
    matrix = np.array(entries.tolist() if isinstance(entries, Tensor) else entries, dtype=object)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"{name} must be a matrix, not empty, got shape {matrix.shape}")
    for entry in matrix.flat:
        if not isinstance(entry, (int, str)):
            raise ValueError(f"{name} must hold whole numbers or words, got {entry!r}")
    return matrix


def draw_multi_head_attention() -> None:
    """Draw multi-head attention: projections, attention in each head, concatenation, one more projection."""
    use_svg_display()
    axes = plt.figure(figsize=(4.8, 3.7)).add_subplot()
    axes.set(xlim=(0, 10), ylim=(0, 8))
    axes.axis("off")
    inputs = {"queries": (2.2, *_QUERIES), "keys": (5.0, *_KEYS), "values": (7.8, *_VALUES)}
    for name, (x, colour, _) in inputs.items():
        _box(axes, x, 0.4, 1.8, name, colour)
    for middle, index in ((2.2, "1"), (7.8, "h")):
        for (x, colour, dashes), letter, shift in zip(inputs.values(), "qkv", (-1.35, 0, 1.35), strict=True):
            _arrow(axes, x, 0.75, middle + shift, 2.05, colour, dashes)
            _box(axes, middle + shift, 2.4, 1.1, f"$W_{letter}^{{({index})}}$", colour)
            _arrow(axes, middle + shift, 2.75, middle + shift, 3.55, colour, dashes)
        _box(axes, middle, 3.9, 3.9, "attention pooling $f$")
        _arrow(axes, middle, 4.25, middle, 5.15)
        axes.text(middle + 0.2, 4.65, f"$h_{index}$", va="center")
    axes.text(5.0, 3.1, "…", fontsize=14, ha="center", va="center")
    _box(axes, 5.0, 5.5, 9.5, r"concatenate: $[h_1;\ \ldots;\ h_h]$")
    _arrow(axes, 5.0, 5.85, 5.0, 6.35)
    _box(axes, 5.0, 6.7, 1.3, "$W_o$")
    _arrow(axes, 5.0, 7.05, 5.0, 7.5)
    axes.text(5.0, 7.72, "output", ha="center", va="center")


def draw_architectures() -> None:
    """Draw how a CNN of two layers with kernel 3, an RNN and self-attention connect five positions."""
    use_svg_display()
    _, panels = plt.subplots(1, 3, figsize=(6.6, 2.5), width_ratios=[1, 1, 1])
    edges = {
        "CNN": [((i, layer), (j, layer + 1)) for layer in (0, 1) for i in range(5) for j in range(5) if abs(i - j) < 2],
        "RNN": [((i, 0), (i, 1)) for i in range(5)] + [((i, 1), (i + 1, 1)) for i in range(4)],
        "self-attention": [((i, 0), (j, 1)) for i in range(5) for j in range(5)],
    }
    ways = {
        "CNN": [((0, 0), (1, 1)), ((1, 1), (2, 2))],
        "RNN": [((0, 0), (0, 1)), *(((i, 1), (i + 1, 1)) for i in range(4))],
        "self-attention": [((0, 0), (4, 1))],
    }
    for panel, (name, lines) in zip(panels, edges.items(), strict=True):
        top = max(end[1] for _, end in lines)
        panel.set(xlim=(-0.6, 4.6), ylim=(-0.75, 2.75), title=name)
        panel.axis("off")
        for start, end in lines:
            if (start, end) in ways[name]:
                panel.annotate("", end, start, arrowprops=_style("#b34700", "-", 2.2, 9))
            else:
                panel.plot(*zip(start, end, strict=True), color="#59636e", linewidth=0.7, linestyle="-")
        for i in range(5):
            for level in range(top + 1):
                panel.plot(i, level, "o", color="#0a5fb4", markersize=7, zorder=3)
            panel.text(i, -0.55, f"$x_{i + 1}$", ha="center", va="center")
            panel.text(i, top + 0.4, f"$y_{i + 1}$", ha="center", va="center")


def draw_transformer() -> None:
    """Draw encoder and decoder of a Transformer, and what goes from one to the other."""
    use_svg_display()
    axes = plt.figure(figsize=(4.9, 4.5)).add_subplot()
    axes.set(xlim=(0, 10.6), ylim=(0, 10.4))
    axes.axis("off")
    tops = [
        _column(axes, 2.4, "source tokens", "N encoder blocks", ["self-attention", "feed-forward"]),
        _column(
            axes,
            8.0,
            "target tokens so far",
            "N decoder blocks",
            ["causal self-attention", "cross-attention", "feed-forward"],
        ),
    ]
    colour, dashes = _KEYS
    way = [(2.4, tops[0]), (2.4, tops[0] + 0.5), (5.2, tops[0] + 0.5), (5.2, 4.7)]
    axes.plot(*zip(*way, strict=True), color=colour, lw=1.2, linestyle=dashes)
    _arrow(axes, 5.2, 4.7, 5.9, 4.7, colour, dashes)
    axes.text(3.8, tops[0] + 0.85, "keys and values", ha="center", va="center")
    axes.text(8.15, 3.95, "queries", ha="left", va="center", fontsize=8)
    _arrow(axes, 8.0, tops[1], 8.0, tops[1] + 0.45)
    _box(axes, 8.0, tops[1] + 0.8, 4.2, "linear")
    _arrow(axes, 8.0, tops[1] + 1.14, 8.0, tops[1] + 1.6)
    axes.text(8.0, tops[1] + 1.8, "logits of the next token", ha="center", va="center")


def _column(axes: Axes, x: float, below: str, name: str, layers: Sequence[str]) -> float:
    """Blocks of layers, each with its norm; returns the height at which what comes out of them leaves."""
    axes.text(x, 0.15, below, ha="center", va="center")
    _arrow(axes, x, 0.35, x, 0.8)
    _box(axes, x, 1.15, 4.2, "embedding + positions")
    y = 1.5
    for layer in layers:
        _arrow(axes, x, y, x, y + 0.6)
        _box(axes, x, y + 0.95, 4.2, layer, (_KEYS if layer == "cross-attention" else _QUERIES)[0])
        _box(axes, x, y + 1.65, 4.2, "add & norm", _VALUES[0])
        y += 2.0
    axes.add_patch(Rectangle((x - 2.3, 1.8), 4.6, y - 1.45, fill=False, ec="#59636e", ls=":", lw=1))
    axes.text(x - 2.2, y + 0.12, name, ha="left", va="center", fontsize=8)
    return y + 0.35


def draw_residual_streams() -> None:
    """Draw the two orders of a Transformer block: norms in the residual stream, and beside it."""
    use_svg_display()
    _, panels = plt.subplots(1, 2, figsize=(4.4, 3.1))
    for panel, name in zip(panels, ("post-norm", "pre-norm"), strict=True):
        panel.set(xlim=(0, 6), ylim=(0, 9.3), title=name)
        panel.axis("off")
        panel.plot([1.6, 1.6], [0.1, 8.8], color="#0a5fb4", lw=2, linestyle="-", zorder=0.5)
        _arrow(panel, 1.6, 8.7, 1.6, 9.2, "#0a5fb4")
        for bottom, layer in ((0.6, "attention"), (4.8, "feed-forward")):
            _branch(panel, bottom, layer, norm_first=name == "pre-norm")


def _branch(panel: Axes, bottom: float, layer: str, *, norm_first: bool) -> None:
    """A layer beside the stream, and its norm."""
    top, place_of_norm = (bottom + 3.1, (4.2, bottom + 0.9)) if norm_first else (bottom + 2.4, (1.6, bottom + 3.3))
    way = [(1.6, bottom), (4.2, bottom), (4.2, top)]
    panel.plot(*zip(*way, strict=True), color="#59636e", lw=1.2, linestyle="-", zorder=0.5)
    _arrow(panel, 4.2, top, 1.85, top)
    _box(panel, 4.2, top - 1.1, 2.9, layer, "#b34700")
    _box(panel, *place_of_norm, 1.5, "norm", "#00785c")
    panel.plot(1.6, top, "o", color="#ffffff", markeredgecolor="#0a5fb4", markersize=11)
    panel.text(1.6, top, "+", ha="center", va="center", zorder=4)


def draw_words(words: Sequence[str], weights: Sequence[Sequence[float]] | Tensor, titles: Sequence[str]) -> None:
    """Write a text once for each row of ``weights``, the heavier a word the darker behind it.

    Args:
        words: the words of the text.
        weights: ``(texts, words)``, finite and at least 0. Shades are relative to the largest of a row.
        titles: one for each row, written above it.

    Raises:
        ValueError: if there are no words, the shapes do not fit, or a weight is negative or not finite.
    """
    rows = np.array([[float(weight) for weight in row] for row in weights], dtype=float, ndmin=2)
    if isinstance(words, str) or not words or rows.shape != (len(titles), len(words)):
        found = repr(words) if isinstance(words, str) else f"{len(words)} words and {len(titles)} titles"
        raise ValueError(
            f"weights must have a row for each title and a column for each word, got {rows.shape}, {found}"
        )
    if not (np.isfinite(rows).all() and (rows >= 0).all()):
        raise ValueError(f"weights must be finite and at least 0, got {rows[~(rows >= 0) | ~np.isfinite(rows)][0]}")
    use_svg_display()
    lines = _lines_of(words, 62)
    height = len(titles) * (len(lines) + 1)
    axes = plt.figure(figsize=(5.8, 0.25 * height)).add_subplot()
    axes.set(xlim=(0, 63), ylim=(height, 0))
    axes.axis("off")
    for row, (title, shares) in enumerate(
        zip(titles, rows / np.maximum(rows.max(axis=1, keepdims=True), 1e-300), strict=True)
    ):
        top = row * (len(lines) + 1) + 0.5
        axes.text(0.3, top, title, va="center", fontsize=9)
        for y, line in enumerate(lines, start=1):
            for x, i in line:
                _write_word(axes, x + 0.5, top + y, words[i], float(shares[i]))


def _lines_of(words: Sequence[str], width: int) -> list[list[tuple[int, int]]]:
    """Where each word stands, as (column, index), in lines of at most ``width`` letters, if no word is longer."""
    lines: list[list[tuple[int, int]]] = [[]]
    column = 0
    for i, word in enumerate(words):
        if column and column + len(word) > width:
            lines.append([])
            column = 0
        lines[-1].append((column, i))
        column += len(word) + 1
    return lines


def _write_word(axes: Axes, x: float, y: float, word: str, share: float) -> None:
    """A word in a box whose shade goes from nearly white to dark; the letters are dark on light, light on dark."""
    red, green, blue = ((1 - share) * light + share * dark for light, dark in ((0.95, 0.04), (0.96, 0.3), (0.98, 0.6)))
    box = Rectangle((x - 0.45, y - 0.42), len(word) + 0.9, 0.84, facecolor=(red, green, blue))
    axes.add_patch(box)
    ink = "#fefefe" if share > 0.5 else "#000000"  # not the colours of the style, which a dark page exchanges
    axes.text(x + len(word) / 2, y, word, ha="center", va="center", fontsize=9.5, color=ink, family="monospace")


def _box(axes: Axes, x: float, y: float, width: float, text: str, colour: str = "#1f2328") -> None:
    corner = (x - width / 2, y - 0.34)
    axes.add_patch(
        FancyBboxPatch(corner, width, 0.68, boxstyle="round,pad=0,rounding_size=0.12", fc="#ffffff", ec=colour, lw=1.4)
    )
    axes.text(x, y, text, ha="center", va="center")


def _arrow(
    axes: Axes, x: float, y: float, to_x: float, to_y: float, colour: str = "#59636e", dashes: str = "-"
) -> None:
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=_style(colour, dashes, 1.2, 0))


def _style(colour: str, dashes: str, width: float, gap: float) -> dict[str, object]:
    return {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "lw": width, "shrinkA": gap, "shrinkB": gap}
