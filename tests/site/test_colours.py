"""Heatmaps keep their meaning in both themes: the colours that a reader sees are read back into the numbers."""

import io
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from book_site.figures import colour_figure
from matplotlib.transforms import Bbox

import d2lmini as d2l
from d2lmini.figures.plot import bear_dark
from tests.colours import contrast
from tests.site.windows import photograph

VALUES = np.array([[0.0, 0.1, 0.25, 0.4], [0.5, 0.6, 0.75, 0.85], [0.9, 1.0, 0.0, 1.0]])
MANY = np.kron(VALUES, np.ones((9, 9)))  # so many cells that equal neighbours become one path
THEMES = ("light", "dark")


def draw() -> tuple[str, list[Bbox]]:
    """The last figure as a page gets it, and the boxes of its panel and of its scale, if it has one, in points."""
    file = io.StringIO()
    plt.gcf().savefig(file, format="svg")
    boxes = [axes.get_window_extent() for axes in plt.gcf().axes]
    plt.close("all")
    return colour_figure(bear_dark(file.getvalue())), boxes


def show(browser: Any, figure: str, theme: str) -> np.ndarray:
    """The pixels of a figure in a page, two to a point."""
    context = browser.new_context(color_scheme=theme, device_scale_factor=2)
    window = context.new_page()
    window.set_content('<meta name="color-scheme" content="light dark"><body style="margin: 0">')
    window.evaluate(
        """svg => new Promise(done => { const image = new Image(288); image.onload = done;
           image.src = 'data:image/svg+xml,' + encodeURIComponent(svg); document.body.append(image); })""",
        figure,
    )
    pixels = photograph(window.locator("img"))
    context.close()
    return pixels


def look(pixels: np.ndarray, box: Bbox, rows: int, columns: int, share: float = 0.5) -> np.ndarray:
    """The colour of each cell at a share of its width and of its height, from the lower left: (rows, columns, 3)."""
    height = pixels.shape[0]
    x = 2 * (box.x0 + box.width * (np.arange(columns) + share) / columns)
    y = height - 2 * (box.y0 + box.height * (rows - np.arange(rows) - 1 + share) / rows)
    return pixels[np.round(y).astype(int)[:, None], np.round(x).astype(int)]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("cmap", "values"), [("Purples", VALUES), ("Blues", MANY), ("Greys", VALUES)])
def test_colours_are_read_back_into_values(browser: Any, cmap: str, values: np.ndarray, theme: str) -> None:
    d2l.show_heatmaps(values[None, None], "key", "query", cmap=cmap, figsize=(4, 3))
    figure, (panel, scale) = draw()
    pixels = show(browser, figure, theme)
    steps = 48  # the scale shows 24 colours, two readings each
    colours = look(pixels, scale, steps, 1)[::-1, 0]  # from 0 to 1
    seen = look(pixels, panel, *values.shape)
    nearest = np.abs(seen[:, :, None] - colours).sum(axis=-1).argmin(axis=-1)
    np.testing.assert_allclose((nearest + 0.5) / steps, values, atol=0.05)
    if theme == "dark":
        ground = pixels[0, 0]
        assert np.abs(seen - ground).max(axis=-1).min() > 20, "a value cannot be told from the ground of the page"
        assert np.abs(colours - ground).max(axis=-1).min() > 20, "an end of the scale is lost"


@pytest.mark.parametrize("cmap", ["Purples", "Blues", "Greys"])
def test_numbers_in_cells_can_be_read_in_the_dark(browser: Any, cmap: str) -> None:
    d2l.show_heatmaps(np.linspace(0, 1, 8).reshape(1, 1, 2, 4), "key", "query", cmap=cmap, figsize=(4, 3), fmt=".2f")
    figure, (panel,) = draw()
    pixels = show(browser, figure, "dark")
    cells = pixels[:, round(2 * panel.x0) : round(2 * panel.x1)]
    cells = cells[len(pixels) - round(2 * panel.y1) : len(pixels) - round(2 * panel.y0)]
    for cell in (cell for row in np.array_split(cells, 2) for cell in np.array_split(row[:, :], 4, axis=1)):
        inner = cell[8:-8, 8:-8].reshape(-1, 3)
        ink = inner[np.abs(inner - inner[0]).sum(axis=1).argmax()]
        assert contrast(*(bytes(map(int, colour)).hex() for colour in (ink, inner[0]))) >= 4.4
