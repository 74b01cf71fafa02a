"""Write a deck for each chapter, and a page that leads to them: `make slides`."""

import json
import shutil
from base64 import b64encode
from pathlib import Path
from typing import Any

import nbformat
import yaml
from book_site.fonts import find_file, write_fonts
from book_site.formulas import write_font
from book_site.phrases import CHAPTER
from book_site.phrases import SCRIPTS as PHRASES
from jinja2 import Template
from nbconvert.exporters import SlidesExporter
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


def write_deck(exporter: SlidesExporter, name: str, resources: dict[str, Any]) -> dict[str, Any]:
    """Write the deck of a chapter, and tell the index of it."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    title, opening, *_ = notebook.cells[0].source.removeprefix("# ").split("\n\n")
    toys = TOYS if "data-play=" in str(notebook) else ()
    resources |= {"title": title, "metadata": {"name": name}, "sheets": SHEETS, "scripts": (*toys, *SCRIPTS)}
    html, _ = exporter.from_notebook_node(notebook, resources)
    (FOLDER / f"{name}.html").write_text(html, "utf-8")
    return {"name": name, "title": to_line(title), "opening": to_line(opening), "slides": html.count("<section ")}


def main() -> None:
    """Write everything from scratch: what an older build left could hide a fault."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    book = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    filters = {"say": to_html, "line": to_line, "encode": lambda text: b64encode(text.encode()).decode()}
    config = Config({"TemplateExporter": {"filters": filters}})
    exporter = SlidesExporter(
        config=config, template_name="deck", extra_template_basedirs=[str(HERE)], preprocessors=[Arrangement]
    )
    given = {"book": book, "phrases": json.dumps(PHRASES["play"])}
    decks = [
        write_deck(exporter, name, given | {"kicker": CHAPTER.format(number)})
        for number, name in enumerate(list_chapters(), start=1)
    ]
    index = Template((HERE / "index.html.j2").read_text("utf-8"))
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
