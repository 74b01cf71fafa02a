"""A search that leads to sections, and finds Chinese words. The engine is Sphinx's: it works without a server."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.search import IndexBuilder, SearchLanguage, js_index
from sphinx.search.en import SearchEnglish
from sphinx.util.docutils import new_document

from .phrases import SCRIPTS

RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")
TEXT = (nodes.paragraph, nodes.term, nodes.caption, nodes.literal_block, nodes.math_block)
# The other names of an entry of the glossary, and those in another language.
OTHERS = re.compile(rf"(?:{'|'.join(re.split('[,，] ?', SCRIPTS['names']))})[:：] ?([^.。]+)[.。]")


class EnglishWithChinese(SearchEnglish):
    """English words; a run of Chinese characters, which has no spaces, as its characters and its pairs of neighbours.

    A query of two characters or more is cut into pairs, so that no list of words is needed.
    """

    js_splitter_code = r"""
var splitQuery = (query) => (query.match(/[\u3400-\u9fff]+|(?![\u3400-\u9fff])[\p{L}\p{N}_](?:(?![\u3400-\u9fff])[\p{L}\p{N}_])*/gu) || [])
  .flatMap((run) => /^[\u3400-\u9fff]{2,}$/.test(run) ? [...run].slice(1).map((next, i) => [...run][i] + next) : [run]);
"""  # noqa: E501

    def split(self, input: str) -> list[str]:
        """Cut a text into what can be looked up."""
        terms: list[str] = []
        for run in RUN.findall(input):
            if "\u3400" <= run[0] <= "\u9fff":
                terms += [*run, *map("".join, pairwise(run))]
            else:
                terms += dict.fromkeys((run, drop_marks(run)))  # who types no marks finds the word as well
        return terms


def drop_marks(word: str) -> str:
    """A word without the marks of its letters."""
    plain = unicodedata.normalize("NFD", word.replace("đ", "d").replace("Đ", "D"))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def read_block(block: nodes.Element) -> str:
    """What a reader sees of a paragraph or a piece of code. A formula that is more than a letter is an ellipsis."""
    pieces = []
    for text in block.findall(nodes.Text):
        formula = isinstance(text.parent, nodes.math | nodes.math_block)
        pieces.append("…" if formula and re.search(r"[\\^_{]", text) else text.astext())
    return " ".join("".join(pieces).split())


def leave_out_solutions(section: nodes.section) -> Iterator[nodes.Node]:
    """What a section holds itself, without what is folded as the solution of an exercise."""
    folded = False
    for child in section:
        if isinstance(child, nodes.raw):
            folded = 'class="solution"' in child.astext() or (folded and "</details>" not in child.astext())
        elif not folded and not isinstance(child, nodes.section):
            yield child


def cut_sections(doctree: nodes.document) -> Iterator[tuple[str, str, nodes.document, str]]:
    """Of each section without those in it: its anchor ("" for the page), title, nodes and text."""
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title is None:
            continue
        part = new_document("")
        part.children = list(leave_out_solutions(section))
        blocks = [block for child in part for block in child.findall(lambda node: isinstance(node, TEXT))]
        blocks.sort(key=lambda block: isinstance(block, nodes.literal_block))  # an excerpt is rather prose than code
        text = " ".join(map(read_block, blocks))
        anchor = "" if isinstance(section.parent, nodes.document) else section["ids"][0]
        yield anchor, title.astext(), part, text


def list_names(entry: str) -> list[str]:
    """What an entry of the glossary is called beside its title."""
    return [name.strip() for names in OTHERS.findall(entry) for name in re.split("[,，]", names)]


def rank(found: dict[str, Any], texts: dict[str, str], lang: SearchLanguage) -> None:
    """Let each word name first the section that says it most often."""
    often = {
        name: Counter(lang.stem(word).lower() for word in lang.split(text.lower())) for name, text in texts.items()
    }
    names = found["docnames"]
    for word, places in found["terms"].items():
        if isinstance(places, list):
            counts = {place: often[names[place]][word] for place in places}
            places.sort(key=counts.__getitem__, reverse=True)


def write_index(app: Sphinx, folder: Path) -> None:
    """Write the index anew: its documents are sections. Their texts, of which excerpts are shown, are a file a page."""
    index = IndexBuilder(app.env, app.config.html_search_language or "en", {}, "")
    texts: dict[str, str] = {}
    excerpts = folder / "_static/excerpts"
    for page in sorted(app.env.found_docs):
        name, place = app.env.titles[page].astext(), app.builder.get_target_uri(page)
        own: dict[str, str] = {}
        for anchor, title, part, text in cut_sections(app.env.get_doctree(page)):
            address = f"{place}#{anchor}" if anchor else place
            shown = f"{escape(title)}<small>{escape(name)}</small>" if anchor else escape(title)
            index.feed(address, app.env.doc2path(page, base=False), shown, part)
            own[address] = text
        texts |= own
        file = (excerpts / place).with_suffix(".js")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"EXCERPTS({json.dumps(own, ensure_ascii=False)})", "utf-8")
    found: dict[str, Any] = index.freeze()
    rank(found, texts, index.lang)
    # A query that is a title would be listed a second time.
    found |= {"alltitles": {}, "names": {name: list_names(text) for name, text in texts.items() if "glossary" in name}}
    (folder / "searchindex.js").write_text(js_index.dumps(found), "utf-8")
