"""Figures on dark pages, and on pages narrower than they are: colours by what they show, letters that stay legible."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

# The colours of d2lmini/figures/style.mplstyle and what they become on a dark page.
DARK = {
    "#ffffff": "#121212",
    "#1f2328": "#e6e9ee",
    "#59636e": "#9aa4b2",
    "#d1d9e0": "#333b47",
    "#0a5fb4": "#6cb1ff",
    "#b34700": "#ff9d57",
    "#00785c": "#3fd0a8",
    "#8a3ea8": "#d49aef",
}
# All other colours are data, and so is a cell of a map or of its scale, which has an edge of its own colour, thin or
# without a width; matplotlib writes no colour for a black fill. The inks of letters in coloured cells change places.
CELL = re.compile(r'style="((?:fill: (#[0-9a-f]{6}); )?stroke: (?:\2|#000000)(?:"|; stroke-width: 0\.2[;"]))')
FILL = re.compile(r'style="fill: (#[0-9a-f]{6})"')
INKS = '[id^="text_"]>g:not([style]){fill:#ffffff}[style="fill: #fefefe"]{fill:#000000!important}'
SERIES = set(DARK) - {"#ffffff"}
# Luminances plus 0.05, whose ratios are contrasts: black and white are equally easy to read on the middle one.
MIDDLE, WHITE = (0.05 * 1.05) ** 0.5, 1.05
PLATE = 0.075  # what white data become: lighter than the ground of a dark page
SMALLEST = 0.75  # letters of 9 points stay 9 pixels high


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
    """An SVG that brings its own colours for dark pages."""
    rules = [
        f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    ]
    for colour in sorted(set(FILL.findall(figure)) - set(DARK)):
        rules.append(f'[style="fill: {colour}"]{{fill:{darken(colour)}!important}}')
    for style, colour in sorted(set(CELL.findall(figure))):  # the last rule wins: a white cell is no ground
        if colour not in SERIES:
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


def keep_letters(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Let a figure shrink only as far as its letters can be read, in a box that scrolls."""
    sources = {name: path for path, name in app.builder.images.items()}

    def box(image: re.Match[str]) -> str:
        name = image["name"]
        if name not in sources or name == "cover.svg":
            return image[0]
        least = round(SMALLEST * measure_width(Path(app.srcdir) / sources[name]))
        return f'<div class="scrolls">{image[0][:4]} style="min-width: {least}px"{image[0][4:]}</div>'

    if "body" in context:
        context["body"] = re.sub(r'<img\b[^>]*src="[^"]*_images/(?P<name>[^"/]+\.svg)"[^>]*>', box, context["body"])
