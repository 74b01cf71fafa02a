"""Drawings: what a computation looks like, without numbers that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle
from torch import Tensor

from d2lmini.plot import use_svg_display

__all__ = ["draw_multi_head_attention", "show_numbers"]

# Cells keep these colours in the dark, as heatmaps do. They differ in lightness, too.
_GROUP_COLOURS = ("#e3effc", "#f3b27a", "#8fd0b8", "#c9a6dc")
_QUERIES, _KEYS, _VALUES = (("#0a5fb4", "-"), ("#b34700", "--"), ("#00785c", "-."))


def show_numbers(
    tables: Sequence[Tensor], groups: Sequence[Tensor], titles: Sequence[str], figsize: tuple[float, float]
) -> None:
    """Show small tables of whole numbers side by side, each cell in the colour of its group.

    Args:
        tables: matrices of integers, ``(rows, columns)`` each.
        groups: for each table a matrix of its shape with numbers in ``0..3``: the group of each cell.
        titles: a title for each table.
        figsize: width and height of the figure in inches.

    Raises:
        ValueError: if there are not as many groups and titles as tables, a table or its groups are no matrix of
            integers, they differ in shape, or a group lies outside ``0..3``.
    """
    if isinstance(titles, str) or not len(tables) == len(groups) == len(titles):
        raise ValueError(f"{len(tables)} tables must have as many groups and titles, got {len(groups)}, {titles!r}")
    for i, (table, group) in enumerate(zip(tables, groups, strict=True)):
        for name, numbers in (("table", table), ("groups of table", group)):
            if not isinstance(numbers, Tensor) or numbers.dim() != 2 or 0 in numbers.shape or _fractions(numbers):
                found = (
                    f"{numbers.dtype} {tuple(numbers.shape)}" if isinstance(numbers, Tensor) else type(numbers).__name__
                )
                raise ValueError(f"{name} {i} must be a matrix of integers, not empty, got {found}")
        if table.shape != group.shape:
            raise ValueError(f"table {i} has shape {tuple(table.shape)}, its groups have {tuple(group.shape)}")
        lowest, highest = int(group.min()), int(group.max())
        if lowest < 0 or highest >= len(_GROUP_COLOURS):
            raise ValueError(f"groups of table {i} must lie in 0..3, got numbers from {lowest} to {highest}")
    use_svg_display()
    widths = [table.shape[1] for table in tables]
    _, panels = plt.subplots(1, len(tables), figsize=figsize, width_ratios=widths, squeeze=False)
    for panel, table, group, title in zip(panels[0], tables, groups, titles, strict=True):
        rows, columns = table.shape
        panel.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", anchor="N")
        panel.set_title(title)
        panel.axis("off")
        for i in range(rows):
            for j in range(columns):
                colour = _GROUP_COLOURS[int(group[i, j])]
                panel.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="#59636e"))
                panel.text(j + 0.5, i + 0.5, str(int(table[i, j])), color="#101010", ha="center", va="center")


def _fractions(numbers: Tensor) -> bool:
    return numbers.is_floating_point() or numbers.is_complex()


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


def _box(axes: Axes, x: float, y: float, width: float, text: str, colour: str = "#1f2328") -> None:
    corner = (x - width / 2, y - 0.34)
    axes.add_patch(
        FancyBboxPatch(corner, width, 0.68, boxstyle="round,pad=0,rounding_size=0.12", fc="#ffffff", ec=colour, lw=1.4)
    )
    axes.text(x, y, text, ha="center", va="center")


def _arrow(
    axes: Axes, x: float, y: float, to_x: float, to_y: float, colour: str = "#59636e", dashes: str = "-"
) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=style)
