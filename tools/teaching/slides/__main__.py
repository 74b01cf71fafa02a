"""Write a deck for each chapter, and a page that leads to them: `make slides`."""

import json
import shutil
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import yaml
from book_site.fonts import find_file, write_fonts
from book_site.formulas import write_font
from book_site.phrases import CHAPTER
from book_site.phrases import SCRIPTS as PHRASES
from jinja2 import Environment, FileSystemLoader
from nbconvert.exporters import SlidesExporter
from nbformat import NotebookNode
from traitlets.config import Config

from tools import ROOT
from tools.notebooks.files import NOTEBOOKS, list_chapters
from tools.teaching.slides import FOLDER
from tools.teaching.slides.arrange import Arrangement
from tools.teaching.slides.markup import to_html, to_line

HERE, STYLES = Path(__file__).parent, ROOT / "book/_static"
# Of the package that brings reveal.js; of the pages; and our own.
REVEALS = ("LICENSE", "dist/reveal.js", "dist/reset.css", "dist/reveal.css", "plugin/notes/notes.js")
OURS = ("fonts.css", "book.css", "formulas.css", "play.css", "slides.css")
SHEETS = ("reveal/dist/reset.css", "reveal/dist/reveal.css", *OURS)
TOYS = ("kept.js", *(f"play/{name}.js" for name in ("tools", "sentences", "softmax", "clock")))
SCRIPTS = ("reveal/dist/reveal.js", "reveal/plugin/notes/notes.js")


def draw(output: NotebookNode, cell: NotebookNode) -> str:
    """A figure with what it says to those who do not see it, and its caption."""
    figure = cell.metadata.get("mystnb", {})
    alt = figure.get("image", {}).get("alt", "")
    kind = next(kind for kind in ("image/svg+xml", "image/png") if kind in output.data)
    coded = "".join(output.data[kind].split()) if "png" in kind else b64encode(output.data[kind].encode()).decode()
    caption = to_line(figure.get("figure", {}).get("caption", ""))
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure><img src="data:{kind};base64,{coded}" alt="{escape(alt)}">{below}</figure>'


def make_exporter() -> SlidesExporter:
    """nbconvert's exporter of slides, with our arrangement, our template and nothing from a network."""
    config = Config()
    config.TemplateExporter.filters = {"say": to_html, "draw": draw}
    return SlidesExporter(
        config=config,
        template_name="deck",
        extra_template_basedirs=[str(HERE)],
        preprocessors=[Arrangement],
        file_extension=".html",
    )


def write_deck(exporter: SlidesExporter, name: str, number: int, book: str) -> dict[str, Any]:
    """Write the deck of a chapter, and tell the index of it."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    title, _, text = notebook.cells[0].source.removeprefix("# ").partition("\n\n")
    opening = text.partition("\n\n")[0]
    resources: dict[str, Any] = {
        "metadata": {"name": name},
        "title": title,
        "book": book,
        "kicker": CHAPTER.format(number),
    }
    toys = TOYS if "data-play=" in str(notebook) else ()
    resources |= {
        "sheets": SHEETS,
        "scripts": (*toys, *SCRIPTS),
        "phrases": json.dumps(PHRASES["play"]) if toys else "",
    }
    html, _ = exporter.from_notebook_node(notebook, resources)
    (FOLDER / f"{name}.html").write_text(html, "utf-8")
    return {"name": name, "title": to_line(title), "opening": to_line(opening), "slides": html.count("<section ")}


def main() -> None:
    """Write everything from scratch: what an older build left could hide a fault."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    book = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    exporter = make_exporter()
    decks = [write_deck(exporter, name, number, book) for number, name in enumerate(list_chapters(), start=1)]
    index = Environment(loader=FileSystemLoader(HERE), autoescape=False).get_template("index.html.j2")  # noqa: S701 - titles are markup
    for name in REVEALS:
        target = FOLDER / "reveal" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(find_file("sphinx_revealjs", f"_static/revealjs/{name}"), target)
    (FOLDER / "play").mkdir()
    for name in (*OURS, *TOYS):
        shutil.copy((HERE if name == "slides.css" else STYLES) / name, FOLDER / name)
    (FOLDER / "index.html").write_text(index.render(book=book, decks=decks, sheets=OURS), "utf-8")
    write_fonts(FOLDER, FOLDER / "fonts")
    write_font(FOLDER, FOLDER / "math.woff2")
    print(f"{len(decks)} decks, {sum(deck['slides'] for deck in decks)} slides: slides/index.html")


if __name__ == "__main__":
    main()
