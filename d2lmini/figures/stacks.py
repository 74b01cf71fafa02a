"""Diagrams of layers that follow each other, of what goes in, and of where it lies."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from d2lmini.figures.parts import BLUE, GREEN, GREY, INK, KEYS, ORANGE, PAPER, QUERIES, draw_arrow, draw_box, open_sheet

Edge = tuple[tuple[int, int], tuple[int, int]]  # from (position, level) to (position, level)


def draw_clocks() -> None:
    """Pairs 0, 4 and 8 of an encoding of width 32: the hand points to (sine, cosine)."""
    axes = open_sheet((5.4, 2), xlim=(-2.4, 11.5), ylim=(-3.7, 0.6), aspect="equal")
    for row, (j, colour) in enumerate(zip((0, 4, 8), (BLUE, ORANGE, GREEN), strict=True)):
        axes.text(-0.8, -1.1 * row, f"clock {j}", ha="right", va="center")
        angles = [i * 10000 ** (-2 * j / 32) for i in range(12)]
        axes.plot(range(12), [-1.1 * row] * 12, "o", color=PAPER, markeredgecolor=GREY, markersize=22)
        x = [part for i, angle in enumerate(angles) for part in (i, i + 0.38 * math.sin(angle), math.nan)]
        y = [part - 1.1 * row for angle in angles for part in (0, 0.38 * math.cos(angle), math.nan)]
        axes.plot(x, y, color=colour, lw=1.8, linestyle="-")
    for i in range(12):
        axes.text(i, -3.1, f"{i}", ha="center", va="center")
    axes.text(-0.8, -3.1, "position", ha="right", va="center")


def draw_architectures() -> None:
    """A CNN of two layers with kernel 3, an RNN and self-attention; a path from the first input is drawn thick."""
    near = [(i, j) for i in range(5) for j in range(5) if abs(i - j) < 2]
    recurrent = [((i, 1), (i + 1, 1)) for i in range(4)]
    networks = {
        "CNN": (
            [((i, layer), (j, layer + 1)) for layer in (0, 1) for i, j in near],
            [((0, 0), (1, 1)), ((1, 1), (2, 2))],
        ),
        "RNN": ([*(((i, 0), (i, 1)) for i in range(5)), *recurrent], [((0, 0), (0, 1)), *recurrent]),
        "self-attention": ([((i, 0), (j, 1)) for i in range(5) for j in range(5)], [((0, 0), (4, 1))]),
    }
    _, panels = plt.subplots(1, 3, figsize=(6.6, 2.5), width_ratios=[1, 1, 1])
    for panel, (name, (edges, path)) in zip(panels, networks.items(), strict=True):
        panel.set(xlim=(-0.6, 4.6), ylim=(-0.75, 2.75), title=name)
        panel.axis("off")
        _draw_network(panel, edges, path)


def _draw_network(panel: Axes, edges: Sequence[Edge], path: Sequence[Edge]) -> None:
    for start, end in edges:
        if (start, end) in path:
            thick = {"arrowstyle": "-|>", "color": ORANGE, "lw": 2.2, "shrinkA": 9, "shrinkB": 9}
            panel.annotate("", end, start, arrowprops=thick)
        else:
            panel.plot(*zip(start, end, strict=True), color=GREY, linewidth=0.7, linestyle="-")
    top = max(end[1] for _, end in edges)
    for i in range(5):
        for level in range(top + 1):
            panel.plot(i, level, "o", color=BLUE, markersize=7, zorder=3)
        panel.text(i, -0.55, f"$x_{i + 1}$", ha="center", va="center")
        panel.text(i, top + 0.4, f"$y_{i + 1}$", ha="center", va="center")


def draw_residual_streams() -> None:
    """The two orders of a Transformer block: norms in the residual stream, and beside it."""
    _, panels = plt.subplots(1, 2, figsize=(4.4, 3.1))
    for panel, name in zip(panels, ("post-norm", "pre-norm"), strict=True):
        panel.set(xlim=(0, 6), ylim=(0, 9.3), title=name)
        panel.axis("off")
        _draw_stream(panel, norm_first=name == "pre-norm")


def draw_block() -> None:
    """One block in pre-norm: what flows through it, and its shape."""
    axes = open_sheet((4.6, 3.6), xlim=(-1.6, 9), ylim=(-0.3, 9.6))
    _draw_stream(axes, norm_first=True)
    for y, shape in ((0.0, "(batch, n, d)"), (4.25, "(batch, n, d)"), (9.1, "(batch, n, d)")):
        axes.text(1.3, y, shape, ha="right", va="center", fontsize=8.5)
    axes.text(6.0, 2.6, "tokens look at each other", va="center", fontsize=8.5)
    axes.text(6.0, 6.8, "each token by itself:\n(batch, n, 4d) inside", va="center", fontsize=8.5)


def _draw_stream(panel: Axes, *, norm_first: bool) -> None:
    """The residual stream of a block, and its two layers beside it."""
    panel.plot([1.6, 1.6], [0.1, 8.8], color=BLUE, lw=2, linestyle="-", zorder=0.5)
    draw_arrow(panel, 1.6, 8.7, 1.6, 9.2, BLUE)
    for bottom, layer in ((0.6, "attention"), (4.8, "feed-forward")):
        _draw_branch(panel, bottom, layer, norm_first=norm_first)


def _draw_branch(panel: Axes, bottom: float, layer: str, *, norm_first: bool) -> None:
    """A layer beside the stream, and its norm."""
    top, place_of_norm = (bottom + 3.1, (4.2, bottom + 0.9)) if norm_first else (bottom + 2.4, (1.6, bottom + 3.3))
    panel.plot([1.6, 4.2, 4.2], [bottom, bottom, top], color=GREY, lw=1.2, linestyle="-", zorder=0.5)
    draw_arrow(panel, 4.2, top, 1.85, top)
    draw_box(panel, 4.2, top - 1.1, 2.9, layer, ORANGE)
    draw_box(panel, *place_of_norm, 1.5, "norm", GREEN)
    panel.plot(1.6, top, "o", color=PAPER, markeredgecolor=BLUE, markersize=11)
    panel.text(1.6, top, "+", ha="center", va="center", zorder=4)


def draw_induction_heads() -> None:
    """Layer 0 notes what stood before; layer 1 finds the place that is noted `after a`, and copies its letter."""
    axes = open_sheet((5.5, 2.9), xlim=(-3.4, 18.6), ylim=(-0.6, 7.4))
    letters = "cafeca"
    for i, letter in enumerate(letters):
        draw_box(axes, 3.1 * i, 0.0, 1.5, letter)
        note = f"{letter}, after {letters[i - 1]}" if i else letter
        draw_box(axes, 3.1 * i, 3.0, 2.8 if i else 1.5, note, ORANGE if i == 2 else GREEN)
        if i:
            draw_arrow(axes, 3.1 * (i - 1) + 0.4, 0.4, 3.1 * i - 0.2, 2.6)
    draw_box(axes, 15.5, 6.6, 1.5, "f", BLUE)
    draw_arrow(axes, 6.4, 3.4, 14.7, 6.5, *KEYS)
    draw_arrow(axes, 15.5, 3.4, 15.5, 6.2, *QUERIES)
    axes.text(15.8, 4.7, "asks: after a?", va="center", fontsize=8.5)
    axes.text(9.6, 5.6, "key: after a, value: f", ha="right", va="center", fontsize=8.5)
    for y, name in ((0.0, "letters"), (3.0, "layer 0"), (6.6, "layer 1")):
        axes.text(-1.2, y, name, ha="right", va="center", fontsize=8.5)


def draw_vision_transformer() -> None:
    """A digit becomes 16 patches, these become tokens, and the mean of what a block makes of them ten logits."""
    axes = open_sheet((4.6, 4.2), xlim=(-1, 13), ylim=(-0.6, 11.6), aspect="equal")
    ink = ((0.2, 0.9, 0.9, 0.6), (0.0, 0.1, 0.6, 0.6), (0.0, 0.4, 0.8, 0.1), (0.1, 0.8, 0.3, 0.0))
    for row in range(4):
        for column in range(4):
            for x, y, size in ((column + 1.6, 2.9 - row, 0.9), (0.45 * (4 * row + column), 4.9, 0.4)):
                axes.add_patch(Rectangle((x, y), size, size, fc=PAPER, ec=GREY, lw=0.8))
                axes.add_patch(Rectangle((x, y), size, size, fc=BLUE, alpha=ink[row][column], lw=0))
    draw_arrow(axes, 3.6, 3.9, 3.6, 4.8)
    for y, text in ((6.6, "linear, + positions"), (8.1, "encoder block"), (9.6, "mean, linear")):
        draw_arrow(axes, 3.6, y - (1.2 if y < 7 else 1.1), 3.6, y - 0.4)
        draw_box(axes, 3.6, y, 6.0, text)
    draw_arrow(axes, 3.6, 10.0, 3.6, 10.6)
    axes.text(3.6, 11.0, "10 logits", ha="center", va="center")
    shapes = ((1.4, "(batch, 8, 8)"), (5.1, "(batch, 16, 4)"), (7.3, "(batch, 16, d)"), (8.85, "(batch, 16, d)"))
    for y, shape in shapes:
        axes.text(8.0, y, shape, va="center", fontsize=8.5)


def draw_review_classifier() -> None:
    """Words and padding become tokens, a block mixes the words, and the mean of its states a score."""
    axes = open_sheet((5.4, 3.9), xlim=(-1.3, 14), ylim=(-0.6, 10.2))
    for i, word in enumerate(("a", "great", "film", ".", "", "")):
        draw_box(axes, 1.45 * i, 0.2, 1.35, word, INK if word else GREY)
    for y, layer in ((2.2, "embedding + positions"), (4.1, "encoder block"), (6.0, "mean"), (7.9, "linear")):
        draw_arrow(axes, 3.6, y - 1.5, 3.6, y - 0.4)
        draw_box(axes, 3.6, y, 6.0, layer)
    draw_arrow(axes, 3.6, 8.3, 3.6, 9.2)
    axes.text(3.6, 9.6, "score: positive, if above 0", ha="center", va="center")
    notes = ((0.2, "empty: padding"), (4.1, "no word looks\nat padding"), (6.0, "padding is\nnot counted"))
    for y, note in notes:
        axes.text(8.2 if y < 1 else 7.0, y, note, va="center", fontsize=8.5)


def draw_two_memories() -> None:
    """The small fast memory of a GPU, the large slow one, and what tiles of attention move between them."""
    axes = open_sheet((5.2, 2.6), xlim=(0, 12), ylim=(0, 5.6))
    draw_box(axes, 5.2, 4.9, 5.4, r"one tile of scores; $m$, $\ell$, $o$", ORANGE)
    draw_box(axes, 5.2, 0.7, 10.0, "queries, keys, values and outputs of all tokens", BLUE)
    axes.text(8.1, 4.9, "SRAM, 192 KB beside each of\n108 processors, 19 TB/s together", va="center", fontsize=8.5)
    axes.text(5.2, 0.05, "HBM, 40 GB, 1.6 TB/s", ha="center", va="center", fontsize=8.5)
    draw_arrow(axes, 4.2, 1.1, 4.2, 4.5)
    axes.text(4.0, 2.8, "keys and values, once\nfor each tile of queries", ha="right", va="center", fontsize=8.5)
    draw_arrow(axes, 6.2, 4.5, 6.2, 1.1)
    axes.text(6.4, 2.8, "outputs, once", va="center", fontsize=8.5)
