"""What the theme cannot be told in _config.yml: one search box, no button that leads nowhere, no script of thebe."""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from book_site.phrases import OWN, SCRIPTS

# What Sphinx and the theme write -> what a keyboard reaches and a screen reader understands.
TIDIED = {
    r'<summary aria-label="Toggle hidden content">': "<summary>",
    r'<meta name="viewport" content="width=device-width, initial-scale=1"\s*/?>': "",  # said twice already
    r"<title>(.+?)\s+(?:&#8212;|—)\s+\1</title>": r"<title>\1</title>",
    r'<div class="pst-async-banner-revealer d-none">\s*<aside[^>]*></aside>\s*</div>': "",  # there is one version
    r"<h1></h1>": "",  # the theme's heading for paper, where a page has no title
    r'id="pst-page-toc-nav"': 'id="page-contents"',  # keyboard.js, and not the theme, marks the section that is read
    r'(<i class="theme-switch[^>]*?)\s+title="[^"]*"': r"\1",  # the button's name would not be what it shows
    r'data-bs-title="(Color mode|[^"]*颜色[^"]*)"': f'title="{OWN["palette"]}"',
    r"<title>Search - ": "<title>Search &#8212; ",
    r'(<button class="btn search-button-field[^>]*?) title="Search" aria-label="Search"': r"\1",
    r'<button class="([^"]*\b(?:primary|secondary)-toggle[^"\s]*)': r'<button class="\1 pst-js-only',
    r'title="(Toggle primary sidebar|切换主侧边栏)"': f'title="{OWN["chapters"]}"',
    r'title="Toggle secondary sidebar"': f'title="{OWN["contents"]}"',
    r'(<div class="[^"]*\bcell_input docutils container")>': rf'\1 role="group" aria-label="{OWN["code_group"]}">',
    r'(<div class="[^"]*\bcell_output docutils container")>': rf'\1 role="group" aria-label="{OWN["output_group"]}">',
}
# In the list of chapters what a title says behind its colon stands back.
TIDIED[r'(<li class="toctree-l1[^>]*><a[^>]*>\d+ · [^:<]+:)( [^<]+)</a>'] = r"\1<small>\2</small></a>"
# The theme finds out behind the first layout whether it is dark, and all would be laid out a second time.
TIDIED[r'(?<=dataset\.theme = )localStorage\.getItem\("theme"\) \|\| "auto"'] = """
      { light: "light", dark: "dark" }[document.documentElement.dataset.mode] ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")"""
# In place of an error with a sign that only a script draws, and of a field that would do nothing.
NO_SEARCH = f"""<noscript>
      <p>{OWN["no_search"]}</p>
      <style>.bd-search-container form {{ display: none !important; }}</style>
    </noscript>"""
LOST = f"""<h1>{OWN["page_lost"]}</h1>
<p>{OWN["lost"]}</p>
<form class="lost" action="{{prefix}}search.html"><input name="q" aria-label="{OWN["search_book"]}">
<button>{OWN["search"]}</button></form>"""
# The page for a lost reader is shown at any address, on a host that has the book below its name or nothing else.
BASE = """<base href="{prefix}"><script>
if (!location.pathname.startsWith("{prefix}")) document.querySelector("base").href = "/";
addEventListener("DOMContentLoaded", () => document.querySelectorAll("a[href^='#']").forEach((link) => {{
  link.href = location.pathname + link.getAttribute("href");
}}));
</script>"""

# What all other scripts stand on, so that it comes before them.
KEPT = Path(__file__).resolve().parents[2] / "_static/kept.js"
# What is printed in columns keeps them and scrolls; all else that is printed wraps, as the sentence of a checker does.
COLUMNS = re.compile(r"^ *(tensor\(|\[\[)|\S {2,}\S", re.MULTILINE)


def adjust_theme(app: Sphinx, config: Config) -> None:
    """One search box; no button that a chapter has below its title, or that leads to a repository that is not set."""
    options = config.html_theme_options
    options["use_download_button"] = options["use_fullscreen_button"] = False
    options.setdefault("navbar_persistent", [])
    options["article_header_start"] = ["toggle-primary-sidebar.html", "book-title.html"]
    options["article_header_end"] = ["languages.html", "article-header-buttons.html"]
    url = options.get("repository_url", "")
    prefix = f"/{url.rpartition('/')[2]}/"  # GitHub Pages: me.github.io/my-fork/
    config["notfound_urls_prefix"] = prefix
    config["notfound_context"] = {"title": OWN["page_lost"], "body": LOST.format(prefix=prefix)}
    config["html_favicon"] = "book/_static/favicon.svg"
    if "/OWNER/" in url:
        options["launch_buttons"] = {}


def drop_thebe(app: Sphinx, config: Config) -> None:
    """The theme loads sphinx-thebe, which declares a constant twice: a script error on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [listener for listener in listeners if listener.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [entry for entry in app.registry.css_files if entry[0] != "sphinx-thebe.css"]


def mark_columns(app: Sphinx, doctree: nodes.document) -> None:
    """Tell the style sheet which outputs stand in columns."""
    for block in doctree.findall(nodes.literal_block):
        printed = block.parent.get("nb_element") == "cell_code_output"
        if printed and COLUMNS.search(block.astext()) and not block.astext().startswith(("✓", "✗")):
            block["classes"].append("columns")


def free_lost_page(app: Sphinx, folder: Path) -> None:
    """Let the page for a lost reader find its styles and links where the book does not stand below its name."""
    page, prefix = folder / "404.html", app.config["notfound_urls_prefix"]
    if page.exists() and "<base " not in page.read_text("utf-8"):
        html = re.sub(rf'(?<==")/{re.escape(prefix.strip("/"))}/', "", page.read_text("utf-8"))
        page.write_text(html.replace("<head>", f"<head>\n{BASE.format(prefix=prefix)}", 1), "utf-8")


def tidy_page(html: str) -> str:
    """Tidy what Sphinx and the templates of the theme write into every page."""
    for old, new in TIDIED.items():
        html = re.sub(old, new, html)
    return re.sub(r'<noscript>\s*<div class="admonition error">.*?</noscript>', NO_SEARCH, html, flags=re.DOTALL)


def keep_safely(html: str) -> str:
    """Begin with the script that makes the memory of a browser safe to use: those of Sphinx and the theme need it."""
    script = "" if "const KEPT" in html else f"<script>{KEPT.read_text('utf-8')}</script>\n"
    return re.sub(r"<meta charset[^>]*>\n?", lambda meta: meta[0] + script, html, count=1)


def hand_phrases(html: str) -> str:
    """Give a page the phrases that its scripts write, those of what is played with only where it is."""
    phrases = {name: phrase for name, phrase in SCRIPTS.items() if name != "play"}
    phrases |= SCRIPTS["play"] if "data-play=" in html else {}
    given = f'data-phrases="{escape(json.dumps(phrases, ensure_ascii=False))}" '
    return re.sub(r'(?<=<html )(?=lang="[^"]*" data-content_root=)', lambda _: given, html)
