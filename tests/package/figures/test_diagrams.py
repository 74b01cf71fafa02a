"""Diagrams show what they are asked to show."""

import re
from importlib import resources

import matplotlib.pyplot as plt
import pytest

import d2lmini as d2l
from tests.package.figures.pictures import svg

STYLE = (resources.files("d2lmini.figures") / "style.mplstyle").read_text("utf-8")
PARTS = {
    "attention pooling": "query keys scores softmax weights values mixture 0.5 30",
    "clocks": "clock position 0 4 8 20",
    "three roles": "chī wǒ píngguǒ xǐhuan query key value W_q W_k W_v asks",
    "multi-head attention": "queries keys values W_q^{(1)} W_v^{(h)} o_1 o_h concatenate W_o output",
    "architectures": "x_1 x_2 x_3 x_4 x_5 y_1 y_2 y_3 y_4 y_5",
    "turned hands": "q k",
    "transformer": "encoder decoder self-attention cross-attention feed-forward norm keys values logits",
    "block": "attention feed-forward norm + (batch, n, d) 4d",
    "residual streams": "attention feed-forward norm +",
    "vision transformer": "linear positions encoder block mean logits (batch, 8, 8) 16, 4",
    "induction heads": "c a f e after asks key value letters layer",
    "review classifier": "a great film embedding positions encoder block mean linear score: padding",
    "two memories": "SRAM HBM tile queries keys values outputs",
}


@pytest.mark.parametrize("name", PARTS)
def test_a_diagram_names_its_parts_and_has_the_same_bytes_each_time_and_the_colours_of_the_style(name: str) -> None:
    """A dark page exchanges the colours of the style, and no others."""
    pictures = set()
    for _ in range(2):
        d2l.draw_diagram(name)
        for panel in plt.gcf().axes:
            texts = " ".join(text.get_text() for text in panel.texts)
            assert [part for part in PARTS[name].split() if part not in texts] == []
        pictures.add(svg())
    (picture,) = pictures
    assert "<image" not in picture
    used = set(re.findall(r"#([0-9a-f]{6})\b", picture))
    assert used <= set(re.findall(r"\b[0-9a-f]{6}\b", STYLE)) and len(used) >= 3


def test_the_three_architectures_and_their_paths_from_x1() -> None:
    d2l.draw_diagram("architectures")
    panels = plt.gcf().axes
    assert [panel.get_title() for panel in panels] == ["CNN", "RNN", "self-attention"]
    for panel, edges, path in zip(panels, (2 * 13, 5 + 4, 25), (2, 5, 1), strict=True):
        arrows = [child for child in panel.texts if getattr(child, "arrow_patch", None) is not None]
        lines = [line for line in panel.lines if line.get_marker() != "o"]
        assert len(arrows) == path and len(arrows) + len(lines) == edges


def test_a_norm_stands_in_the_stream_above_the_sum_or_beside_it_below() -> None:
    d2l.draw_diagram("residual streams")
    for panel in plt.gcf().axes:
        norms, sums = ([text.get_position() for text in panel.texts if text.get_text() == it] for it in ("norm", "+"))
        post = panel.get_title() == "post-norm"
        for (x, norm), (stream, plus) in zip(norms, sums, strict=True):
            assert (norm > plus) == (x == stream) == post


def test_an_unknown_diagram_is_refused() -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'attention pooling', .*, got 'tree'"):
        d2l.draw_diagram("tree")
