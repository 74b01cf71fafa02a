"""Pages in another language: how a reader changes between them, and what makes an address the same in all.

The English pages lie at the root, those in Chinese in `zh`, with the same names and the same anchors.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from .phrases import OWN

ENGLISH = "https://english.invalid/"  # where a page that is not translated is, until it is known how deep a page lies


class EnglishAnchors(SphinxTransform):
    """A translated heading has the id of the English one: links and addresses are the same in all languages."""

    default_priority = 878  # before MyST resolves the links of a page to itself

    def apply(self, **_: Any) -> None:
        """Put the English id first."""
        path = Path(self.app.srcdir) / "anchors.json"
        known = json.loads(path.read_text("utf-8")).get(self.env.docname, {}) if path.exists() else {}
        slugs = getattr(self.document, "myst_slugs", {})
        for section in self.document.findall(nodes.section):
            for new, (line, name, title) in list(slugs.items()):
                if name in section["ids"] and new in known:
                    english, shown = known[new]
                    section["ids"].insert(0, shown)
                    self.document.ids[shown] = section
                    slugs[english] = (line, shown, title)


def mark_latin(app: Sphinx, doctree: nodes.document) -> None:
    """Chinese words are set off by dots, others may slant."""
    for word in doctree.findall(nodes.emphasis):
        word["classes"] += ["latin"] * (not re.search(r"[\u3400-\u9fff]", word.astext()))


def list_languages(root: Path) -> dict[str, dict[str, Any]]:
    """The languages that the book is translated into, by their folder: what their pages are called and say."""
    found = sorted(root.glob("languages/*/language.toml"))
    return {path.parent.name: tomllib.loads(path.read_text("utf-8")) for path in found}


def offer_languages(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Tell a page where it is in each language, and search engines."""
    own, root = app.config.translated.strip("/"), Path(app.srcdir)
    languages = list_languages(root)
    texts = next(filter(Path.exists, (root / "translated", root)))  # docutils takes a folder `vi` for its own
    has = [
        code
        for code in languages
        if (texts / code / f"{page}.md").exists() or (texts / code / f"{page}.ipynb").exists()
    ]
    context["languages"], context["phrases"] = [], OWN
    if page not in app.env.found_docs or (not own and not has):
        return
    up = "../" * (app.builder.get_target_uri(page).count("/") + bool(own))
    places = [("English", "en", "")] + [
        (languages[code]["name"], languages[code]["tag"], f"{code}/") for code in has or [own]
    ]
    for name, tag, folder in places:
        address = f"{up}{folder}{app.builder.get_target_uri(page)}"
        context["languages"].append((name, tag, address, folder.strip("/") == own))
        context["metatags"] = (
            f'{context.get("metatags", "")}\n<link rel="alternate" hreflang="{tag}" href="{address}" />'
        )


def lead_to_english(app: Sphinx, folder: Path) -> None:
    """Lead from a translated page to one that is not; what code shows there is English."""
    for page in folder.rglob("*.html"):
        html = page.read_text("utf-8")
        up = "../" * len(page.relative_to(folder).parts)
        html = html.replace(ENGLISH, up)
        html = re.sub(r'(<div class="[^"]*\bcell_output docutils container")', r'\1 lang="en"', html)
        # No line begins with a mark.
        html = re.sub(
            r'(<span class="math">(?:(?!</span>).)*</span>)([，。；：！？、）”]+)',
            r'<span class="nobreak">\1\2</span>',
            html,
        )
        page.write_text(html, "utf-8")
