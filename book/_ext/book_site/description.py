"""What a page says of itself: to a search engine, and where somebody shares a link to it."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

REPOSITORY = re.compile(r"https://github\.com/(?!OWNER/)([\w-]+)/([\w.-]+)")
PICTURE = "_static/cover.png"


def name_home(app: Sphinx, config: Config) -> None:
    """Where GitHub Pages shows the book, once the repository is named."""
    found = REPOSITORY.fullmatch(config.html_theme_options.get("repository_url", ""))
    if found:
        config["html_baseurl"] = f"https://{found[1].lower()}.github.io/{found[2]}/"


def describe_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Describe the page by its first paragraph; show the picture of the cover where a link to it is shared."""
    paragraphs = doctree.findall(nodes.paragraph) if doctree else []
    first = next((paragraph for paragraph in paragraphs if isinstance(paragraph.parent, nodes.section)), None)
    title = re.sub(r"<[^>]*>", "", context.get("title", pagename))
    text = first.astext() if first else f"{title}: a page of the book {app.config.project}."
    description = quoteattr(" ".join(text.split()))
    tags = [f'<meta name="description" content={description} />']
    if home := app.config.html_baseurl:
        facts = {"title": title, "type": "article", "url": f"{home}{pagename}.html", "image": f"{home}{PICTURE}"}
        tags += [f'<meta property="og:{name}" content={quoteattr(fact)} />' for name, fact in facts.items()]
        tags.append(f'<meta property="og:description" content={description} />')
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def store_picture(app: Sphinx, error: Exception | None) -> None:
    """Write the figure of the cell tagged `cover` as PNG: what shows links shows no SVG."""
    if error or app.builder.name != "html":
        return
    for path in (Path(app.srcdir) / "notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if "cover" in cell["metadata"].get("tags", []):
                pictures = [out["data"]["image/png"] for out in cell["outputs"] if "image/png" in out.get("data", {})]
                (Path(app.outdir) / PICTURE).write_bytes(base64.b64decode("".join(pictures[0])))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("config-inited", name_home)
    app.connect("html-page-context", describe_page)
    app.connect("build-finished", store_picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
