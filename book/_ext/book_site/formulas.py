r"""Formulas, set when the pages are built: MathML, which needs no script, is read aloud, copied and printed as it is.

docutils turns TeX into MathML; here is what TeX does besides, where MathML leaves it open: spaces around functions,
none in scripts, brackets that grow only after ``\left``, and a number at the right for ``\tag``.
"""

import re
from collections.abc import Container
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.util import logging

from .fonts import cut_font, find_file

LOGGER = logging.getLogger(__name__)
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
# What the converter does not know -> what it does.
SPELLINGS = (
    (re.compile(r"(?<=[+=])\s*\\dots(?=\s*[+=])"), r" \\cdots"),
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"\\big(?=[(\[])"), r"\\bigl"),
    (re.compile(r"\\big(?=[)\]])"), r"\\bigr"),
    (re.compile(r"^(?=[\^_])"), "{}"),
    (re.compile(r"(\\text\{[^{}]*?)\\_"), r"\1_"),
)
# What stands beside a formula in the line, and must not be parted from it.
OPENING = re.compile(r"[(\[“‘]+$")
ATTACHED = re.compile(r"^[.,;:?!)\]’”%-]\S*")
TAG = re.compile(r"\s*\\tag\{([^{}]*)\}")
SCRIPTS = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
ROLES = {"q": "query", "Q": "query", "k": "key", "K": "key", "v": "value", "V": "value"}
CALL = "\u2061"  # stands between a function and what it is applied to
THIN = "0.1667em"
# Drawn by the font and never written in TeX: the root, its bar, and letters in italics.
DRAWN = "√\u203e\u0305" + "".join(map(chr, [*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C), 0x210E]))


def tighten(math: ElementTree.Element) -> None:
    """Take from operators the spaces and the growth that TeX does not give them."""
    for operator in math.iter("mo"):
        text = operator.text or ""
        if text in "/.|":
            operator.attrib |= {"lspace": "0", "rspace": "0"}
        if text.isalpha():  # a name that the converter takes for an operator, as `max`
            operator.attrib |= {"lspace": "0", "rspace": THIN}
        if text in "‖⌈⌉⌊⌋{}" and "minsize" not in operator.attrib:
            operator.set("stretchy", "false")
    for base in math.iter():
        for script in list(base)[1:] if base.tag in SCRIPTS else ():
            for operator in script.iter("mo"):
                operator.attrib |= {"lspace": "0", "rspace": "0"}
    for table in math.iter("mtable"):
        if table.get("class") == "ams-align":
            table.set("displaystyle", "true")
    for letter in math.iter("mi"):
        if letter.attrib.pop("class", "") == "capital-greek":
            letter.set("mathvariant", "normal")


def space_functions(math: ElementTree.Element) -> None:
    """Put a thin space before and after the name of a function, but none before a bracket."""
    for row in list(math.iter()):
        for at in range(len(row) - 1, 0, -1):
            if row[at].text != CALL:
                continue
            argument = "".join(row[at + 1].itertext()) if at + 1 < len(row) else "("
            if not argument.startswith(("(", "[")):
                row[at].set("rspace", THIN)
            if at > 1 and (row[at - 2].tag != "mo" or row[at - 2].text in (")", "]")):
                row.insert(at - 1, ElementTree.Element("mspace", width=THIN))


def colour_roles(math: ElementTree.Element, other: Container[str] = ()) -> None:
    """Mark what belongs to queries, keys and values, also as an index of W; not letters with another meaning here."""
    scripts = {
        script for base in math.iter() if base.tag in SCRIPTS for part in list(base)[1:] for script in part.iter()
    }
    for letter in math.iter("mi"):
        if letter.text in ROLES and letter.text not in other and letter not in scripts:
            letter.set("class", ROLES[letter.text])
    for projection in math.iter():
        if projection.tag in SCRIPTS and projection[0].text == "W" and (projection[1].text or "") in ROLES:
            projection.set("class", ROLES[projection[1].text or ""])


@cache
def read_second_meanings(notation: Path) -> dict[str, set[str]]:
    """The letters of queries, keys and values that mean something else in a chapter, by the page on notation."""
    if not notation.exists():  # not translated yet
        return {}
    rows = notation.read_text("utf-8").rpartition("\n## ")[2].splitlines()
    found: dict[str, set[str]] = {}
    for symbols, chapters in (row.split("|")[1:3] for row in rows if row.startswith("| $")):
        letters = set(re.findall(r"\$(\w)\$", symbols)) & set(ROLES)
        for chapter in re.findall(r"notebooks/([\w-]+)\.ipynb", chapters):
            found.setdefault(chapter, set()).update(letters)
    return found


def set_formula(tex: str, block: bool = False, described: bool = False, other: Container[str] = ()) -> tuple[str, str]:
    r"""The MathML of a formula, which may say that it is and of what TeX, and the number of its ``\tag`` ("" without).

    `other` are letters that do not stand for queries, keys and values.

    Raises:
        ValueError: in the converter's words, if it is not one.
    """
    number = TAG.search(tex)
    written = plain = TAG.sub("", tex).strip()
    for pattern, spelling in SPELLINGS:
        plain = pattern.sub(spelling, plain)
    text = tex2mathml(plain, as_block=block).replace("&ApplyFunction;", CALL).replace(f' xmlns="{NAMESPACE}"', "")
    math = ElementTree.fromstring(re.sub(r">\s*\n\s*<", "><", text))
    tighten(math)
    space_functions(math)
    colour_roles(math, other)
    if described:
        math.attrib |= {"xmlns": NAMESPACE, "alttext": written}
    return ElementTree.tostring(math, encoding="unicode"), number[1] if number else ""


