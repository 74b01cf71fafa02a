"""Tabs. Where a line of a chapter links one place in several notebooks of frameworks/, its page shows these places.

In Jupyter, in Colab and on GitHub the links lead to the notebooks. A place is a heading; what is shown is the text
below it, the code and what the code has printed, up to the next heading. A notebook that is not there is a sentence.
"""

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from .folds import MACHINERY

LINK = r"\[([^\]]+)\]\(\.\./(frameworks/([\w-]+)\.ipynb)(?:#([\w-]+))?\)"
LINE = re.compile(rf"^(?!.*\. ).* in {LINK}(?:(?:, | and ){LINK})+\.$", re.MULTILINE)
FENCE = "`" * 4  # longer than any in a cell


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def read_anchor(cell: dict[str, Any]) -> str:
    """The anchor of the heading with which a cell begins a section."""
    heading = re.match(r"## (.+)", source_of(cell)) if cell["cell_type"] == "markdown" else None
    return re.sub(r"\W+", "-", heading[1].strip().lower()) if heading else ""


def read_section(path: Path, place: str) -> list[dict[str, Any]]:
    """The cells of a notebook from a heading up to the next one; none where there is no such notebook or heading."""
    cells = json.loads(path.read_text("utf-8"))["cells"] if path.exists() else []
    titles = list(map(read_anchor, cells))
    if not place or place not in titles:
        return []
    start = titles.index(place)
    return cells[start : next((i for i in range(start + 1, len(cells)) if titles[i]), len(cells))]


def write_cell(cell: dict[str, Any]) -> str:
    """A cell and what it printed, as MyST."""
    if cell["cell_type"] == "markdown":
        return re.sub(r"\A## .*", "", source_of(cell)).strip()
    code = f"{FENCE}python\n{MACHINERY.sub('', source_of(cell))}\n{FENCE}"
    printed = "".join("".join(output.get("text", [])) for output in cell["outputs"]).rstrip()
    return f"{code}\n\n{FENCE}{{code-block}} none\n:class: printed\n{printed}\n{FENCE}" if printed else code


def write_tabs(line: re.Match[str], root: Path, *, downloads: bool) -> str:
    """The places that a line links, as tabs that change together on all of the page."""
    tabs = []
    for title, path, name, place in re.findall(LINK, line[0]):
        cells = read_section(root / path, place)
        shown = "\n\n".join(filter(None, map(write_cell, cells))) or "This one was not run here."
        whole = f"{{download}}`The whole notebook: {name}.ipynb <../{path}>`" if cells and downloads else ""
        tabs.append(f"::::{{tab-item}} {title}\n:sync: {name}\n\n{shown}\n\n{whole}\n::::")
    return ":::::{tab-set}\n:sync-group: framework\n\n" + "\n".join(tabs) + "\n:::::"


def show_places(app: Sphinx, page: str, source: list[str]) -> None:
    """Write the tabs into the source of a page, before it is read; on a site a single link becomes one to download."""
    if "../frameworks/" not in source[0] or not app.env.doc2path(page).endswith(".ipynb"):
        return
    notebook, online = json.loads(source[0]), app.builder.name == "html"
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and "../frameworks/" in source_of(cell):
            text = LINE.sub(lambda line: write_tabs(line, Path(app.srcdir), downloads=online), source_of(cell))
            cell["source"] = re.sub(LINK, r"{download}`\1 <../\2>`" if online else r"\1", text)
    for path in Path(app.srcdir, "frameworks").glob("*.ipynb"):
        app.env.note_dependency(str(path))
    source[0] = json.dumps(notebook)
