"""Figures on dark pages, and on pages narrower than they are: colours by what they show, letters that stay legible."""

import re
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sphinx.application import Sphinx

from .description import find_figures, read_picture

# A figure brings its palette for dark grounds itself, for Jupyter: d2lmini/figures/dark.css.
OWN = re.compile(r'<style id="dark">.*?</style>', re.DOTALL)
PALETTE = re.compile(r'(?:fill|stroke): (#\w+)"\]')
# All other colours are data, and so is a cell of a map or of its scale, which has an edge of its own colour, thin or
# without a width; matplotlib writes no colour for a black fill. The inks of letters in coloured cells change places.
CELL = re.compile(r'style="((?:fill: (#[0-9a-f]{6}); )?stroke: (?:\2|#000000)(?:"|; stroke-width: 0\.2[;"]))')
FILL = re.compile(r'style="fill: (#[0-9a-f]{6})"')
INKS = '[id^="text_"]>g:not([style]){fill:#ffffff}[style="fill: #fefefe"]{fill:#000000!important}'
# Luminances plus 0.05, whose ratios are contrasts: black and white are equally easy to read on the middle one.
MIDDLE, WHITE = (0.05 * 1.05) ** 0.5, 1.05
PLATE = 0.075  # what white data become: lighter than the ground of a dark page
SMALLEST = 0.68  # letters of 9 points stay 8 pixels high
PHONE = 360  # pixels of a column, with its margins


def measure_luminance(linear: list[float]) -> float:
    """The relative luminance of a colour of linear light."""
    red, green, blue = linear
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def darken(colour: str) -> str:
    """A data colour for dark pages: the same hue, light for dark, and white ink where black was easier to read.

    Different colours of one scale stay different: the contrast to the middle keeps its order, and changes its side.
    """
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    level = measure_luminance(linear) + 0.05
    if level < MIDDLE:
        wanted = MIDDLE * MIDDLE / level - 0.05
    else:
        wanted = MIDDLE * (PLATE / MIDDLE) ** ((level - MIDDLE) / (WHITE - MIDDLE)) - 0.05
    pure = [part / max(linear) for part in linear] if max(linear) > 0 else [1.0, 1.0, 1.0]
    reached = measure_luminance(pure)
    if wanted <= reached or reached > 0.999:
        mixed = [part * wanted / reached for part in pure]
    else:
        mixed = [part + (1 - part) * (wanted - reached) / (1 - reached) for part in pure]
    coded = [12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in mixed]
    return "#" + "".join(f"{round(255 * min(part, 1)):02x}" for part in coded)


def colour_figure(figure: str) -> str:
    """An SVG with colours for dark pages: beside those of its palette, which it has, those of its data."""
    own = OWN.search(figure)
    palette = set(PALETTE.findall(own[0])) if own else set()
    rules = []
    for colour in sorted(set(FILL.findall(figure)) - palette):
        rules.append(f'[style="fill: {colour}"]{{fill:{darken(colour)}!important}}')
    for style, colour in sorted(set(CELL.findall(figure))):  # the last rule wins: a white cell is no ground
        if colour not in palette - {"#ffffff"}:
            dark = darken(colour or "#000000")
            selector = f'[style="{style}]' if style[-1] == '"' else f'[style^="{style[:-1]}"]'
            rules.append(f"{selector}{{fill:{dark}!important;stroke:{dark}!important}}")
    rules.append(INKS)
    sharp = '[style*="stroke-width: 0.2"],[id^="QuadMesh"]{shape-rendering:crispEdges}'  # no seams between cells
    style = f"<style>{sharp}@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"
    return re.sub(r"<svg\b[^>]*>", lambda tag: tag[0] + style, figure, count=1)


def colour_figures(folder: Path) -> None:
    """Give each figure its colours for dark pages, in a style sheet of its own."""
    for figure in folder.glob("_images/*.svg"):
        figure.write_text(colour_figure(figure.read_text("utf-8")), "utf-8")


def measure_width(figure: Path) -> float:
    """The width of an SVG in pixels."""
    width = re.search(r'<svg\b[^>]* width="([\d.]+)pt"', figure.read_text("utf-8"))
    return float(width[1]) * 4 / 3 if width else 0.0


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


def keep_letters(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Let a figure shrink only as far as its letters can be read, in a box that scrolls."""
    sources = {name: path for path, name in app.builder.images.items()}

    def box(image: re.Match[str]) -> str:
        name = image["name"]
        if name not in sources or name == "cover.svg":
            return image[0]
        source = Path(app.srcdir) / sources[name]
        least = round(SMALLEST * measure_width(source))
        shown = f'{image[0][:4]} style="min-width: {least}px"{image[0][4:]}'
        svg = source.read_text("utf-8")
        picture = list_pictures(Path(app.srcdir)).get(svg.strip())
        narrow = None if picture is None else stack_panels(svg, picture)
        if narrow:
            (folder := Path(app.outdir) / "_images").mkdir(exist_ok=True)
            (folder / f"narrow-{name}").write_text(narrow, "utf-8")
            address = image[0].partition(' src="')[2].partition(name)[0] + f"narrow-{name}"
            width, height = re.findall(r'width="(\d+)pt" height="(\d+)pt"', narrow)[0]
            size = f'width="{int(width) * 4 // 3}" height="{int(height) * 4 // 3}"'
            shown = f'<picture><source media="(max-width: 576px)" srcset="{address}" {size}>{shown}</picture>'
        return f'<div class="scrolls">{shown}</div>'

    if "body" in context:
        context["body"] = re.sub(r'<img\b[^>]*src="[^"]*_images/(?P<name>[^"/]+\.svg)"[^>]*>', box, context["body"])
