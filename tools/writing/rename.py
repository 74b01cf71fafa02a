"""Rename a chapter's file, or give all chapters their numbers; then `make notebooks`.

    python -m tools.writing.rename what-is-kept what-stays
    python -m tools.writing.rename --numbers

With another name move text and notebook, the checkers of its exercises and the answers to them; the table of contents,
the settings, and the links of other pages follow; the old address leads to the new one. Its title stays, and so do the
names of its exercises.

Exercises, formulas and links carry the number of their chapter in the texts, in the hints of the checkers and in tests.
A chapter that was moved in the table of contents takes them along. One that was cut into two files may leave them as
they were: each file counts its own anew, and what is said elsewhere follows.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import nbformat
from book_site.phrases import CHAPTER, EXERCISE, name_numbers

from tools import ROOT
from tools.notebooks.files import DIGEST, TEXTS, digest, list_chapters, write, write_all
from tools.notebooks.results import digest_chapter
from tools.notebooks.run import STAMPS, is_fresh
from tools.writing.chapter import check_name

MOVED = ["book/{}.md", "notebooks/{}.ipynb"]
FOLDERS = ("d2lmini_exercises", "tests/exercises/answers")
MOVED += [f"{folder}/{{_}}{end}" for folder in FOLDERS for end in (".py", "")]
CODE = [f"{folder}/**/*.py" for folder in ("d2lmini", "d2lmini_exercises", "tests", "tools")]
NAMED = ("*.md", "*.yml", "book/**/*.md", "frameworks/*.md", "frameworks/*.ipynb", "tests/**/*.toml", *CODE)
NUMBERED = ("book/*.md", *CODE[:2], "tests/exercises/**/*.py", "tests/chapters/*.toml")

EXERCISES = re.compile(name_numbers(EXERCISE, r"\d+\.\d+"))
HEADING = re.compile(rf"^### {EXERCISE} (\d+\.\d+)\b", re.MULTILINE)
TAG = re.compile(r"\\tag\{(\d+\.\d+)\}")
FORMULA = re.compile(r"\((\d+\.\d+)\)")
CHAPTERS = re.compile(name_numbers(CHAPTER, r"\d+") + r"(?!\.\d)")
LINK = re.compile(r"\[(\d+)\](?=\(\.\./notebooks/([\w-]+)\.ipynb)")
REDIRECTS = re.compile(r"^( *)redirects:.*$", re.MULTILINE)
Labels = dict[str, str]  # numbers as 7.4, or of chapters, and what they become


def rewrite(patterns: Iterable[str], change: Callable[[Path, str], str]) -> int:
    """Write what is made of each file that fits a pattern, all or none, and count those that changed."""
    paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
    return write_all({path: change(path, path.read_text("utf-8")) for path in paths})


def list_moved(name: str) -> Iterator[Path]:
    """Where the files and folders of a chapter are, or would be."""
    for place in MOVED:
        yield ROOT / place.replace("{}", name).replace("{_}", name.replace("-", "_"))


def rename(path: Path, text: str, old: str, new: str) -> str:
    """The text of a file in which a chapter has the new name, where it names a file or a module; words stay words."""
    name, before = re.escape(old), text
    alone = {".yml": rf"(?<![\w-]){name}(?![\w-])", ".toml": rf"(?m)(?<=^\[){name}(?=\]$)"}
    linked = rf"(?<![\w-]){name}(?=\.(?:ipynb|html|md)\b)|(?<=CHAPTERS=){name}(?![\w-])"
    text = re.sub(alone.get(path.suffix, linked), new, text)
    if path.name == "_config.yml":
        text = REDIRECTS.sub(rf"\g<0>\n\g<1>  notebooks/{old}: {new}.html", text)
    old, new = old.replace("-", "_"), new.replace("-", "_")
    text = re.sub(rf"(?:(?<=exercises\.)|(?<=answers\.)|(?<=exercises/)|(?<=answers/)){old}(?!\w)", new, text)
    if text == before or path.suffix != ".ipynb":
        return text
    notebook = nbformat.reads(text, as_version=4)  # a framework's, which nobody runs for the sake of a link
    notebook.metadata[DIGEST] = digest(notebook)
    return nbformat.writes(notebook) + "\n"


def move_chapter(old: str, new: str) -> None:
    """Move the files of a chapter, and write its new name wherever the old one stands.

    Raises:
        SystemExit: if there is no such chapter, or if the new name is none or is taken.
    """
    check_name(new)
    pairs = [(path, target) for path, target in zip(list_moved(old), list_moved(new), strict=True) if path.exists()]
    if not (ROOT / f"book/{old}.md").exists():
        raise SystemExit(f"there is no book/{old}.md. Nothing was written")
    if taken := [str(path.relative_to(ROOT)) for path in list_moved(new) if path.exists()]:
        raise SystemExit(f"{new} is there already: {', '.join(taken)}. Nothing was written")
    fresh = (ROOT / f"notebooks/{old}.ipynb").exists() and is_fresh(old, words_changed=False)
    changed = rewrite(NAMED, lambda path, text: rename(path, text, old, new))
    for path, target in pairs:
        path.rename(target)
    if fresh:  # what was run under the old name need not be run again
        write(STAMPS / new, digest_chapter(new))
    print(f"{old} is {new}: {len(pairs)} files or folders moved, {changed} changed; now: make notebooks")


def count_anew(pattern: re.Pattern[str], text: str, number: int) -> Labels:
    """The numbers that a chapter's own text gives, and what they are in chapter `number`, in the same order."""
    found = sorted(set(pattern.findall(text)), key=lambda label: [int(part) for part in label.split(".")])
    return {old: f"{number}.{new}" for new, old in enumerate(found, start=1)}


