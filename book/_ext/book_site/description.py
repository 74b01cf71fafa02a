"""Where the book stands, for sphinxext-opengraph, which says of a page what it is; and the picture that it shows."""

import base64
import json
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

REPOSITORY = re.compile(r"https://github\.com/(?!OWNER/)([\w-]+)/([\w.-]+)")
SITEMAP = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
PICTURE = "_static/cover.png"  # _config.yml names it as well


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


def store_picture(root: Path, folder: Path) -> None:
    """Write the figure of the cell tagged `cover` as PNG: what shows links shows no SVG."""
    for path in (root / "notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if "cover" in cell["metadata"].get("tags", []):
                pictures = [out["data"]["image/png"] for out in cell["outputs"] if "image/png" in out.get("data", {})]
                (folder / PICTURE).write_bytes(base64.b64decode("".join(pictures[0])))
