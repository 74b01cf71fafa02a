"""Formulas as MathML, which e-readers set without a script."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from latex2mathml.converter import convert

MATHML = "http://www.w3.org/1998/Math/MathML"
_TAG = re.compile(r"\\tag\{(.*?)\}")

ElementTree.register_namespace("", MATHML)


def split_tag(tex: str) -> tuple[str, str]:
    """A formula without its number, and the number."""
    found = _TAG.search(tex)
    return _TAG.sub("", tex).strip(), found[1] if found else ""


def prepare(tex: str) -> str:
    """What the converter takes amiss, in words that it knows: signs that it does not escape, rows, a negative space."""
    for old, new in ((r"<", r"\lt "), (r">", r"\gt "), (r"{aligned}", r"{align*}"), (r"\!", "")):
        tex = tex.replace(old, new)
    return tex


def space_out(mathml: ElementTree.Element) -> None:
    """Set functions such as sin apart from what they act on, and a fraction bar in the line close to its numbers."""
    for row in mathml.iter():
        for place, name in reversed(list(enumerate(row))):
            if name.tag == f"{{{MATHML}}}mo" and name.text == "/":
                name.attrib.update(lspace="0em", rspace="0em")
            if name.tag != f"{{{MATHML}}}mi" or len(name.text or "") < 2 or row.tag != f"{{{MATHML}}}mrow":
                continue
            for beside in (place + 1, place):
                neighbour = row[beside - (beside == place)] if 0 < beside < len(row) else name
                if neighbour is not name and neighbour.tag != f"{{{MATHML}}}mo":
                    row.insert(beside, ElementTree.Element(f"{{{MATHML}}}mspace", width="0.167em"))


def join_letters(mathml: ElementTree.Element) -> None:
    """Make one word of the upright letters of a name, which would be spelled out."""
    for row in mathml.iter(f"{{{MATHML}}}mrow"):
        if len(row) > 1 and all(letter.get("mathvariant") == "normal" for letter in row):
            word = "".join(letter.text or "" for letter in row)
            row[:] = [ElementTree.Element(f"{{{MATHML}}}mi")]
            row[0].text = word


def set_formula(tex: str, display: bool) -> ElementTree.Element:
    """The MathML of a formula, with its TeX as the text for those who cannot see it.

    Raises:
        ValueError: if a command is not understood, which the converter would print as it stands.
    """
    mathml = ElementTree.fromstring(convert(prepare(tex), display="block" if display else "inline"))
    for element in mathml.iter():
        element.text = element.text and element.text.replace(r"\_", "_")
    left = [text for text in mathml.itertext() if "\\" in text]
    if left:
        raise ValueError(f"{tex!r} keeps {left[0]!r}")
    space_out(mathml)
    join_letters(mathml)
    mathml.set("alttext", tex)
    return mathml
