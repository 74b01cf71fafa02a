"""What leads somewhere: numbered figures, formulas named by their number, and the words of the glossary."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from docutils import nodes
from sphinx.application import Sphinx

from book_site.phrases import FIGURE, FORMULA

LINE, MARGIN = 68, 32  # characters of a line of text, and of one in the margin, which is 0.65 times as high
EQUATION = re.compile(r"\((\d+\.\d+)\)")
# A word, what it means, and the page that the last sentence names, in any language.
ENTRY = re.compile(r"^## (.+)\n\n(.+?[.?)*”。？）]) ?[^[(*.。]+\[.+\]\(\.\./(\S+?)\.ipynb\S*\)[.。]$", re.MULTILINE)
# What already leads somewhere, or is not prose.
CLOSED = (nodes.reference, nodes.title, nodes.math, nodes.literal, nodes.literal_block, nodes.raw, nodes.caption)
LETTER = r"[^\W\u4e00-\u9fff]"  # of a word with borders
BOTH = re.compile(r"(.+?) ?[（(](.+)[）)]")  # the own word, and the English one
HAN = re.compile("[\u4e00-\u9fff]")  # a word of one character is part of others
# Entries whose word has an everyday meaning as well, or another one beside the glossary's.
ORDINARY = {"adam", "bucket", "clarity", "excess", "frequency", "gate", "memory", "offset", "recall", "score", "seed"}
ORDINARY |= {"spread", "temperature", "twins", "value"}


def list_parts(app: Sphinx) -> list[tuple[str, list[str]]]:
    """The parts of the table of contents that hold chapters: the name of each, and its chapters."""
    parts = cast(Any, app.env).external_site_map.root.subtrees  # by sphinx-external-toc
    listed = ((part.caption or "", [name for name in part.files() if name.startswith("notebooks/")]) for part in parts)
    return [(caption, chapters) for caption, chapters in listed if chapters]


def list_chapters(app: Sphinx) -> list[str]:
    """The chapters in the order of the table of contents."""
    return list_notebooks(app, "notebooks/")


def list_notebooks(app: Sphinx, *folders: str) -> list[str]:
    """The notebooks of these folders in the order of the table of contents."""
    contents = cast(Any, app.env).external_site_map  # by sphinx-external-toc
    return [name for name in contents if name.startswith(folders)]


@cache
def list_equations(root: Path) -> dict[str, str]:
    """The number of each tagged formula, and the chapter that has it."""
    paths = sorted((root / "notebooks").glob("*.ipynb"))
    found = ((path, re.findall(r"\\tag\{([\d.]+)\}", path.read_text("utf-8"))) for path in paths)
    return {tag: f"notebooks/{path.stem}" for path, tags in found for tag in tags}


@cache
def list_terms(root: Path) -> dict[str, tuple[str, str, str]]:
    """The words of the glossary in small letters: what each means, the page that explains it, and its anchor.

    In another language the English word stands in brackets behind the own one, and names the anchor.
    """
    path = root / "book/glossary.md"
    entries = ENTRY.findall(path.read_text("utf-8")) if path.exists() else []
    found: dict[str, tuple[str, str, str]] = {}
    for heading, meaning, page in entries:
        both = BOTH.fullmatch(heading) if (root / "anchors.json").exists() else None
        term, english = (both[1], both[2]) if both else (heading, heading)
        if english.lower() in ORDINARY or HAN.fullmatch(term):
            continue
        found[term.lower()] = re.sub(r"[*`$\\]", "", meaning), page, nodes.make_id(english)
    return found


def number_figures(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Begin each caption with the number of its figure, and let links lead there."""
    if docname not in (chapters := list_chapters(app)):
        return
    for number, figure in enumerate(doctree.findall(nodes.figure), start=1):
        name = f"{chapters.index(docname) + 1}.{number}"
        figure["ids"].insert(0, f"figure-{name.replace('.', '-')}")
        caption = figure.next_node(nodes.caption)
        if caption is not None:
            caption.insert(0, [nodes.strong("", f"{FIGURE.format(name)}."), nodes.Text(" ")])


def number_titles(app: Sphinx, doctree: nodes.document) -> None:
    """Begin the title of each chapter with its number, as exercises, formulas and figures do."""
    chapters = list_chapters(app)
    if app.builder.format == "html" and app.env.docname in chapters:
        title = next(iter(doctree.findall(nodes.title)))
        title.insert(0, nodes.Text(f"{chapters.index(app.env.docname) + 1} · "))


