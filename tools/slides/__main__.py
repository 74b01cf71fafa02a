"""Write a deck for each chapter, and a page that leads to them: `make slides`."""

from __future__ import annotations

import re
import shutil
from base64 import b64encode
from functools import partial
from html import escape, unescape
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import nbformat
import yaml
from book_site.fonts import find_file, write_fonts
from book_site.formulas import write_font
from jinja2 import Environment, FileSystemLoader
from nbconvert.exporters import SlidesExporter
from nbformat import NotebookNode
from traitlets.config import Config

from tools import ROOT
from tools.notebooks import NOTEBOOKS, list_chapters
from tools.slides import FOLDER
from tools.slides.arrange import Arrangement, slide_type
from tools.slides.markup import to_html, to_line

HERE, STYLES = Path(__file__).parent, ROOT / "book/_static"
# Of the package that brings reveal.js; of the pages; and our own.
REVEALS = ("LICENSE", "dist/reveal.js", "dist/reset.css", "dist/reveal.css", "plugin/notes/notes.js")
SHEETS = ("reveal/dist/reset.css", "reveal/dist/reveal.css", "fonts.css", "book.css", "formulas.css", "slides.css")
GAP, WIDE = 4, 88  # letters: between two columns, and of a table that fits in its full size
SCRIPTS = ("reveal/dist/reveal.js", "reveal/plugin/notes/notes.js")


def list_decks() -> dict[str, int]:
    """The chapters with a cell on a slide, in the order of the contents, and their numbers; another has no deck."""
    numbered = enumerate((NOTEBOOKS / f"{name}.ipynb" for name in list_chapters()), start=1)
    return {
        path.stem: number
        for number, path in numbered
        if any(slide_type(cell) == "slide" for cell in nbformat.read(path, as_version=4).cells)
    }


def draw(output: NotebookNode, cell: NotebookNode) -> str:
    """A figure with what it says to those who do not see it, and its caption."""
    figure = cell.metadata.get("mystnb", {})
    alt = figure.get("image", {}).get("alt", "")
    kind = next(kind for kind in ("image/svg+xml", "image/png") if kind in output.data)
    coded = "".join(output.data[kind].split()) if "png" in kind else b64encode(output.data[kind].encode()).decode()
    caption = to_line(figure.get("figure", {}).get("caption", ""))
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure><img src="data:{kind};base64,{coded}" alt="{escape(alt)}">{below}</figure>'


def measure_table(html: str) -> tuple[int, int]:
    """The lines of a table, and its letters from side to side; in a wide one, long names of columns take two lines."""
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in html.split("<tr>")[1:]]
    columns = [[measure_line(unescape(entry)) for entry in column] for column in zip(*rows, strict=True)]
    letters = sum(max(column) + GAP for column in columns)
    if letters <= WIDE:
        return len(rows), letters
    return len(rows) + 1, sum(max((column[0] + 1) // 2, *column[1:]) + GAP for column in columns)


def measure(cell: NotebookNode) -> str:
    """How many lines and letters a cell shows: its style makes it as large as the slide allows."""
    hidden = cell.metadata.get("transient", {}).get("remove_source", False)
    lines = [] if hidden else cell.source.splitlines()
    tall, wide = 0, 1
    for output in cell.outputs:
        data = output.get("data", {})
        if "text/html" in data:
            tall, wide = measure_table(data["text/html"])
        elif "image/svg+xml" not in data:
            lines += (output.get("text") or data.get("text/plain", "")).splitlines()
    return f"--lines: {tall + len(lines) or 1}; --letters: {max([wide, *(measure_line(line) + 3 for line in lines)])}"


def measure_line(line: str) -> int:
    """The letters of a line; a Chinese one is as wide as two."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in line)


def make_exporter(chapters: list[str]) -> SlidesExporter:
    """nbconvert's exporter of slides, with our arrangement, our template and nothing from a network."""
    config = Config()
    config.TemplateExporter.filters = {"say": partial(to_html, chapters=chapters), "draw": draw, "measure": measure}
    return SlidesExporter(
        config=config,
        template_name="deck",
        extra_template_basedirs=[str(HERE)],
        preprocessors=[Arrangement],
        file_extension=".html",
    )


def write_deck(exporter: SlidesExporter, name: str, number: int, book: str) -> dict[str, Any]:
    """Write the deck of a chapter, and tell the index of it."""
    notebook = nbformat.read(ROOT / f"notebooks/{name}.ipynb", as_version=4)
    title, _, text = notebook.cells[0].source.removeprefix("# ").partition("\n\n")
    opening = text.partition("\n\n")[0]
    resources = {"metadata": {"name": name}, "title": title, "book": book, "kicker": f"Chapter {number}"}
    html, _ = exporter.from_notebook_node(notebook, {**resources, "sheets": SHEETS, "scripts": SCRIPTS})
    (FOLDER / f"{name}.html").write_text(html, "utf-8")
    return {"name": name, "title": to_line(title), "opening": to_line(opening), "slides": html.count("<section ")}


def main() -> None:
    """Write everything from scratch: what an older build left could hide a fault."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    book = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    chapters = list_decks()
    exporter = make_exporter(list(chapters))
    decks = [write_deck(exporter, name, number, book) for name, number in chapters.items()]
    index = Environment(loader=FileSystemLoader(HERE), autoescape=False).get_template("index.html.j2")  # noqa: S701 - titles are markup
    for name in REVEALS:
        target = FOLDER / "reveal" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(find_file("sphinx_revealjs", f"_static/revealjs/{name}"), target)
    for sheet in SHEETS[2:]:
        shutil.copy((HERE if sheet == "slides.css" else STYLES) / sheet, FOLDER)
    (FOLDER / "index.html").write_text(index.render(book=book, decks=decks, sheets=SHEETS[2:]), "utf-8")
    write_fonts(FOLDER, FOLDER / "fonts")
    write_font(FOLDER, FOLDER / "math.woff2")
    print(f"{len(decks)} decks, {sum(deck['slides'] for deck in decks)} slides: slides/index.html")


if __name__ == "__main__":
    main()
