"""Figures of panels side by side, for phones: the same panels one below the other, so that nothing scrolls."""

import re
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
from sphinx.application import Sphinx

from .description import find_figures, read_picture

SMALLEST = 0.67  # letters of 9 points stay 8 pixels high
PHONE = 363  # pixels of a figure in a fold, where a phone has 390


@cache
def list_pictures(root: Path) -> dict[str, np.ndarray]:
    """The pixels, `(height, width)`, of each figure of the notebooks, one for a point: 255 is the ground."""
    figures = (found for path in sorted(root.glob("*/*.ipynb")) for _, found in find_figures(path))
    return {
        "".join(figure["data"].get("image/svg+xml", "")).strip(): np.asarray(read_picture(figure).convert("L"))
        for figure in figures
    }


def cut_panels(picture: np.ndarray, widest: float) -> list[tuple[int, int]]:
    """Where to cut a figure of panels side by side into rows no wider than this: between panels, as evenly as it goes.

    A gap between panels is not much narrower than others, and lies inside: outside are labels and the scale of colours.
    An empty list if its panels do not stand apart.
    """
    blank = [bool(column) for column in (picture > 250).min(axis=0)]
    gaps, at = list[tuple[int, int]](), 0  # the width and the middle of each
    for empty, columns in groupby(blank):
        width = len(list(columns))
        if empty and width >= 4 and 0.15 * len(blank) < at < 0.85 * len(blank) - width:
            gaps.append((width, at + width // 2))
        at += width
    places = [0, *(middle for width, middle in gaps if 2 * width >= max(gaps)[0]), len(blank)]
    best: dict[int, list[int]] = {0: [0]}  # for each place, the cuts that lead there in the fewest rows, evenly
    for end in places[1:]:
        ways = [[*best[begin], end] for begin in places if begin in best and begin < end <= begin + widest]
        if ways:
            best[end] = min(ways, key=lambda way: (len(way), max(b - a for a, b in pairwise(way))))
    cuts = best.get(len(blank), [])
    return list(pairwise(cuts))


def stack_panels(svg: str, picture: np.ndarray) -> str | None:
    """The panels of a figure one below the other, if that makes it narrow enough for a phone."""
    widest = PHONE / SMALLEST * 3 / 4  # in points
    height, width = picture.shape
    pieces = cut_panels(picture, widest) if 'id="axes_2"' in svg and width > widest else []
    if len(pieces) < 2:
        return None
    rows = [repeat_labels(svg, piece, widest) for piece in pieces]
    whole = max(sum(end - begin for begin, end in row) for row in rows)
    head, inside = re.findall(r"(.*?<svg\b)[^>]*>(.*)</svg>", svg, re.DOTALL)[0]
    size = f'width="{whole}pt" height="{height * len(rows)}pt" viewBox="0 0 {whole} {height * len(rows)}"'
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1"'
    shown = "".join(
        f'<svg x="{sum(b - a for a, b in row[:i])}" y="{height * y}" width="{end - begin}" height="{height}"'
        f' viewBox="{begin} 0 {end - begin} {height}"><use xlink:href="#whole"/></svg>'
        for y, row in enumerate(rows)
        for i, (begin, end) in enumerate(row)
    )
    return f'{head} {names} {size}><defs><g id="whole">{inside}</g></defs>{shown}</svg>'


def repeat_labels(svg: str, piece: tuple[int, int], widest: float) -> list[tuple[int, int]]:
    """A piece of a figure, behind the names of its rows if only the first panel has them and there is room."""
    panels = sorted(map(float, re.findall(r'<g id="axes_\d+">\s*<g id="patch_\d+">\s*<path d="M ([\d.]+)', svg)))
    begin, end = piece
    left = next((x for x in panels if begin <= x < end), None)
    if not begin or left is None or left - begin > 0.85 * panels[0]:
        return [piece]
    labels, rest = (0, int(panels[0]) - 1), (int(left) - 1, end)
    return [labels, rest] if labels[1] + end - rest[0] <= widest else [piece]


def stack_figures(app: Sphinx) -> None:
    """Write each figure that is too wide for a phone a second time, as a phone shows it: `narrow-` and its name."""
    pictures = list_pictures(Path(app.srcdir))
    for path, name in app.builder.images.items():
        svg = (Path(app.srcdir) / path).read_text("utf-8") if name.endswith(".svg") else ""
        picture = pictures.get(svg.strip())
        if picture is not None and (narrow := stack_panels(svg, picture)):
            (Path(app.outdir) / f"_images/narrow-{name}").write_text(narrow, "utf-8")