def renumber(text: str, chapters: Labels, exercises: Labels, formulas: Labels, names: Labels) -> str:
    """A text with other numbers; `(1.5)` is a formula only where there is one, and a link shows that of its page."""

    def put(labels: Labels) -> Callable[[re.Match[str]], str]:
        return lambda found: re.sub(r"\d+(?:\.\d+)?", lambda label: labels.get(label[0], label[0]), found[0])

    for pattern, labels in ((EXERCISES, exercises), (TAG, formulas), (FORMULA, formulas), (CHAPTERS, chapters)):
        text = pattern.sub(put(labels), text)
    return LINK.sub(lambda found: f"[{names.get(found[2], found[1])}]", text)


def number_chapters() -> None:
    """Change the numbers of all chapters at once, wherever they are written."""
    texts = {name: path.read_text("utf-8") for name in list_chapters() if (path := TEXTS / f"{name}.md").exists()}
    own = {
        name: [count_anew(pattern, text, number) for pattern in (HEADING, TAG)]
        for number, (name, text) in enumerate(texts.items(), start=1)
    }
    names = {name: str(number) for number, name in enumerate(texts, start=1)}
    chapters: Labels = {}
    for name, labels in own.items():  # of a chapter that was cut, the first file keeps its number
        for old in (*labels[0], *labels[1]):
            chapters.setdefault(old.partition(".")[0], names[name])
    whole = [{old: new for labels in own.values() for old, new in labels[kind].items()} for kind in (0, 1)]

    def change(path: Path, text: str) -> str:
        name = next((name for name in own if any(place in (path, *path.parents) for place in list_moved(name))), None)
        exercises, formulas = ({**every, **(own[name][kind] if name else {})} for kind, every in enumerate(whole))
        return renumber(text, chapters, exercises, formulas, names)

    for old, new in chapters.items():
        if old != new:
            print(f"chapter {old} is chapter {new}")
    changed = rewrite(NUMBERED, change)
    print(f"{changed} files changed" + ("; now: make notebooks" if changed else ""))


if __name__ == "__main__":
    if sys.argv[1:] == ["--numbers"]:
        number_chapters()
    elif len(sys.argv) == 3:
        move_chapter(*sys.argv[1:])
    else:
        sys.exit(__doc__)
