"""Begin a chapter: `make chapter NAME=my-chapter`.

Copies the files of `template` under the name of the chapter and adds it to the table of contents. The copy is a
small chapter that passes every check as it is. The title page makes its card by itself.
"""

import re
import sys
from keyword import iskeyword

from tools import ROOT
from tools.notebooks.files import from_text, to_text, write_all
from tools.releasing.repository import repository_url, setup_cell

CONTENTS = ROOT / "_toc.yml"
ENTRY = re.compile(r"^( *)- file: notebooks/\S+\n", re.MULTILINE)


def fill(template: str, name: str, number: int) -> str:
    """A file of the template with the name and the number of the chapter."""
    words = {"SETUP": setup_cell(repository_url()), "TITLE": name.replace("-", " ").capitalize()}
    words |= {"NUMBER": str(number), "NAME": name}
    text = (ROOT / "tools/writing/template" / template).read_text("utf-8")
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return to_text(from_text(text)) if template.endswith(".md") else text


def enter(name: str) -> tuple[int, str]:
    """The number of a chapter behind the last one, and the table of contents with it.

    Raises:
        SystemExit: if no chapter is there to stand behind.
    """
    contents = CONTENTS.read_text("utf-8")
    entries = list(ENTRY.finditer(contents))
    if not entries:
        raise SystemExit("_toc.yml has no line `- file: notebooks/...` behind which the chapter could stand")
    last = entries[-1]
    line = f"{last[1]}- file: notebooks/{name}\n"
    return len(entries) + 1, contents[: last.end()] + line + contents[last.end() :]


def check_name(name: str, usage: str = "NAME=my-chapter", word: str = "NAME") -> None:
    """Refuse what cannot name a chapter or an exercise, which both become modules and functions.

    Raises:
        SystemExit: if it is no name, or one that Python reserves.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise SystemExit(f"{word} must be small letters, digits and hyphens, as in {usage}, got {name!r}")
    if iskeyword(name):
        raise SystemExit(f"{word} must be another name, as in {usage}: Python reserves {name!r}")


def main(name: str) -> None:
    """Begin a chapter.

    Raises:
        SystemExit: if the name is none, is taken or reserved.
    """
    check_name(name)
    module = name.replace("-", "_")
    files = {f"book/{name}.md": "chapter.md", f"d2lmini_exercises/{module}.py": "checkers.py"}
    files |= {f"tests/exercises/answers/{module}.py": "answers.py"}
    others = (f"notebooks/{name}.ipynb", f"d2lmini_exercises/{module}")
    taken = [file for file in (*files, *others) if (ROOT / file).exists()]
    if taken:
        raise SystemExit(f"{name} is there already: {', '.join(taken)}. Nothing was written")
    number, contents = enter(name)
    write_all({ROOT / file: fill(template, name, number) for file, template in files.items()} | {CONTENTS: contents})
    print("\n".join(["Made, for you to edit:", *(f"  {file}" for file in files), "  _toc.yml (one line)"]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
