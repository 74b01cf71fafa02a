"""Diagrams: what a computation looks like."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from d2lmini.checks import check_choice
from d2lmini.figures.parts import (
    BLUE,
    GREEN,
    GREY,
    INK,
    KEYS,
    ORANGE,
    PAPER,
    QUERIES,
    VALUES,
    draw_arrow,
    draw_box,
    style_arrow,
)
from d2lmini.figures.plot import use_svg_display
from d2lmini.figures.stacks import (
    draw_block,
    draw_induction_heads,
    draw_residual_streams,
    draw_review_classifier,
    draw_transformer,
    draw_two_memories,
    draw_vision_transformer,
)

__all__ = ["draw_diagram"]

Edge = tuple[tuple[int, int], tuple[int, int]]  # from (position, level) to (position, level)


def draw_diagram(name: str) -> None:
    """Draw one of the diagrams of this book.

    Chapter: Attention pooling.

    Args:
        name: `"attention pooling"` (a query, its scores, the weights and the mixture),
            `"three roles"` (one token as a query, a key and a value),
            `"clocks"` (three pairs of a sinusoidal encoding as the hands of clocks, at 24 positions),
            `"turned hands"` (two features of a query and a key, before and after both move on),
            `"multi-head attention"` (projections, attention in each head, concatenation, one more projection),
            `"architectures"` (how a CNN of two layers with kernel 3, an RNN and self-attention connect five
            positions), `"transformer"` (encoder and decoder, and what goes from one to the other),
            `"block"` (a Transformer block in pre-norm, with shapes),
            `"residual streams"` (the two orders of a Transformer block: norms in the stream, and beside it),
            `"induction heads"` (a head that notes what stood before, and one that looks for it),
            `"vision transformer"` (from a digit to patches, tokens and logits),
            `"review classifier"` (from words and padding to one score) or
            `"two memories"` (of a GPU, and what tiles of attention move between them).

    Raises:
        ValueError: if there is no such diagram; the message lists them.

    >>> d2l.draw_diagram("transformer")
    """
    check_choice("name", name, tuple(_DIAGRAMS))
    use_svg_display()
    _DIAGRAMS[name]()


def _draw_attention_pooling() -> None:
    """One query, four keys and values: scores, weights, mixture."""
    axes = plt.figure(figsize=(5.4, 2.7)).add_subplot()
    axes.set(xlim=(0, 14), ylim=(0.3, 6.3))
    axes.axis("off")
    titles = ((1.0, "query"), (4.0, "keys"), (6.03, "scores"), (8.35, "weights"), (11.0, "values"), (13.2, "mixture"))
    for x, name in titles:
        axes.text(x, 6.0, name, ha="center", va="center", fontsize=8.5)
    draw_box(axes, 1.0, 2.9, 1.7, "doing", QUERIES[0])
    axes.add_patch(
        FancyBboxPatch((6.4, 0.6), 0.8, 4.6, boxstyle="round,pad=0,rounding_size=0.12", fc=PAPER, ec=INK, lw=1.4)
    )
    axes.text(6.8, 2.9, "softmax", ha="center", va="center", rotation=90)
    rows = (
        ("wǒ (I)", 0, 0.0, 10),
        ("xǐhuan (like)", 1, 0.5, 20),
        ("chī (eat)", 1, 0.5, 40),
        ("píngguǒ (apples)", 0, 0.0, 80),
    )
    for row, (key, score, weight, value) in enumerate(rows):
        y = 4.85 - 1.3 * row
        draw_arrow(axes, 1.85, 2.9, 2.35, y, *QUERIES)
        draw_box(axes, 4.05, y, 3.4, key, KEYS[0])
        axes.text(6.03, y, f"{score}", ha="center", va="center")
        axes.add_patch(Rectangle((7.5, y - 0.25), 1.8 * weight, 0.5, fc=GREY, ec=INK, lw=0.8))
        axes.text(9.6, y, f"{weight:.1f} ×", ha="right", va="center")
        draw_box(axes, 11.0, y, 1.3, f"{value}", VALUES[0])
        draw_arrow(axes, 11.65, y, 12.55, 2.9, *VALUES)
    draw_box(axes, 13.2, 2.9, 1.2, "30")


def _draw_three_roles() -> None:
    """One token in three roles: whom it asks, who finds it, and what it passes on."""
    axes = plt.figure(figsize=(4.5, 2.5)).add_subplot()
    axes.set(xlim=(0, 11.3), ylim=(0.5, 6.3))
    axes.axis("off")
    draw_box(axes, 1.2, 3.2, 2.2, "chī (eat)")
    for y, name, (colour, dashes) in ((5.2, "query", QUERIES), (3.2, "key", KEYS), (1.2, "value", VALUES)):
        draw_arrow(axes, 2.3, 3.2, 3.8, y, colour, dashes)
        x = 3.3 if name == "key" else 2.5
        axes.text(x, 0.55 * y + 1.75, f"$W_{name[0]}$", ha="center", va="center")
        draw_box(axes, 4.65, y, 1.7, name, colour)
    for y, word in ((5.8, "wǒ (I)"), (4.6, "píngguǒ (apples)"), (2.2, "xǐhuan (like)")):
        draw_box(axes, 9.4, y, 3.7, word)
    draw_arrow(axes, 5.5, 5.2, 7.55, 5.8, *QUERIES)
    draw_arrow(axes, 5.5, 5.2, 7.55, 4.6, *QUERIES)
    draw_arrow(axes, 7.55, 2.4, 5.5, 3.2, *KEYS)
    draw_arrow(axes, 5.5, 1.2, 7.55, 2.0, *VALUES)
    for x, y, text in ((6.3, 5.95, "asks"), (6.9, 3.15, "is found by"), (6.9, 1.1, "passes on to")):
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5)


def _draw_clocks() -> None:
    """Pairs 0, 4 and 8 of an encoding of width 32: the hand points to (sine, cosine)."""
    axes = plt.figure(figsize=(5.4, 1.8)).add_subplot()
    axes.set(xlim=(-2.2, 24), ylim=(-3.8, 0.7), aspect="equal")
    axes.axis("off")
    for row, (j, colour) in enumerate(zip((0, 4, 8), (BLUE, ORANGE, GREEN), strict=True)):
        axes.text(-0.8, -1.2 * row, f"clock {j}", ha="right", va="center", fontsize=8.5)
        angles = [i * 10000 ** (-2 * j / 32) for i in range(24)]
        axes.plot(range(24), [-1.2 * row] * 24, "o", color=PAPER, markeredgecolor=GREY, markersize=10.5)
        x = [part for i, angle in enumerate(angles) for part in (i, i + 0.4 * math.sin(angle), math.nan)]
        y = [part - 1.2 * row for angle in angles for part in (0, 0.4 * math.cos(angle), math.nan)]
        axes.plot(x, y, color=colour, lw=1.6, linestyle="-")
    for i in range(0, 24, 5):
        axes.text(i, -3.5, f"{i}", ha="center", va="center", fontsize=8.5)
    axes.text(-0.8, -3.5, "position", ha="right", va="center", fontsize=8.5)


def _draw_turned_hands() -> None:
    """Two features of a query at position 1 and a key at 5, before and after 100 steps of 0.1 radians."""
    _, panels = plt.subplots(1, 2, figsize=(4.4, 2.3))
    for panel, start in zip(panels, (0, 100), strict=True):
        panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", title=f"{start} words in front")
        panel.axis("off")
        panel.plot(0, 0, "o", color=PAPER, markeredgecolor=GREY, markersize=84)
        for name, length, angle, position, role in (("q", 0.95, 0.5, 1, QUERIES), ("k", 0.65, 1.3, 5, KEYS)):
            turned = angle + 0.1 * (start + position)
            x, y = length * math.cos(turned), length * math.sin(turned)
            draw_arrow(panel, 0, 0, x, y, *role)
            panel.text(x * (1 + 0.2 / length), y * (1 + 0.2 / length), name, ha="center", va="center")


def _draw_multi_head_attention() -> None:
    """Projections, attention in each head, concatenation, one more projection."""
    axes = plt.figure(figsize=(4.8, 3.7)).add_subplot()
    axes.set(xlim=(0, 10), ylim=(0, 8))
    axes.axis("off")
    inputs = {"queries": (2.2, *QUERIES), "keys": (5.0, *KEYS), "values": (7.8, *VALUES)}
    for name, (x, colour, _) in inputs.items():
        draw_box(axes, x, 0.4, 1.8, name, colour)
    for middle, index in ((2.2, "1"), (7.8, "h")):
        for (x, colour, dashes), letter, shift in zip(inputs.values(), "qkv", (-1.35, 0, 1.35), strict=True):
            draw_arrow(axes, x, 0.75, middle + shift, 2.05, colour, dashes)
            draw_box(axes, middle + shift, 2.4, 1.1, f"$W_{letter}^{{({index})}}$", colour)
            draw_arrow(axes, middle + shift, 2.75, middle + shift, 3.55, colour, dashes)
        draw_box(axes, middle, 3.9, 3.9, "attention pooling $f$")
        draw_arrow(axes, middle, 4.25, middle, 5.15)
        axes.text(middle + 0.2, 4.65, f"$o_{index}$", va="center")
    axes.text(5.0, 3.1, "…", fontsize=14, ha="center", va="center")
    draw_box(axes, 5.0, 5.5, 9.5, r"concatenate: $[o_1;\ \ldots;\ o_h]$")
    draw_arrow(axes, 5.0, 5.85, 5.0, 6.35)
    draw_box(axes, 5.0, 6.7, 1.3, "$W_o$")
    draw_arrow(axes, 5.0, 7.05, 5.0, 7.5)
    axes.text(5.0, 7.72, "output", ha="center", va="center")


def _draw_architectures() -> None:
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
            panel.annotate("", end, start, arrowprops=style_arrow(ORANGE, "-", 2.2, 9))
        else:
            panel.plot(*zip(start, end, strict=True), color=GREY, linewidth=0.7, linestyle="-")
    top = max(end[1] for _, end in edges)
    for i in range(5):
        for level in range(top + 1):
            panel.plot(i, level, "o", color=BLUE, markersize=7, zorder=3)
        panel.text(i, -0.55, f"$x_{i + 1}$", ha="center", va="center")
        panel.text(i, top + 0.4, f"$y_{i + 1}$", ha="center", va="center")


_DIAGRAMS = {
    "attention pooling": _draw_attention_pooling,
    "three roles": _draw_three_roles,
    "clocks": _draw_clocks,
    "turned hands": _draw_turned_hands,
    "multi-head attention": _draw_multi_head_attention,
    "architectures": _draw_architectures,
    "transformer": draw_transformer,
    "block": draw_block,
    "residual streams": draw_residual_streams,
    "induction heads": draw_induction_heads,
    "vision transformer": draw_vision_transformer,
    "review classifier": draw_review_classifier,
    "two memories": draw_two_memories,
}