def add_letters(app: Sphinx, doctree: nodes.document) -> None:
    """Below the first lines of the glossary stand its letters, each of which leads to its first word."""
    if app.env.docname != "book/glossary":
        return
    first: dict[str, str] = {}
    for section in list(doctree.findall(nodes.section))[1:]:
        first.setdefault(section["ids"][0][0].upper(), section["ids"][0])
    links = [nodes.reference("", letter, refid=anchor, internal=True) for letter, anchor in first.items()]
    opening = next(doctree.findall(nodes.paragraph))
    opening.parent.insert(opening.parent.index(opening) + 1, nodes.paragraph("", "", *links, classes=["letters"]))


def anchor_formulas(app: Sphinx, doctree: nodes.document) -> None:
    """Give each tagged formula a place that a link can name."""
    for block in list(doctree.findall(nodes.math_block)):
        for tag in re.findall(r"\\tag\{([\d.]+)\}", block.astext()):
            target = nodes.target("", "", ids=[f"formula-{tag.replace('.', '-')}"])
            block.parent.insert(block.parent.index(block), target)


def list_prose(node: nodes.Element) -> Iterator[nodes.Text]:
    """The pieces of text in an element that are not part of a link, a title, code or a formula."""
    for child in list(node.children):
        if isinstance(child, nodes.Text):
            yield child
        elif not isinstance(child, CLOSED):
            yield from list_prose(child)


def list_paragraphs(doctree: nodes.document) -> Iterator[nodes.Text]:
    """The prose of a page, piece by piece."""
    for paragraph in list(doctree.findall(nodes.paragraph)):
        yield from list_prose(paragraph)


def link(app: Sphinx, docname: str, target: str, anchor: str, text: str, preview: str) -> nodes.reference:
    """A link with a preview: a script shows it, and without one the browser shows the title."""
    href = f"#{anchor}" if target == docname else f"{app.builder.get_relative_uri(docname, target)}#{anchor}"
    return nodes.reference("", text, internal=True, refuri=href, reftitle=preview, classes=["preview"])


def link_formulas(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make a link of each number of a formula in the text."""
    equations = list_equations(Path(app.srcdir))
    for text in list_paragraphs(doctree):
        pieces: list[nodes.Node] = []
        for i, part in enumerate(EQUATION.split(text.astext())):
            if i % 2 == 0:
                pieces.append(nodes.Text(part))
            elif part in equations:
                anchor = f"formula-{part.replace('.', '-')}"
                pieces.append(link(app, docname, equations[part], anchor, f"({part})", f"{FORMULA} ({part})"))
            else:
                pieces.append(nodes.Text(f"({part})"))
        if len(pieces) > 1:
            text.parent.replace(text, pieces)


def fits_beside(meaning: str, paragraph: nodes.Element, after: str) -> bool:
    """Whether a wide screen can show a meaning in the margin: the only one of a paragraph, beside lines enough.

    Not beside the opening of a page: there the margin has the switch for answers.
    """
    taken = any("aside" in reference["classes"] for reference in paragraph.findall(nodes.reference))
    text = paragraph.astext()
    lines = 1 + (len(text) - text.rindex(after)) // LINE
    inner = isinstance(paragraph.parent, nodes.section) and isinstance(paragraph.parent.parent, nodes.section)
    return inner and not taken and 0.65 * len(meaning) / MARGIN < lines


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Lead from a word of the glossary, where a chapter that does not explain it first uses it, to its meaning."""
    if docname not in list_chapters(app):
        return
    terms = {term: entry for term, entry in list_terms(Path(app.srcdir)).items() if entry[1] != docname}
    if not terms:
        return
    longest_first = "|".join(sorted(map(re.escape, terms), key=len, reverse=True))
    words = re.compile(rf"(?<!{LETTER})({longest_first})(?=s?(?!{LETTER}))(?!-)", re.IGNORECASE)
    for text in list_paragraphs(doctree):
        found = next((match for match in words.finditer(text.astext()) if match[1].lower() in terms), None)
        if found is None:
            continue
        term = found[1].lower()
        before, after = text.astext()[: found.start()], text.astext()[found.end() :]
        meaning, _, anchor = terms.pop(term)
        shown = link(app, docname, "book/glossary", anchor, found[1], meaning)
        if fits_beside(shown["reftitle"], text.parent, after):
            shown["classes"].append("aside")
        text.parent.replace(text, [nodes.Text(before), shown, nodes.Text(after)])
