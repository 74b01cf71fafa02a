"""The whole Transformer as it is built in 2026, a map of the book: each part leads to the chapter that explains it."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from d2lmini.figures.parts import BLUE, GREY, INK, KEYS, QUERIES, VALUES, draw_arrow, draw_box, open_sheet

# Middle, height, width, text, colour, chapter: the parts of the machine,
PARTS = (
    (2.4, 1.6, 4.0, "embedding", INK, "positional-encoding"),
    (5.8, 3.9, 3.0, "RMS norm", INK, "transformer-block"),
    (3.3, 5.3, 2.3, "queries", QUERIES[0], "self-attention"),
    (5.8, 5.3, 2.3, "keys", KEYS[0], "self-attention"),
    (8.3, 5.3, 2.3, "values", VALUES[0], "self-attention"),
    (4.55, 6.7, 4.8, "turned by place", INK, "relative-positions"),
    (7.05, 8.1, 4.8, "key-value cache", INK, "what-is-kept"),
    (5.8, 9.5, 7.3, "scores, softmax, mixture", INK, "attention-pooling"),
    (5.8, 10.9, 7.3, "heads, in groups", INK, "multi-head-attention"),
    (5.8, 12.9, 3.0, "RMS norm", INK, "transformer-block"),
    (5.8, 14.3, 7.3, "gated network", INK, "transformer-block"),
    (2.4, 16.6, 4.0, "RMS norm", INK, "transformer-block"),
    (2.4, 18.0, 4.0, "unembedding", INK, "a-real-model"),
)
# and what else the book asks of them: height, text, chapter.
QUESTIONS = (
    (0.3, "or an image", "images-as-sequences"),
    (1.6, "or a review", "reading-reviews"),
    (3.9, "CNN, RNN or this?", "complexity"),
    (6.7, "longer texts", "longer-than-in-training"),
    (9.5, "tile by tile", "linear-memory"),
    (10.9, "what heads learn", "what-heads-learn"),
    (12.9, "on a machine", "costs-on-a-machine"),
    (14.3, "is it right?", "right-shapes"),
    (16.6, "elsewhere", "elsewhere"),
    (18.0, "with an encoder", "encoder-decoder"),
)


def draw_whole() -> None:
    """Embedding, blocks of attention and of a gated network beside the residual stream, unembedding."""
    axes = open_sheet((4.7, 6.2), xlim=(-0.4, 15.1), ylim=(-0.3, 19.9))
    axes.add_patch(Rectangle((0.1, 2.75), 9.9, 12.75, fill=False, ec=GREY, ls=":", lw=1))
    axes.text(9.85, 15.1, "× 30", ha="right", va="center")
    axes.text(2.4, 0.3, "tokens so far", ha="center", va="center")
    axes.text(2.4, 19.4, "logits of the next token", ha="center", va="center")
    _draw_stream(axes)
    for y, *_ in QUESTIONS[3:7]:
        axes.plot([9.6, 12.8 - 2.2], [y, y], color=GREY, lw=0.8, linestyle=":", zorder=0.5)
    questions = ((12.8, y, 4.4, text, GREY, chapter) for y, text, chapter in QUESTIONS)
    for x, y, width, text, colour, chapter in (*PARTS, *questions):
        draw_box(axes, x, y, width, text, colour, height=0.95, url=f"{chapter}.ipynb")


def _draw_stream(axes: Axes) -> None:
    """The residual stream, from which two layers read and to which they add; what flows in the first."""
    axes.plot([1.0, 1.0], [1.6, 16.6], color=BLUE, lw=2, linestyle="-", zorder=0.5)
    draw_arrow(axes, 2.4, 0.65, 2.4, 1.1)
    draw_arrow(axes, 2.4, 17.1, 2.4, 17.5)
    draw_arrow(axes, 2.4, 18.5, 2.4, 19.0)
    for low, high, to in ((3.0, 3.4, 10.9), (12.0, 12.4, 14.3)):
        axes.plot([1.0, 5.8, 5.8], [low, low, high], color=GREY, lw=1.2, linestyle="-", zorder=0.4)
        draw_arrow(axes, 2.2, to, 1.3, to)
        axes.plot(1.0, to, "o", color="#ffffff", markeredgecolor=BLUE, markersize=11)
        axes.text(1.0, to, "+", ha="center", va="center", zorder=4)
    for x, (colour, dashes), turned, kept in (
        (3.3, QUERIES, True, False),
        (5.8, KEYS, True, True),
        (8.3, VALUES, False, True),
    ):
        draw_arrow(axes, 5.8, 4.4, x, 4.8)
        stops = [5.8, *([6.2, 7.2] if turned else []), *([7.6, 8.6] if kept else []), 9.0]
        for low, high in zip(stops[::2], stops[1::2], strict=True):
            draw_arrow(axes, x, low, x, high, colour, dashes)
    draw_arrow(axes, 5.8, 10.0, 5.8, 10.4)
    draw_arrow(axes, 5.8, 13.4, 5.8, 13.8)
