"""Where the book stands, for sphinxext-opengraph, which says of a page what it is; and the picture that it shows."""

import base64
import json
import re
from collections.abc import Iterator
from html import escape
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image, ImageOps
from sphinx.application import Sphinx
from sphinx.config import Config

from .search import read_block

REPOSITORY = re.compile(r"https://github\.com/(?!OWNER/)([\w-]+)/([\w.-]+)")
SITEMAP = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
PICTURE = "_static/cover.png"  # _config.yml names it as well
SHAPE = (600, 315)
DESCRIBED = re.compile(r'(<meta (?:name="|property="og:)description" content=")[^"]*"')


def name_home(app: Sphinx, config: Config) -> None:
    """Where GitHub Pages shows the book, once the repository is named."""
    found = REPOSITORY.fullmatch(config.html_theme_options.get("repository_url", ""))
    if found:
        config["html_baseurl"] = config["ogp_site_url"] = f"https://{found[1].lower()}.github.io/{found[2]}/"


def write_sitemap(app: Sphinx, folder: Path) -> None:
    """List the pages for search engines, where their home is known, and say where the list is."""
    home = app.config.html_baseurl
    if home:
        addresses = [home + app.builder.get_target_uri(page) for page in sorted(app.env.found_docs)]
        pages = "".join(f"<url><loc>{address}</loc></url>\n" for address in addresses)
        (folder / "sitemap.xml").write_text(f"{SITEMAP}\n{pages}</urlset>\n", "utf-8")
        (folder / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {home}sitemap.xml\n", "utf-8")


def find_figures(notebook: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each cell that shows a figure, and the output that is one, in the order of the page: its opening first."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    for cell in sorted(cells, key=lambda cell: "opening" not in cell["metadata"].get("tags", [])):
        yield from ((cell, output) for output in cell.get("outputs", []) if "image/png" in output.get("data", {}))


def read_picture(figure: dict[str, Any]) -> Image.Image:
    """The pixels of a figure."""
    return Image.open(BytesIO(base64.b64decode("".join(figure["data"]["image/png"])))).convert("RGB")


def store_picture(figure: dict[str, Any], path: Path) -> None:
    """Write a figure as PNG, on a ground of the shape that link previews have: they show no SVG, and nothing narrow."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ImageOps.pad(read_picture(figure), SHAPE, color="white").save(path, optimize=True)


def store_cover(root: Path, folder: Path) -> None:
    """Write the figure of the cell tagged `cover`, for the pages that have none."""
    for path in (root / "notebooks").glob("*.ipynb"):
        for cell, figure in find_figures(path):
            if "cover" in cell["metadata"].get("tags", []):
                store_picture(figure, folder / PICTURE)


def stop_at_question(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Describe a page by its first paragraph, and nothing of the next: sphinxext.opengraph counts letters."""
    first = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if first is not None:
        told = escape(read_block(first))
        context["metatags"] = DESCRIBED.sub(lambda tag: tag[1] + told + '"', context["metatags"])


def show_figure(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Let a link to a notebook's page show its first figure."""
    notebook = Path(app.srcdir) / f"{page}.ipynb"
    for _cell, figure in islice(find_figures(notebook) if notebook.exists() else (), 1):
        name = f"_static/previews/{notebook.stem}.png"
        store_picture(figure, Path(app.outdir) / name)
        told = {"og:image": name, "og:image:alt": figure["metadata"].get("image/png", {}).get("alt")}
        context["meta"] = (context["meta"] or {}) | told
