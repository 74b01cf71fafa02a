"""The package around the files of a book: what an e-reader asks for first."""

from __future__ import annotations

import io
import mimetypes
import os
import re
import time
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

COVER = "_images/cover.svg"
_CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""
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


def describe(book: Book) -> str:
    """The package document: facts, files, and the order in which they are read."""
    known = {"contents.xhtml": "nav", COVER: "cover-image"} | {f"{part}.xhtml": "mathml" for part in book.with_formulas}
    items = []
    for name in list_files(book):
        stem, _, ending = name.rpartition(".")
        identifier = re.sub(r"\W", "-", f"{ending}-{stem}")
        items.append((name, identifier, mimetypes.guess_type(name)[0], known.get(name)))
    modified = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    first, *others = book.chapters
    template = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    return template.get_template("package.opf.j2").render(
        book=book,
        identifier=uuid.uuid5(_NAMESPACE, f"{book.title} {book.facts['version']}"),
        modified=time.strftime("%Y-%m-%dT%H:%M:%SZ", modified),
        items=items,
        order=(first, "contents", *others),
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
