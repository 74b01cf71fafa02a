"""What no page uses is not shipped, and a page loads what it needs."""

import re
import shutil
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from .fonts import cut_font

# Scripts of which no page uses anything: the icons are a font as well, and the book has no toggles.
UNUSED = ("fontawesome.js", "togglebutton.js")
TABS, MENUS = "design-tabs.js", "bootstrap.js"
WITH_MENUS = re.compile(r'data-bs-toggle="(?!tooltip)|"pst-collapse-sidebar-button"')
SEARCH = ("searchtools.js", "language_data.js", "searchindex.js", "search.js")
SETTINGS = "documentation_options.js"  # lines of the page itself add to it
FILES = ("*.map", "*.ttf", "sphinx-thebe.*", "fa-brands-400.woff2", "fa-regular-400.woff2", *UNUSED)
SCRIPT = re.compile(r'<script\b(?P<attributes>[^>]*?)\bsrc="(?P<source>[^"?]+)(?P<version>\?[^"]*)?"[^>]*></script>\n?')
PICTURE = re.compile(r'<img\b(?=[^>]*\bsrc="(?P<source>[^":?]+\.svg)")(?![^>]*\b(?:width|loading)=)')


def lighten(html: str, searching: bool) -> str:
    """Leave out the scripts that a page does not use, and let it be read before the others have come."""

    def keep(script: re.Match[str]) -> str:
        name = script["source"].rpartition("/")[2]
        kind = name.removesuffix(".js") if "/play/" in script["source"] else ""
        if kind and f'data-play="{"" if kind == "tools" else kind}' not in html:
            return ""
        if name in UNUSED or (name in SEARCH and not searching) or (name == TABS and "sd-tab-set" not in html):
            return ""
        if name == MENUS and not WITH_MENUS.search(html):  # a browser shows titles by itself
            return ""
        if "defer" in script["attributes"] or name == SETTINGS or searching:
            return script[0]
        return script[0].replace("<script", "<script defer", 1)

    return SCRIPT.sub(keep, re.sub(r'<link rel="preload" as="script"[^>]*>\n?', "", html))


def size_pictures(html: str, folder: Path) -> str:
    """Tell the size of each picture before it comes, so that no text moves; it comes when the reader does."""

    def size(image: re.Match[str]) -> str:
        path = folder / unquote(image["source"])
        if not path.exists():
            return image[0]
        root = ElementTree.parse(path).getroot()
        box = [float(number) for number in root.get("viewBox", "").split()]
        width, height = (root.get(side, "") for side in ("width", "height"))
        scale = 4 / 3 if width.endswith("pt") or not width else 1
        numbers = [float(re.sub(r"[a-z]+$", "", text)) for text in (width, height) if text] or box[2:]
        sides = [round(scale * number) for number in numbers]
        return f'<img loading="lazy" decoding="async" width="{sides[0]}" height="{sides[1]}"'

    return PICTURE.sub(size, html)


def shrink_icons(folder: Path) -> None:
    """Cut the font of icons to those that the pages and their scripts name."""
    names: set[str] = set()
    for path in (*folder.rglob("*.html"), *folder.glob("_static/scripts/*.js")):
        names |= set(re.findall(r"\bfa-[\w-]+", path.read_text("utf-8")))
    styles = "".join(path.read_text("utf-8") for path in folder.glob("_static/styles/*.css"))
    letters = {chr(int(code, 16)) for code in re.findall(r'content:"\\(f[0-9a-f]{3})"[^}]*font-family', styles)}
    for chosen, code in re.findall(r'((?:\.fa-[\w-]+:+before,?)+)\{content:"\\([0-9a-f]+)"\}', styles):
        if names & set(re.findall(r"fa-[\w-]+", chosen)):
            letters.add(chr(int(code, 16)))
    for font in folder.rglob("fa-solid-900.woff2"):
        cut_font(font, font, letters, features=())


def lighten_site(folder: Path) -> None:
    """Lighten each page; delete what Sphinx and the theme copy, and no page asks for."""
    for pattern in FILES:
        for unused in folder.rglob(pattern):
            unused.unlink()
    shutil.rmtree(folder / "_static/locales", ignore_errors=True)  # translations of the theme
    for page in folder.rglob("*.html"):
        html = lighten(page.read_text("utf-8"), page.name == "search.html")
        page.write_text(size_pictures(html, page.parent), "utf-8")
    shrink_icons(folder)
