"""What is made of a translation: `zh/notebooks/*.ipynb`, with the English code and outputs, and `zh/book/*.md`."""

import json
import re
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat
from docutils.nodes import make_id
from nbformat import NotebookNode

from tools import ROOT
from tools.notebooks.files import TEXTS, attach_opening, list_chapters, write
from tools.translating import LANGUAGES
from tools.translating.gates import LINK, compare
from tools.translating.store import (
    Entry,
    Unit,
    is_translated,
    list_comments,
    list_texts,
    list_units,
    read_comments,
    read_common,
    read_entries,
    read_notebook,
    slug,
)

CHOICE = re.compile(r"^- (.+)$", re.MULTILINE)


@dataclass
class State:
    """How a unit stands: fresh; stale, as its English changed since; unsafe, as a fact of it did; missing."""

    unit: Unit
    kind: str
    entry: Entry | None = None
    faults: list[str] = field(default_factory=list)  # the facts that differ


def find_states(language: str, name: str) -> list[State]:
    """How each unit of a text stands. A cell is found by its id, or else by the English that was translated."""
    entries = read_entries(language, name)
    places = {(entry.key, entry.part): entry for entry in entries}
    places |= {(entry.english, entry.part): entry for entry in entries if entry.english}
    states, used = [], list_used(language) if name == "glossary" else None
    for unit in list_units(name, read_common(language)):
        if used is not None and unit.key not in used:
            continue
        entry = places.get((unit.key, unit.part)) or places.get((unit.digest, unit.part))
        if entry is None:
            states.append(State(unit, "missing"))
        elif unit.digest == entry.english:
            states.append(State(unit, "fresh", entry))
        else:
            faults = list(compare(unit.english, entry.text, language)) if unit.part == "text" else []
            states.append(State(unit, "unsafe" if faults else "stale", entry, faults))
    return states


def list_used(language: str) -> set[str] | None:
    """The entries of the glossary that the translated chapters use, where a language has no more; `None` for all."""
    settings = tomllib.loads((LANGUAGES / language / "language.toml").read_text("utf-8"))
    if settings.get("glossary") != "used":
        return None
    chapters = [name for name in list_texts(language) if name in list_chapters()]
    text = "\n".join(unit.english for name in chapters for unit in list_units(name) if unit.part == "text").lower()
    keys = [(unit.key, unit.english.partition("\n")[0].lstrip("# ").lower()) for unit in list_units("glossary")]
    return {keys[0][0], *(key for key, word in keys if re.search(rf"\b{re.escape(word)}", text))}


def choose_text(state: State, say: dict[str, str]) -> str:
    """What is shown of a unit: the translation, with a notice where it is old; the English where it would be wrong."""
    if state.entry is None or state.kind == "unsafe":
        return put_below_heading(state.unit.english, say["unsafe" if state.entry else "missing"])
    return put_below_heading(state.entry.text, say["stale"]) if state.kind == "stale" else state.entry.text


def put_below_heading(text: str, notice: str) -> str:
    """A text with a notice on top, but below its heading."""
    heading, _, rest = text.partition("\n")
    return f"{heading}\n\n> {notice}\n{rest}" if heading.startswith("#") else f"> {notice}\n\n{text}"


def translate_notebook(language: str, name: str, say: dict[str, str]) -> NotebookNode:
    """The notebook of a chapter in another language: the same cells, ids, code and outputs."""
    states = {(state.unit.key, state.unit.part): state for state in find_states(language, name)}
    comments = read_common(language)
    for entry in read_entries(language, name):
        comments |= read_comments(entry.text) if entry.part == "comments" else {}
    notebook, asked = read_notebook(name), ("", "")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = translate_comments(cell.source, comments)
            if state := states.get((cell.id, "figure")):
                describe(cell, state)
            continue
        english, cell.source = cell.source, choose_text(states[cell.id, "text"], say)
        if guess := cell.metadata.get("guess"):
            choices = dict(zip(*map(CHOICE.findall, asked), strict=False))
            guess["right"] = choices.get(guess["right"], guess["right"])
        asked = english, cell.source
        cell.source = relink(cell.source, language, "notebooks")
    attach_opening(notebook)
    notebook.metadata.pop("text_sha256", None)  # it is not made from book/*.md
    return notebook


def translate_comments(code: str, comments: dict[str, str]) -> str:
    """A piece of code with its comments in another language.

    Raises:
        ValueError: if that would change the code.
    """
    lines = code.split("\n")
    for row, column, said in reversed(list_comments(code)):
        if said in comments:
            new = "" if comments[said] == "-" else comments[said]
            lines[row - 1] = (lines[row - 1][:column] + new).rstrip()
    changed = "\n".join(lines)
    if strip_comments(changed) != strip_comments(code):
        raise ValueError(f"a comment changed the code: {code[:60]!r}")
    return changed


