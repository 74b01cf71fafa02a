"""What the diagrams of this book are drawn with: colours, boxes and arrows."""

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

# Colours of the style: a dark page replaces them.
BLUE, ORANGE, GREEN = "#0a5fb4", "#b34700", "#00785c"
GREY, INK, PAPER = "#59636e", "#1f2328", "#ffffff"
QUERIES, KEYS, VALUES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."))


def draw_box(axes: Axes, x: float, y: float, width: float, text: str, colour: str = INK) -> None:
    """A box with a text in it; x, y is its middle."""
    corner = (x - width / 2, y - 0.34)
    axes.add_patch(
        FancyBboxPatch(corner, width, 0.68, boxstyle="round,pad=0,rounding_size=0.12", fc=PAPER, ec=colour, lw=1.4)
    )
    axes.text(x, y, text, ha="center", va="center")


def draw_arrow(axes: Axes, x: float, y: float, to_x: float, to_y: float, colour: str = GREY, dashes: str = "-") -> None:
    """An arrow from one point to another."""
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=style_arrow(colour, dashes, 1.2, 0))


def style_arrow(colour: str, dashes: str, width: float, gap: float) -> dict[str, object]:
    """How an arrow looks, for matplotlib."""
    return {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "lw": width, "shrinkA": gap, "shrinkB": gap}
