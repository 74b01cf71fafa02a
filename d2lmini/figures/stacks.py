"""Diagrams of stacks: the Transformer, its block, and two layers that work together."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from d2lmini.figures.parts import BLUE, GREEN, GREY, INK, KEYS, ORANGE, PAPER, QUERIES, VALUES, draw_arrow, draw_box


def draw_transformer() -> None:
    """Encoder and decoder of a Transformer, and what goes from one to the other."""
    axes = plt.figure(figsize=(4.9, 5.0)).add_subplot()
    axes.set(xlim=(0, 10.6), ylim=(0, 11.5))
    axes.axis("off")
    decoder = ["causal self-attention", "cross-attention", "feed-forward"]
    tops = [
        _draw_column(axes, 2.4, "source tokens", "N encoder blocks", ["self-attention", "feed-forward"]),
        _draw_column(axes, 8.0, "target tokens so far", "N decoder blocks", decoder),
    ]
    colour, dashes = KEYS
    way = [(2.4, tops[0]), (2.4, tops[0] + 0.5), (5.2, tops[0] + 0.5), (5.2, 5.15)]
    axes.plot(*zip(*way, strict=True), color=colour, lw=1.2, linestyle=dashes)
    draw_arrow(axes, 5.2, 5.15, 5.9, 5.15, colour, dashes)
    axes.text(3.8, tops[0] + 0.85, "keys and values", ha="center", va="center")
    axes.text(8.15, 3.95, "queries", ha="left", va="center", fontsize=8.5)
    draw_arrow(axes, 8.0, tops[1], 8.0, tops[1] + 0.45)
    draw_box(axes, 8.0, tops[1] + 0.8, 4.2, "linear")
    draw_arrow(axes, 8.0, tops[1] + 1.14, 8.0, tops[1] + 1.6)
    axes.text(8.0, tops[1] + 1.8, "logits of the next token", ha="center", va="center")


def _draw_column(axes: Axes, x: float, below: str, name: str, layers: Sequence[str]) -> float:
    """Blocks of layers, each with its norm; returns the height at which their output leaves."""
    axes.text(x, 0.15, below, ha="center", va="center")
    draw_arrow(axes, x, 0.35, x, 0.8)
    draw_box(axes, x, 1.15, 4.2, "embedding + positions")
    y = 1.5
    for layer in layers:
        draw_arrow(axes, x, y, x, y + 0.6)
        draw_box(axes, x, y + 0.95, 4.2, "norm", VALUES[0])
        draw_box(axes, x, y + 1.65, 4.2, f"+ {layer}", (KEYS if layer == "cross-attention" else QUERIES)[0])
        y += 2.0
    axes.add_patch(Rectangle((x - 2.3, 1.8), 4.6, y - 1.45, fill=False, ec=GREY, ls=":", lw=1))
    axes.text(x - 2.2, y + 0.12, name, ha="left", va="center", fontsize=8.5)
    draw_arrow(axes, x, y, x, y + 0.75)
    draw_box(axes, x, y + 1.1, 4.2, "norm", VALUES[0])
    return y + 1.45


def draw_residual_streams() -> None:
    """The two orders of a Transformer block: norms in the residual stream, and beside it."""
    _, panels = plt.subplots(1, 2, figsize=(4.4, 3.1))
    for panel, name in zip(panels, ("post-norm", "pre-norm"), strict=True):
        panel.set(xlim=(0, 6), ylim=(0, 9.3), title=name)
        panel.axis("off")
        panel.plot([1.6, 1.6], [0.1, 8.8], color=BLUE, lw=2, linestyle="-", zorder=0.5)
        draw_arrow(panel, 1.6, 8.7, 1.6, 9.2, BLUE)
        for bottom, layer in ((0.6, "attention"), (4.8, "feed-forward")):
            _draw_branch(panel, bottom, layer, norm_first=name == "pre-norm")


def draw_block() -> None:
    """One block in pre-norm: what flows through it, and its shape."""
    axes = plt.figure(figsize=(4.6, 3.6)).add_subplot()
    axes.set(xlim=(-1.6, 9), ylim=(-0.3, 9.6))
    axes.axis("off")
    axes.plot([1.6, 1.6], [0.1, 8.8], color=BLUE, lw=2, linestyle="-", zorder=0.5)
    draw_arrow(axes, 1.6, 8.7, 1.6, 9.2, BLUE)
    for bottom, layer in ((0.6, "attention"), (4.8, "feed-forward")):
        _draw_branch(axes, bottom, layer, norm_first=True)
    for y, shape in ((0.0, "(batch, n, d)"), (4.25, "(batch, n, d)"), (9.1, "(batch, n, d)")):
        axes.text(1.3, y, shape, ha="right", va="center", fontsize=8.5)
    axes.text(6.0, 2.6, "tokens look at each other", va="center", fontsize=8.5)
    axes.text(6.0, 6.8, "each token by itself:\n(batch, n, 4d) inside", va="center", fontsize=8.5)


def _draw_branch(panel: Axes, bottom: float, layer: str, *, norm_first: bool) -> None:
    """A layer beside the stream, and its norm."""
    top, place_of_norm = (bottom + 3.1, (4.2, bottom + 0.9)) if norm_first else (bottom + 2.4, (1.6, bottom + 3.3))
    way = [(1.6, bottom), (4.2, bottom), (4.2, top)]
    panel.plot(*zip(*way, strict=True), color=GREY, lw=1.2, linestyle="-", zorder=0.5)
    draw_arrow(panel, 4.2, top, 1.85, top)
    draw_box(panel, 4.2, top - 1.1, 2.9, layer, ORANGE)
    draw_box(panel, *place_of_norm, 1.5, "norm", GREEN)
    panel.plot(1.6, top, "o", color=PAPER, markeredgecolor=BLUE, markersize=11)
    panel.text(1.6, top, "+", ha="center", va="center", zorder=4)


def draw_induction_heads() -> None:
    """Layer 0 notes what stood before; layer 1 finds the place that is noted `after a`, and copies its letter."""
    axes = plt.figure(figsize=(5.5, 2.9)).add_subplot()
    axes.set(xlim=(-3.4, 18.6), ylim=(-0.6, 7.4))
    axes.axis("off")
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
    axes = plt.figure(figsize=(4.6, 4.2)).add_subplot()
    axes.set(xlim=(-1, 13), ylim=(-0.6, 11.6), aspect="equal")
    axes.axis("off")
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
    axes = plt.figure(figsize=(5.4, 3.9)).add_subplot()
    axes.set(xlim=(-1.3, 14), ylim=(-0.6, 10.2))
    axes.axis("off")
    for i, word in enumerate(("a", "great", "film", ".", "", "")):
        draw_box(axes, 1.45 * i, 0.2, 1.35, word, INK if word else GREY)
    layers = ("embedding + positions", "encoder block", "mean", "linear")
    for y, layer in zip((2.2, 4.1, 6.0, 7.9), layers, strict=True):
        draw_arrow(axes, 3.6, y - 1.5, 3.6, y - 0.4)
        draw_box(axes, 3.6, y, 6.0, layer)
    draw_arrow(axes, 3.6, 8.3, 3.6, 9.2)
    axes.text(3.6, 9.6, "score: positive, if above 0", ha="center", va="center")
    notes = ((0.2, "empty: padding"), (4.1, "no word looks\nat padding"), (6.0, "padding is\nnot counted"))
    for y, note in notes:
        axes.text(8.2 if y < 1 else 7.0, y, note, va="center", fontsize=8.5)


def draw_two_memories() -> None:
    """The small fast memory of a GPU, the large slow one, and what tiles of attention move between them."""
    axes = plt.figure(figsize=(5.2, 2.6)).add_subplot()
    axes.set(xlim=(0, 12), ylim=(0, 5.6))
    axes.axis("off")
    draw_box(axes, 5.2, 4.9, 5.4, r"one tile of scores; $m$, $\ell$, $o$", ORANGE)
    draw_box(axes, 5.2, 0.7, 10.0, "queries, keys, values and outputs of all tokens", BLUE)
    axes.text(8.1, 4.9, "SRAM, 192 KB beside each\nof 108 processors, 19 TB/s", va="center", fontsize=8.5)
    axes.text(5.2, 0.05, "HBM, 40 GB, 1.6 TB/s", ha="center", va="center", fontsize=8.5)
    draw_arrow(axes, 4.2, 1.1, 4.2, 4.5)
    axes.text(4.0, 2.8, "keys and values, once\nfor each tile of queries", ha="right", va="center", fontsize=8.5)
    draw_arrow(axes, 6.2, 4.5, 6.2, 1.1)
    axes.text(6.4, 2.8, "outputs, once", va="center", fontsize=8.5)
