"""What the diagrams of this book are drawn with: colours, a sheet, boxes and arrows."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

# Colours of the style: a dark page replaces them.
BLUE, ORANGE, GREEN = "#0a5fb4", "#b34700", "#00785c"
GREY, INK, PAPER = "#59636e", "#1f2328", "#ffffff"
QUERIES, KEYS, VALUES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."))


def open_sheet(figsize: tuple[float, float], **settings: Any) -> Axes:
    """A figure without axes: only what is drawn on it shows."""
    axes = plt.figure(figsize=figsize).add_subplot()
    axes.set(**settings)
    axes.axis("off")
    return axes


def draw_box(
    axes: Axes, x: float, y: float, width: float, text: str, colour: str = INK, height: float = 0.68, url: str = ""
) -> None:
    """A box with a text in it, which stands upright in an upright box; x, y is its middle. It may be a link."""
    corner, shape = (x - width / 2, y - height / 2), "round,pad=0,rounding_size=0.12"
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=shape, fc=PAPER, ec=colour, lw=1.4, url=url or None))
    axes.text(x, y, text, ha="center", va="center", rotation=90 * (height > width))


def draw_arrow(axes: Axes, x: float, y: float, to_x: float, to_y: float, colour: str = GREY, dashes: str = "-") -> None:
    """An arrow from one point to another."""
    style = {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=style)
