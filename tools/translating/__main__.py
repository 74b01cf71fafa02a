"""`make translate LANG=zh NAME=self-attention`: take in what was translated, check it, and say what is to be done.

What is new or has changed since it was translated comes as a work sheet, `.build/self-attention.zh.md`, in the form of
the translation: put the text in place of the English, and run the command again. Without a name all texts are checked.
"""

import json
import re
import sys
import tomllib
from typing import Any

from tools import ROOT
from tools.notebooks.files import TEXTS
from tools.translating import LANGUAGES
from tools.translating.build import State, find_states, write_language
from tools.translating.gates import check_entry, plain, read_terms
from tools.translating.store import list_texts, parse_entries, read_comments, read_entries, write_entries

ENGLISH = re.compile(r"<!-- ENGLISH\n.*?\nENGLISH -->\n*", re.DOTALL)


def read_settings(language: str) -> dict[str, Any]:
    """What a language says and forbids.

    Raises:
        SystemExit: if it has not begun.
    """
    path = LANGUAGES / language / "language.toml"
    if not path.exists():
        raise SystemExit(f"There is no languages/{language}/language.toml: copy that of another language")
    return tomllib.loads(path.read_text("utf-8"))


def take_in(language: str, name: str) -> None:
    """Put what stands in the work sheet in its place, in the order of the English; what is new gets its digest."""
    sheet, path = ROOT / f".build/{name}.{language}.md", LANGUAGES / language / f"{name}.md"
    given = parse_entries(ENGLISH.sub("", sheet.read_text("utf-8"))) if sheet.exists() else []
    done = [one for one in given if one.text and (one.part != "comments" or read_comments(one.text))]
    sheet.unlink(missing_ok=True)
    entries = {(entry.key, entry.part): entry for entry in [*read_entries(language, name), *done]}
    placed = []
    for state in find_states(language, name):
        entry = entries.get((state.unit.key, state.unit.part), state.entry)
        if entry is not None:
            placed.append(entry)
            entry.key = state.unit.key
            entry.english = entry.english or state.unit.digest
    if placed:
        path.write_text(write_entries(placed), "utf-8")


def write_sheet(language: str, name: str, states: list[State]) -> int:
    """What is to be translated, with the English, what stands, and the terms in it; how many entries that are."""
    pieces, open_states = [], [state for state in states if state.kind != "fresh"]
    for state in open_states:
        unit, words = state.unit, plain(state.unit.english) * (state.unit.part == "text")
        used = [f"{term} = {wanted[0]}" for pattern, wanted, term in read_terms(language) if pattern.search(words)]
        head = {"cell": unit.key} | ({"part": unit.part} if unit.part != "text" else {})
        english = "\n=> \n".join([*unit.english.splitlines(), ""]) if unit.part == "comments" else ""
        told = [
            f"+++ {json.dumps(head, ensure_ascii=False)}",
            f"<!-- ENGLISH\n{unit.english}\nTerms: {'; '.join(used)}\nENGLISH -->",
        ]
        pieces.append("\n\n".join([*told, state.entry.text if state.entry else english.strip()]))
    sheet = ROOT / f".build/{name}.{language}.md"
    if pieces:
        sheet.parent.mkdir(exist_ok=True)
        sheet.write_text("\n\n".join(pieces) + "\n", "utf-8")
    return len(open_states)


def find_line(name: str, english: str) -> int:
    """The line of book/name.md where a unit begins."""
    text = (TEXTS / f"{name}.md").read_text("utf-8")
    return text.count("\n", 0, max(0, text.find(english[:60]))) + 1


def check(language: str, name: str, settings: dict[str, Any]) -> list[str]:
    """What is wrong with a text, as CI names it: file, line, cell."""
    said = []
    for state in find_states(language, name):
        unit, where = state.unit, f"languages/{language}/{name}.md: cell {state.unit.key}, {state.unit.part}"
        if state.entry is None:
            said.append(f"{where}: no translation of {unit.english[:40]!r}")
        elif state.kind != "fresh":
            line = find_line(name, unit.english)
            told = f"{where} is {state.kind}: its English changed. {'; '.join(state.faults)}"
            said.append(f"::warning file=book/{name}.md,line={line}::{told}")
        else:
            said += [f"{where}: {fault}" for fault in check_entry(unit.english, state.entry, language, settings)]
    known = {state.entry.key for state in find_states(language, name) if state.entry}
    lost = [entry.key for entry in read_entries(language, name) if entry.key not in known]
    return said + [f"languages/{language}/{name}.md: there is no cell {key} in the English" for key in lost]


def main(language: str, *names: str) -> int:
    """Take in, build, check; the number of faults."""
    settings, count = read_settings(language), 0
    for name in names or list_texts(language):
        take_in(language, name)
        faults = check(language, name, settings)
        count += sum(not fault.startswith("::warning") for fault in faults)
        print("\n".join(faults), end="\n" * bool(faults))
        todo = write_sheet(language, name, find_states(language, name))
        print(f"{name}: {todo} to translate{f', in .build/{name}.{language}.md' * bool(todo)}, {len(faults)} faults")
    write_language(language, settings["notice"])
    return count


if __name__ == "__main__":
    sys.exit(min(1, main(*sys.argv[1:])))
