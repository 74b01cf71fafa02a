"""Figures on dark pages, and on pages narrower than they are: colours by what they show, letters that stay legible."""

import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from .panels import SMALLEST

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
PICTURE = re.compile(r'<img\b(?=[^>]*\bsrc="(?P<source>[^":?]+\.svg)")(?![^>]*\b(?:width|loading)=)[^>]*>')


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


def measure_size(picture: Path) -> tuple[float, float]:
    """Width and height of an SVG in pixels."""
    root = ElementTree.parse(picture).getroot()
    sides = [root.get(side, "") for side in ("width", "height")]
    if not all(sides):
        *_, width, height = map(float, root.get("viewBox", "").split())
        return width, height
    width, height = (float(side.removesuffix("pt")) * (4 / 3 if side.endswith("pt") else 1) for side in sides)
    return width, height


def size_picture(image: re.Match[str], folder: Path) -> str:
    """Tell the size of a picture before it comes; a figure shrinks as far as its letters can be read, and scrolls."""
    path = folder / unquote(image["source"])
    if not path.exists():
        return image[0]
    width, height = measure_size(path)
    attributes = f'loading="lazy" decoding="async" width="{round(width)}" height="{round(height)}"'
    if path.parent.name != "_images" or path.name.startswith(("cover", "card-")):
        return f"<img {attributes}{image[0][4:]}"
    shown = f'<img style="min-width: {round(SMALLEST * width)}px" {attributes}{image[0][4:]}'
    narrow = path.with_name(f"narrow-{path.name}")
    if narrow.exists():
        sides = "width='{:.0f}' height='{:.0f}'".format(*measure_size(narrow))
        address = image["source"].replace(path.name, narrow.name)
        shown = f'<picture><source media="(max-width: 576px)" srcset="{address}" {sides}>{shown}</picture>'
    return f'<div class="scrolls">{shown}</div>'


def size_pictures(folder: Path) -> None:
    """So that no text moves when a picture comes, which it does when the reader does."""
    for page in folder.rglob("*.html"):
        html = page.read_text("utf-8")
        for image in reversed(list(PICTURE.finditer(html))):
            html = html[: image.start()] + size_picture(image, page.parent) + html[image.end() :]
        page.write_text(html, "utf-8")
