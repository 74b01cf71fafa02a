"""One style sheet in place of seventeen, with the rules that some page can use: a phone waits for nothing else."""

import hashlib
import posixpath
import re
from pathlib import Path
from typing import Any

import tinycss2

SHEET = "_static/styles/site.css"
LINK = re.compile(
    r'[ \t]*<link(?=[^>]*\brel="stylesheet")[^>]*\bhref="(?P<root>[./]*)(?P<name>_static/[^"?]+)[^"]*"[^>]*>\n?'
)
ADDRESS = re.compile(r"""url\((['"]?)(?!data:|https?:|/|#)([^)'"]+)\1\)""")
WORD = re.compile(r"[\w-]+")
# A class or an id that must be there; what stands in brackets may be one of several, or must not be.
NAME = re.compile(r"[.#]((?:[\w-]|\\.)+)")
COMMA = re.compile(r",(?![^(\[]*[)\]])")  # between two selectors
BRACKETS = re.compile(r"\([^()]*\)|\[[^\]]*\]")


def read_sheet(folder: Path, name: str) -> str:
    """A style sheet with those that it imports, and addresses as seen from the one that replaces it."""
    css = re.sub(r'@charset "[^"]*";', "", (folder / name).read_text("utf-8"))
    here, home = posixpath.dirname(name), posixpath.dirname(SHEET)
    for imported in re.findall(r'@import "([^"]+)";', css):
        inner = read_sheet(folder, posixpath.normpath(posixpath.join(here, imported)))
        css = css.replace(f'@import "{imported}";', inner)
    return ADDRESS.sub(lambda url: f'url("{posixpath.relpath(posixpath.join(here, url[2]), home)}")', css)


def can_match(selector: str, words: set[str]) -> bool:
    """Whether pages and scripts have all the classes and ids that a selector asks for."""
    while BRACKETS.search(selector):
        selector = BRACKETS.sub("", selector)
    return "\\" in selector or all(name in words for name in NAME.findall(selector))


def keep_used(rules: list[Any], words: set[str]) -> str:
    """The rules that can match something, as CSS."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            listed = map(str.strip, COMMA.split(tinycss2.serialize(rule.prelude)))
            selectors = [selector for selector in listed if can_match(selector, words)]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer") and rule.content:
            inner = keep_used(tinycss2.parse_blocks_contents(rule.content, True, True), words)
            if inner:
                kept.append(f"@{rule.at_keyword} {tinycss2.serialize(rule.prelude).strip()}{{{inner}}}")
        elif rule.type == "at-rule":
            kept.append(rule.serialize())
    return "\n".join(kept)


def join_styles(folder: Path) -> None:
    """Write the one style sheet, and let each page ask for it alone."""
    pages = {page: page.read_text("utf-8") for page in folder.rglob("*.html")}
    scripts = [path.read_text("utf-8") for path in (folder / "_static").rglob("*.js")]
    words = set().union(*(WORD.findall(text) for text in (*pages.values(), *scripts)))
    asked = (dict.fromkeys(link["name"] for link in LINK.finditer(html)) for html in pages.values())
    names = max(asked, key=len)
    if SHEET in names:  # all pages are as the last build left them
        return
    css = "\n".join(read_sheet(folder, name) for name in names)
    joined = keep_used(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), words)
    (folder / SHEET).write_text(joined, "utf-8")
    version = hashlib.sha256(joined.encode()).hexdigest()[:8]
    for page, html in pages.items():
        first = LINK.search(html)
        if first:
            link = f'<link rel="stylesheet" href="{first["root"]}{SHEET}?v={version}" />\n'
            page.write_text(html[: first.start()] + link + LINK.sub("", html[first.start() :]), "utf-8")
