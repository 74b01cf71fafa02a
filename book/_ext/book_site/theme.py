"""What the theme cannot be told in _config.yml: one search box, no button that leads nowhere, no script of thebe."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

# What Sphinx and the theme write -> what a keyboard reaches and a screen reader understands.
MENDED = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
}


def adjust_theme(app: Sphinx, config: Config) -> None:
    """One search box; no button that a chapter has below its title, or that leads to a repository that is not set."""
    options = config.html_theme_options
    options["use_download_button"] = False
    options.setdefault("navbar_persistent", [])
    url = options.get("repository_url", "")
    config["notfound_urls_prefix"] = f"/{url.rpartition('/')[2]}/"  # GitHub Pages: me.github.io/my-fork/
    home = f"{config['notfound_urls_prefix']}book/intro.html"
    config["notfound_context"] = {
        "title": "Page not found",
        "body": f"<h1>Page not found</h1><p>There is no page at this address. "
        f'<a href="{home}">{config.project} begins here</a>, with the list of its chapters; '
        f"or search the book for what you were looking for.</p>"
        f'<form action="{config["notfound_urls_prefix"]}search.html"><input name="q" aria-label="Search the book"> '
        f"<button>Search</button></form>",
    }
    if "/OWNER/" in url:
        for name in ("use_repository_button", "use_issues_button", "use_edit_page_button", "use_source_button"):
            options[name] = False
        options["launch_buttons"] = {}


def drop_thebe(app: Sphinx, config: Config) -> None:
    """The theme loads sphinx-thebe, which declares a constant twice: a script error on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [listener for listener in listeners if listener.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [entry for entry in app.registry.css_files if entry[0] != "sphinx-thebe.css"]


def finish_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Replace labels that mislead a screen reader; describe the page by its first paragraph."""
    for old, new in MENDED.items():
        if "body" in context:
            context["body"] = context["body"].replace(old, new)
    paragraphs = doctree.findall(nodes.paragraph) if doctree else []
    first = next((paragraph for paragraph in paragraphs if isinstance(paragraph.parent, nodes.section)), None)
    text = first.astext() if first else f"{context.get('title', pagename)}: a page of the book {app.config.project}."
    description = f'<meta name="description" content={quoteattr(" ".join(text.split()))} />'
    context["metatags"] = context.get("metatags", "") + description


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("config-inited", adjust_theme)
    app.connect("config-inited", drop_thebe)
    app.connect("html-page-context", finish_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
