"""One style sheet in place of seventeen, with the rules that some page can use: a phone waits for nothing else."""

import hashlib
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tinycss2

SHEET = "_static/styles/site.css"
LINK = re.compile(
    r'[ \t]*<link(?=[^>]*\brel="stylesheet")[^>]*\bhref="(?P<root>[./]*)(?P<name>_static/[^"?]+)[^"]*"[^>]*>\n?'
)
ADDRESS = re.compile(r"""url\((['"]?)(?!data:|https?:|/|#)([^)'"]+)\1\)""")
FACE = re.compile(r"@font-face\s*\{[^}]*\}")
WORD = re.compile(r"[\w-]+")
SCRIPT = re.compile(
    r'<script\b[^>]*?(?:\bsrc="[./]*(?P<name>_static/[^"?]+)[^"]*"[^>]*)?>(?P<text>.*?)</script>', re.DOTALL
)
TAG = re.compile(r"""<([a-zA-Z][\w-]*)((?:[^>"']|"[^"]*"|'[^']*')*)>""")
ATTRIBUTE = re.compile(r"""([\w:-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'))?""")
COMMA = re.compile(r",(?![^(\[]*[)\]])")  # between two selectors
COMBINATOR = re.compile(r"[\s>+~]+")
# What stands in round brackets may be one of several, or must not be; what an attribute holds may change.
ROUND, VALUE = re.compile(r"\([^()]*\)"), re.compile(r"[*^$|~]?=[^\]]*\]")
ASKED = re.compile(r"(?:^|[.#\[])[\w-]+")


class Site:
    """What a style can match: the tags of all pages, and what a script may make of them."""

    def __init__(self, folder: Path, pages: Iterable[str]) -> None:
        scripts, ids, self.tags = dict[str, str](), set[str](), set[frozenset[str]]()
        for html in pages:
            for script in SCRIPT.finditer(html):
                name = script["name"] or script["text"]
                scripts[name] = (folder / name).read_text("utf-8") if script["name"] else name
            for tag, text in set(TAG.findall(SCRIPT.sub("", html))):
                held = {name.lower(): double or single for name, double, single in ATTRIBUTE.findall(text)}
                ids.add(held.pop("id", ""))
                classes = (f".{name}" for name in held.get("class", "").split())
                self.tags.add(frozenset([tag.lower(), *(f"[{name}" for name in held), *classes]))
        words = set(WORD.findall("\n".join(scripts.values())))
        self.free = {f"{sign}{word}" for sign in ("", ".", "#", "[") for word in words}
        dashed = {re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", word) for word in words}
        self.free |= {f"[{start}{word}" for start in ("", "data-") for word in dashed}  # dataset.more, ariaLabel
        self.free |= {"tbody", "[id", "[open", *(f"#{name}" for name in ids)}
        self.known: dict[frozenset[str], bool] = {}

    def can_have(self, asked: frozenset[str]) -> bool:
        """Whether some tag has all that is asked of it, or a script can give it the rest."""
        if asked not in self.known:
            needed = asked - self.free
            self.known[asked] = any(needed <= tag for tag in self.tags)
        return self.known[asked]

    def can_match(self, selector: str) -> bool:
        """Whether each part of a selector can match a tag."""
        if "\\" in selector:
            return True
        while ROUND.search(selector):
            selector = ROUND.sub("", selector)
        return all(self.can_have(frozenset(ASKED.findall(part))) for part in COMBINATOR.split(VALUE.sub("", selector)))


def read_sheet(folder: Path, name: str) -> str:
    """A style sheet with those that it imports, and addresses as seen from the one that replaces it."""
    css = re.sub(r'@charset "[^"]*";', "", (folder / name).read_text("utf-8"))
    here, home = posixpath.dirname(name), posixpath.dirname(SHEET)
    for imported in re.findall(r'@import "([^"]+)";', css):
        inner = read_sheet(folder, posixpath.normpath(posixpath.join(here, imported)))
        css = css.replace(f'@import "{imported}";', inner)
    return ADDRESS.sub(lambda url: f'url("{posixpath.relpath(posixpath.join(here, url[2]), home)}")', css)


def keep_used(rules: list[Any], site: Site) -> str:
    """The rules that can match something, as CSS."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            listed = map(str.strip, COMMA.split(tinycss2.serialize(rule.prelude)))
            selectors = [selector for selector in listed if site.can_match(selector)]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer") and rule.content:
            inner = keep_used(tinycss2.parse_blocks_contents(rule.content, True, True), site)
            if inner:
                kept.append(f"@{rule.at_keyword} {tinycss2.serialize(rule.prelude).strip()}{{{inner}}}")
        elif rule.type == "at-rule":
            kept.append(rule.serialize())
    return "\n".join(kept)


def join_styles(folder: Path) -> None:
    """Write the one style sheet, and let each page ask for it alone."""
    pages = {page: page.read_text("utf-8") for page in folder.rglob("*.html")}
    asked = (dict.fromkeys(link["name"] for link in LINK.finditer(html)) for html in pages.values())
    names = max(asked, key=len)
    if SHEET in names:  # all pages are as the last build left them
        return
    css = "\n".join(read_sheet(folder, name) for name in names)
    site = Site(folder, pages.values())
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    joined, home = keep_used(rules, site), (folder / SHEET).parent
    joined = FACE.sub(lambda face: face[0] * any((home / url).exists() for _, url in ADDRESS.findall(face[0])), joined)
    (folder / SHEET).write_text(joined, "utf-8")
    version = hashlib.sha256(joined.encode()).hexdigest()[:8]
    for page, html in pages.items():
        first = LINK.search(html)
        if first:
            link = f'<link rel="stylesheet" href="{first["root"]}{SHEET}?v={version}" />\n'
            page.write_text(html[: first.start()] + link + LINK.sub("", html[first.start() :]), "utf-8")
