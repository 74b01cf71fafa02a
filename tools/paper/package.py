"""The package around the files of a book: what an e-reader asks for first."""

from __future__ import annotations

import io
import os
import re
import time
import uuid
import zipfile
from dataclasses import dataclass
from xml.sax.saxutils import escape

COVER = "_images/cover.svg"
_CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""
_PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" xml:lang="en" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{identifier}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:language>en</dc:language>
<dc:creator>{author}</dc:creator>
<dc:rights>{rights}</dc:rights>
<meta property="dcterms:modified">{modified}</meta>
<meta property="schema:bookEdition">Version {version}</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessModeSufficient">textual</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">structuralNavigation</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest>
{items}
</manifest>
<spine>
{order}
</spine>
</package>"""
_MEDIA = {
    "css": "text/css",
    "gif": "image/gif",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "xhtml": "application/xhtml+xml",
}
_NAMESPACE = uuid.UUID("6f1c8f0e-3a0b-5d2e-9d7b-2f6d1b0a4c11")  # any; the same book must keep its name


@dataclass(frozen=True)
class Book:
    """The files of a book, by name, and what is told of it."""

    title: str
    facts: dict[str, str]
    chapters: dict[str, bytes]
    with_formulas: set[str]
    navigation: bytes
    pictures: dict[str, bytes]
    styles: dict[str, bytes]


def clean_picture(name: str, data: bytes) -> bytes:
    """Make an SVG fit for a book: no document type from outside, and the path of a space is empty, not missing."""
    if not name.endswith(".svg"):
        return data
    data = re.sub(rb"<!DOCTYPE.*?>", b"", data, flags=re.DOTALL)
    return re.sub(rb"<path(?![^>]*\sd=)", b'<path d=""', data)


def list_files(book: Book) -> dict[str, bytes]:
    """All files but those that are about the others."""
    pages = {f"{name}.xhtml": text for name, text in book.chapters.items()}
    pictures = {name: clean_picture(name, data) for name, data in book.pictures.items()}
    return {"contents.xhtml": book.navigation, **pages, **pictures, **book.styles}


def describe_file(name: str, book: Book) -> str:
    """A line of the manifest."""
    stem, _, ending = name.rpartition(".")
    known = {"contents.xhtml": "nav", COVER: "cover-image"} | {f"{part}.xhtml": "mathml" for part in book.with_formulas}
    properties = f' properties="{known[name]}"' if name in known else ""
    identifier = re.sub(r"\W", "-", f"{ending}-{stem}")
    return f'<item id="{identifier}" href="{escape(name)}" media-type="{_MEDIA[ending]}"{properties}/>'


def describe(book: Book) -> str:
    """The package document: facts, files, and the order in which they are read."""
    modified = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    first, *others = book.chapters
    order = (first, "contents", *others)
    return _PACKAGE.format(
        identifier=uuid.uuid5(_NAMESPACE, f"{book.title} {book.facts['version']}"),
        title=escape(book.title),
        **{name: escape(fact) for name, fact in book.facts.items()},
        modified=time.strftime("%Y-%m-%dT%H:%M:%SZ", modified),
        items="\n".join(describe_file(name, book) for name in list_files(book)),
        order="\n".join(f'<itemref idref="xhtml-{name}"/>' for name in order),
    )


def pack(book: Book) -> bytes:
    """The EPUB: a zip whose first file says what it is."""
    files = {"META-INF/container.xml": _CONTAINER.encode(), "book.opf": describe(book).encode(), **list_files(book)}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip", zipfile.ZIP_STORED)
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return target.getvalue()
