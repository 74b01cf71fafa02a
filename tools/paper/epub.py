"""Cut the page of the whole book into chapters for e-readers: `python -m tools.paper.epub`."""

from __future__ import annotations

import mimetypes
import os
import re
import time
import uuid
import zipfile
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from lxml import etree, html

from tools.paper import EPUB, PAGE

HERE = Path(__file__).parent
STYLES = (HERE / "ereader.css", PAGE.parent / "_static/pygments.css")
COVER = "_images/cover.svg"
_CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""
_NAMESPACE = uuid.UUID("6f1c8f0e-3a0b-5d2e-9d7b-2f6d1b0a4c11")  # any; the same book must keep its name
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
    styles = "".join(f'<link rel="stylesheet" type="text/css" href="{path.name}" />' for path in STYLES)
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


def read_picture(path: Path) -> bytes:
    """A picture fit for a book: no document type from outside, and the path of a space is empty, not missing."""
    data = path.read_bytes()
    if path.suffix != ".svg":
        return data
    data = re.sub(rb"<!DOCTYPE.*?>", b"", data, flags=re.DOTALL)
    return re.sub(rb"<path(?![^>]*\sd=)", b'<path d=""', data)


def describe(page: Any, files: dict[str, bytes], chapters: list[str]) -> bytes:
    """The package document: what is told of the book, its files, and the order in which they are read."""
    known = {"contents.xhtml": "nav", COVER: "cover-image"}
    items = []
    for name, data in files.items():
        stem, _, ending = name.rpartition(".")
        properties = known.get(name) or ("mathml" if ending == "xhtml" and _MATHML.encode() in data else "")
        items.append((name, re.sub(r"\W", "-", f"{ending}-{stem}"), mimetypes.guess_type(name)[0], properties))
    title = page.findtext("head/title")
    facts = {name: page.xpath(f"string(//meta[@name='{name}']/@content)") for name in ("author", "rights", "version")}
    modified = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    template = Environment(loader=FileSystemLoader(HERE), autoescape=True).get_template("package.opf.j2")
    return template.render(
        title=title,
        facts=facts,
        identifier=uuid.uuid5(_NAMESPACE, f"{title} {facts['version']}"),
        modified=time.strftime("%Y-%m-%dT%H:%M:%SZ", modified),
        items=items,
        order=(chapters[0], "contents", *chapters[1:]),
    ).encode()


def cut_book(source: Path) -> dict[str, bytes]:
    """The files of the book, from the page on which all of it stands."""
    page = html.document_fromstring(source.read_bytes())
    parts = {part.get("id"): part for part in page.xpath("//div[@class='file']")}
    for part in parts.values():
        drop_print(part)
        name_formulas(part)
        del part.attrib["style"]
    lead_to_files(parts)
    contents = parts.pop("toc")
    pictures = sorted({name for part in parts.values() for name in part.xpath(".//img/@src")})
    files = {"contents.xhtml": write_navigation(contents)}
    files |= {f"{name}.xhtml": write_xhtml(part.xpath("normalize-space(.//h1)"), part) for name, part in parts.items()}
    files |= {name: read_picture(source.parent / name) for name in pictures}
    files |= {path.name: path.read_bytes() for path in STYLES}
    return {"META-INF/container.xml": _CONTAINER.encode(), "book.opf": describe(page, files, list(parts)), **files}


def main() -> None:
    """Write the EPUB: a zip whose first file says what it is."""
    files = cut_book(PAGE)
    with zipfile.ZipFile(EPUB, "w") as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip", zipfile.ZIP_STORED)
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    print(EPUB.name)


if __name__ == "__main__":
    main()
