"""Cut the page of the whole book into chapters for e-readers: `python -m tools.paper.epub`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from lxml import etree, html

from tools.paper import EPUB, PAGE
from tools.paper.package import Book, pack

STYLES = ("ereader.css", "pygments.css")
_XHTML = "http://www.w3.org/1999/xhtml"
_MATHML = "http://www.w3.org/1998/Math/MathML"
_OPS = "http://www.idpf.org/2007/ops"
_HEAD = """<!DOCTYPE html>
<html xmlns="{xhtml}" xmlns:epub="{ops}" lang="en" xml:lang="en">
<head><title>{title}</title>{styles}</head>
<body></body>
</html>"""


def name_formulas(part: Any) -> None:
    """Say of each formula that it is MathML: HTML knows it by its name, XML does not."""
    for formula in part.xpath(".//math"):
        text = etree.tostring(formula, with_tail=False, encoding="unicode")
        named = etree.fromstring(text.replace("<math", f'<math xmlns="{_MATHML}"', 1))
        named.tail = formula.tail
        formula.getparent().replace(formula, named)


def drop_print(part: Any) -> None:
    """Leave out page numbers, page styles and scripts, and the drawings that only these would show."""
    for element in part.xpath(".//*[@class='page-of'] | .//style | .//script | .//*[@hidden]"):
        element.drop_tree()


def lead_to_files(parts: dict[str, Any]) -> None:
    """Let links inside the book name the file of the chapter to which they lead."""
    home = {name: file for file, part in parts.items() for name in part.xpath("descendant-or-self::*/@id")}
    for file, part in parts.items():
        for link in part.xpath(".//a[starts-with(@href, '#')]"):
            name = link.get("href")[1:]
            if home[name] != file:
                link.set("href", f"{home[name]}.xhtml#{name}")


def write_xhtml(title: str, *content: Any) -> bytes:
    """A file of the book."""
    styles = "".join(f'<link rel="stylesheet" type="text/css" href="{name}" />' for name in STYLES)
    page = etree.fromstring(_HEAD.format(xhtml=_XHTML, ops=_OPS, title="", styles=styles))
    page.find(f"{{{_XHTML}}}head/{{{_XHTML}}}title").text = title
    body = page.find(f"{{{_XHTML}}}body")
    for element in content:
        html.html_to_xhtml(element)
        body.append(element)
    return etree.tostring(page.getroottree(), encoding="utf-8", xml_declaration=True)


def write_navigation(contents: Any) -> bytes:
    """The table of contents in the form that a reader's menu wants: parts, chapters, sections, in numbered lists."""
    navigation = etree.Element("nav", {f"{{{_OPS}}}type": "toc", "id": "contents"})
    etree.SubElement(navigation, "h1").text = "Contents"
    entries = etree.SubElement(navigation, "ol")
    for line in contents.xpath(".//li/p"):
        link = etree.Element("a", href=line.find("a").get("href"))
        link.text = line.text_content()
        line.getparent().replace(line, link)
    for listed in contents.xpath(".//ul"):
        listed.tag = "ol"
        listed.attrib.clear()
    for caption, listed in [(listed.getprevious(), listed) for listed in contents.xpath("./section/ol")]:
        if caption.get("class") == "part":
            part = etree.SubElement(entries, "li")
            etree.SubElement(part, "span").text = caption.text_content()
            part.append(listed)
        else:
            entries.extend(listed)
    return write_xhtml("Contents", navigation)


def cut_book(source: Path) -> Book:
    """The files of the book, from the page on which all of it stands."""
    page = html.document_fromstring(source.read_bytes())
    parts = {part.get("id"): part for part in page.xpath("//div[@class='file']")}
    for part in parts.values():
        drop_print(part)
        name_formulas(part)
        del part.attrib["style"]
    lead_to_files(parts)
    contents = parts.pop("toc")
    pictures = {name for part in parts.values() for name in part.xpath(".//img/@src")}
    facts = {name: page.xpath(f"string(//meta[@name='{name}']/@content)") for name in ("author", "rights", "version")}
    titles = {name: part.xpath("normalize-space(.//h1)") for name, part in parts.items()}
    with_formulas = {name for name, part in parts.items() if part.xpath(".//*[local-name()='math']")}
    chapters = {name: write_xhtml(titles[name], copy.deepcopy(part)) for name, part in parts.items()}
    return Book(
        title=page.findtext("head/title"),
        facts=facts,
        chapters=chapters,
        with_formulas=with_formulas,
        navigation=write_navigation(contents),
        pictures={name: (source.parent / name).read_bytes() for name in sorted(pictures)},
        styles={
            "ereader.css": (Path(__file__).parent / "ereader.css").read_bytes(),
            "pygments.css": (source.parent / "_static/pygments.css").read_bytes(),
        },
    )


def main() -> None:
    """Write the EPUB."""
    EPUB.write_bytes(pack(cut_book(PAGE)))
    print(EPUB.name)


if __name__ == "__main__":
    main()