def strip_comments(code: str) -> list[Any]:
    """What of a piece of code is no comment, token by token."""
    try:
        tokens = tokenize.generate_tokens(StringIO(code).readline)
        return [(one.type, one.string) for one in tokens if one.type not in (tokenize.COMMENT, tokenize.NL)]
    except (tokenize.TokenError, SyntaxError):
        return [line.rstrip() for line in code.split("\n") if not line.lstrip().startswith("#")]


def describe(cell: NotebookNode, state: State) -> None:
    """Give a figure its caption and description, for page and Jupyter."""
    if state.entry is None:
        return
    said = dict(re.findall(r"^(caption|alt): (.+)$", state.entry.text, re.MULTILINE))
    if "caption" in said:
        cell.metadata.mystnb.figure.caption = said["caption"]
    cell.metadata.mystnb.image.alt = said["alt"]
    for output in cell.outputs:
        if "image/png" in output.get("data", {}):
            output.metadata["image/png"] = {"alt": said["alt"]}


def relink(text: str, language: str, folder: str) -> str:
    """Links that lead to the English where there is no translation, as seen from `zh/notebooks` or `zh/book`."""

    def lead(link: re.Match[str]) -> str:
        path, _, anchor = link[1].partition("#")
        if "://" in path or not path or path.startswith("attachment:"):
            return link[0]
        target = Path(folder, path)
        place = Path(*target.parts[2:]) if ".." in target.parts else target  # ../book/x.md, or x.ipynb beside it
        if is_translated(language, place.stem) or place.parts[0] not in ("notebooks", "pages", "book"):
            return link[0]
        return f"](../../{place.as_posix()}{'#' * bool(anchor)}{anchor})"

    return LINK.sub(lead, text)


def list_anchors(language: str, name: str) -> dict[str, tuple[str, str]]:
    """The anchors of the translated headings, each with the English one: addresses are the same in all languages.

    An English heading has two names, that of MyST, by which a text leads to it, and the id that it has on the page.
    """
    found = dict[str, tuple[str, str]]()
    for state in find_states(language, name):
        if state.entry is not None and state.unit.part == "text" and state.kind != "unsafe":
            pairs = zip(list_headings(state.entry.text), list_headings(state.unit.english), strict=False)
            found |= {slug(new): (slug(english), make_id(english)) for new, english in pairs if new != english}
    return found


def list_ids() -> dict[str, str]:
    """Of all English headings the id that a page has for what a text calls them, where that is another one."""
    headings = [heading for path in sorted(TEXTS.glob("*.md")) for heading in list_headings(path.read_text("utf-8"))]
    return {slug(heading): make_id(heading) for heading in headings if slug(heading) != make_id(heading)}


def list_headings(text: str) -> list[str]:
    """The headings of a text, as words."""
    return [re.sub(r"[`*$\\]", "", heading) for heading in re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE)]


def build(language: str, say: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """Each file of a language, and what it holds."""
    names = list_texts(language)
    places = {name: f"{'notebooks' if name in list_chapters() else 'book'}/{name}" for name in names}
    anchors = {places[name]: list_anchors(language, name) for name in names} | {"english": list_ids()}
    yield ROOT / language / "anchors.json", json.dumps(anchors, ensure_ascii=False, indent=1) + "\n"
    for name in names:
        if name in list_chapters():
            made = nbformat.writes(translate_notebook(language, name, say)) + "\n"
            yield ROOT / language / f"notebooks/{name}.ipynb", made
        else:
            sections = [choose_text(state, say) for state in find_states(language, name)]
            yield ROOT / language / f"book/{name}.md", relink("\n\n".join(sections), language, "book") + "\n"


def refresh_translations() -> None:
    """Write what is made of each language anew: its code and outputs are those of the English notebooks."""
    for path in LANGUAGES.glob("*/language.toml"):
        write_language(path.parent.name, tomllib.loads(path.read_text("utf-8"))["notice"])


def write_language(language: str, say: dict[str, str]) -> list[Path]:
    """Write what is made of a translation; what is left of a text that went is removed."""
    made = dict(build(language, say))
    for path in (ROOT / language).glob("*/*"):
        if path.suffix in (".ipynb", ".md") and path not in made:
            path.unlink()
    for path, content in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, content)
    return list(made)