def convert(writer: Any, node: nodes.math | nodes.math_block, block: bool) -> tuple[str, str]:
    """The formula of a node; one that cannot be set is a warning of the build, and stays as it was written."""
    page = Path(writer.builder.current_docname).name
    other = read_second_meanings(Path(writer.builder.srcdir) / "book/notation.md").get(page, set())
    try:
        return set_formula(node.astext(), block, writer.config.formulas_described, other)
    # What is unfinished, the converter may not notice before it fails.
    except (ValueError, LookupError, AttributeError, ElementTree.ParseError) as error:
        LOGGER.warning("a formula that cannot be set: %s: %s", node.astext(), error, location=node)
        return escape(node.astext()), ""


def keep_together(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what stands beside a formula without a space, such as a bracket or a full stop, on its line."""
    for formula in list(doctree.findall(nodes.math)):
        parent, place = formula.parent, formula.parent.index(formula)
        before = parent[place - 1] if place else None
        after = parent[place + 1] if place + 1 < len(parent) else None
        opening = OPENING.search(before.astext()) if isinstance(before, nodes.Text) else None
        attached = ATTACHED.match(after.astext()) if isinstance(after, nodes.Text) else None
        if not opening and not attached:
            continue
        together = nodes.inline("", "", formula.deepcopy(), classes=["nobreak"])
        if after is not None and attached:
            together.append(nodes.Text(attached[0]))
            parent[place + 1] = nodes.Text(after.astext()[attached.end() :])
        if before is not None and opening:
            together.insert(0, nodes.Text(opening[0]))
            parent[place - 1] = nodes.Text(before.astext()[: opening.start()])
        parent[place] = together


def colour_words(app: Sphinx, doctree: nodes.document) -> None:
    """Give *query*, *key* and *value* their colours where the text sets them off, as where it defines them."""
    for word in doctree.findall(lambda node: isinstance(node, (nodes.emphasis, nodes.strong))):
        role = {"queries": "query"}.get(text := word.astext().lower(), text.removesuffix("s"))
        word["classes"] += [role] if role in ROLES.values() else []


def visit_formula(writer: Any, node: nodes.math) -> None:
    """A formula in a line of text."""
    math, _ = convert(writer, node, block=False)
    writer.body.append(f'<span class="math">{math}</span>')
    raise nodes.SkipNode


def frame_display(math: str, number: str, attributes: str = "") -> str:
    """A formula of its own, with its name and its number."""
    name = f"Equation {number}" if number else "Formula"
    tag = f'<span class="number">({escape(number)})</span>' if number else ""
    return f'<div class="math" role="group" aria-label="{escape(name)}"{attributes}>{math}{tag}</div>'


def visit_display(writer: Any, node: nodes.math_block) -> None:
    """A formula of its own; one that is wider than a phone scrolls, so the keyboard must be able to get there."""
    writer.body.append(frame_display(*convert(writer, node, block=True), ' tabindex="0"') + "\n")
    raise nodes.SkipNode


def register(app: Sphinx) -> None:
    """Register the renderer."""
    skip = (lambda writer, node: None,)
    app.add_config_value("formulas_described", False, "html", bool)  # where MathML may not be understood
    app.add_html_math_renderer("mathml", (visit_formula, *skip), (visit_display, *skip))


def narrow_roots(path: Path) -> None:
    """Make the signs of a root, small and tall, equally wide.

    A browser keeps the room of the widest of them, which leaves a gap behind each small one.
    """
    with TTFont(path, recalcTimestamp=False) as font:
        variants, name = font["MATH"].table.MathVariants, font.getBestCmap()[ord("√")]
        root = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(name)]
        width = font["hmtx"][name][0]
        taller = {record.VariantGlyph for record in root.MathGlyphVariantRecord}
        for part in taller | {record.glyph for record in root.GlyphAssembly.PartRecords}:
            glyph, (advance, _) = font["glyf"][part], font["hmtx"][part]
            glyph.coordinates.scale((width / advance, 1))
            glyph.coordinates.toInt()
            glyph.recalcBounds(font["glyf"])
            font["hmtx"][part] = (width, glyph.xMin)
        font.save(path)


def write_font(pages: Path, target: Path) -> None:
    """Write the glyphs that the formulas of the pages in a folder use: few systems can stretch brackets."""
    used = set(DRAWN + "0123456789()")
    for page in pages.rglob("*.html"):
        for formula in re.findall(r"<math\b.*?</math>", page.read_text("utf-8"), re.DOTALL):
            used |= set(unescape(re.sub(r"<[^>]*>", "", formula)))
    cut_font(find_file("ziamath", "fonts/STIXTwoMath-Regular.ttf"), target, used, features=["ssty"])
    narrow_roots(target)
