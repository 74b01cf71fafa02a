"""Diagrams: what a computation looks like. Here are those with the colours of queries, keys and values."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from d2lmini.checks import check_choice
from d2lmini.figures import stacks
from d2lmini.figures.parts import GREY, INK, KEYS, PAPER, QUERIES, VALUES, draw_arrow, draw_box, open_sheet
from d2lmini.figures.plot import use_svg_display
from d2lmini.figures.whole import draw_whole

__all__ = ["draw_diagram"]


def draw_diagram(name: str) -> None:
    """Draw one of the diagrams of this book.

    Chapter: Attention pooling.

    Args:
        name: `"attention pooling"`, `"attention as matrices"`, `"three roles"`, `"clocks"`, `"turned hands"`,
            `"multi-head attention"`, `"architectures"`, `"transformer"`, `"block"`, `"residual streams"`,
            `"induction heads"`, `"vision transformer"`, `"review classifier"`, `"two memories"` or
            `"whole transformer"`.

    Raises:
        ValueError: if there is no such diagram; the message lists them.

    >>> d2l.draw_diagram("transformer")
    """
    check_choice("name", name, tuple(_DIAGRAMS))
    use_svg_display()
    _DIAGRAMS[name]()


def _draw_attention_pooling() -> None:
    """One query, four keys and values: scores, weights, mixture."""
    axes = open_sheet((5.4, 2.7), xlim=(0, 14), ylim=(0.3, 6.3))
    titles = ((1, "query"), (3.9, "keys"), (6, "β × score"), (8.35, "weights"), (11, "values"), (13.2, "mixture"))
    for x, name in titles:
        axes.text(x, 6.0, name, ha="center", va="center", fontsize=8.5)
    draw_box(axes, 1.0, 2.9, 1.7, "doing", QUERIES[0])
    draw_box(axes, 6.8, 2.9, 0.8, "softmax", height=4.6)
    keys = ("wǒ (I)", "xǐhuan (like)", "chī (eat)", "píngguǒ (apples)")
    columns = zip(keys, (0, 10, 10, 0), (0.0, 0.5, 0.5, 0.0), (10, 20, 40, 80), strict=True)
    for row, (key, score, weight, value) in enumerate(columns):
        y = 4.85 - 1.3 * row
        draw_arrow(axes, 1.85, 2.9, 2.35, y, *QUERIES)
        draw_box(axes, 4.05, y, 3.4, key, KEYS[0])
        axes.text(6.03, y, f"{score}", ha="center", va="center")
        axes.add_patch(Rectangle((7.5, y - 0.25), 1.8 * weight, 0.5, fc=GREY, ec=INK, lw=0.8))
        axes.text(9.6, y, f"{weight:.1f} ×", ha="right", va="center")
        draw_box(axes, 11.0, y, 1.3, f"{value}", VALUES[0])
        draw_arrow(axes, 11.65, y, 12.55, 2.9, *VALUES)
    draw_box(axes, 13.2, 2.9, 1.2, "30")


def _draw_attention_as_matrices() -> None:
    """Three queries and five keys of width 2, values of width 4: what is multiplied, and the shape of each matrix."""
    axes = open_sheet((5.4, 1.65), xlim=(0, 24), ylim=(-1.2, 5.8), aspect="equal")
    weights = ((0.1, 0.6, 0.1, 0.1, 0.1), (0.2, 0.2, 0.2, 0.2, 0.2), (0.0, 0.05, 0.05, 0.1, 0.8))
    # the left edge, rows and columns of each matrix, its name, its shape and its colour
    matrices = (
        (0.2, 3, 2, "$Q$", "n × d", QUERIES[0]),
        (3.2, 2, 5, r"$K^\top$", "d × m", KEYS[0]),
        (10.4, 3, 5, "weights", "n × m", INK),
        (16.4, 5, 4, "$V$", "m × v", VALUES[0]),
        (21.6, 3, 2.2, "output", "n × v", INK),
    )
    for left, rows, columns, name, shape, colour in matrices:
        axes.add_patch(Rectangle((left, 2.5 - rows / 2), columns, rows, fc=PAPER, ec=colour, lw=1.4))
        inside = name not in ("weights", "output")
        axes.text(left + columns / 2, 2.5 if inside else 2.9 + rows / 2, name, ha="center", va="center")
        axes.text(left + columns / 2, 1.9 - rows / 2, shape, ha="center", va="center", fontsize=8.5)
    for row, shares in enumerate(weights):
        for column, share in enumerate(shares):
            axes.add_patch(Rectangle((10.4 + column, 3 - row), 1, 1, fc=GREY, alpha=share, lw=0))
    for x, sign in ((2.7, "·"), (15.9, "·"), (21.0, "=")):
        axes.text(x, 2.5, sign, ha="center", va="center", fontsize=14)
    draw_arrow(axes, 8.4, 2.5, 10.2, 2.5)
    axes.text(9.3, 3.1, "softmax", ha="center", va="center", fontsize=8.5)
    axes.text(9.3, 1.9, "each row", ha="center", va="center", fontsize=8.5)


def _draw_three_roles() -> None:
    """One token in three roles: whom it asks, who finds it, and what it passes on."""
    axes = open_sheet((4.5, 2.5), xlim=(0, 11.3), ylim=(0.5, 6.3))
    draw_box(axes, 1.2, 3.2, 2.2, "chī (eat)")
    for y, name, (colour, dashes) in ((5.2, "query", QUERIES), (3.2, "key", KEYS), (1.2, "value", VALUES)):
        draw_arrow(axes, 2.3, 3.2, 3.8, y, colour, dashes)
        axes.text(3.3 if name == "key" else 2.5, 0.55 * y + 1.75, f"$W_{name[0]}$", ha="center", va="center")
        draw_box(axes, 4.65, y, 1.7, name, colour)
    for y, word in ((5.8, "wǒ (I)"), (4.6, "píngguǒ (apples)"), (2.2, "xǐhuan (like)")):
        draw_box(axes, 9.4, y, 3.7, word)
    draw_arrow(axes, 5.5, 5.2, 7.55, 5.8, *QUERIES)
    draw_arrow(axes, 5.5, 5.2, 7.55, 4.6, *QUERIES)
    draw_arrow(axes, 7.55, 2.4, 5.5, 3.2, *KEYS)
    draw_arrow(axes, 5.5, 1.2, 7.55, 2.0, *VALUES)
    for x, y, text in ((6.3, 5.95, "asks"), (6.9, 3.15, "is found by"), (6.9, 1.1, "passes on to")):
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5)


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
    axes = open_sheet((4.8, 3.7), xlim=(0, 10), ylim=(0, 8))
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


def _draw_transformer() -> None:
    """Encoder and decoder of a Transformer, and what goes from one to the other."""
    axes = open_sheet((4.9, 5.0), xlim=(0, 10.6), ylim=(0, 11.5))
    decoder = ["causal self-attention", "cross-attention", "feed-forward"]
    tops = [
        _draw_column(axes, 2.4, "source tokens", "N encoder blocks", ["self-attention", "feed-forward"]),
        _draw_column(axes, 8.0, "target tokens so far", "N decoder blocks", decoder),
    ]
    colour, dashes = KEYS
    corners = [tops[0], tops[0] + 0.5, tops[0] + 0.5, 5.15]
    axes.plot([2.4, 2.4, 5.2, 5.2], corners, color=colour, lw=1.2, linestyle=dashes)
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


_DIAGRAMS = {
    "attention pooling": _draw_attention_pooling,
    "attention as matrices": _draw_attention_as_matrices,
    "three roles": _draw_three_roles,
    "clocks": stacks.draw_clocks,
    "turned hands": _draw_turned_hands,
    "multi-head attention": _draw_multi_head_attention,
    "architectures": stacks.draw_architectures,
    "transformer": _draw_transformer,
    "block": stacks.draw_block,
    "residual streams": stacks.draw_residual_streams,
    "induction heads": stacks.draw_induction_heads,
    "vision transformer": stacks.draw_vision_transformer,
    "review classifier": stacks.draw_review_classifier,
    "two memories": stacks.draw_two_memories,
    "whole transformer": draw_whole,
}
