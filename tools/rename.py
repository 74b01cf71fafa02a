"""Give a chapter's file another name: `python -m tools.rename what-is-kept what-stays`, then `make notebooks`.

Text and notebook move, the checkers of its exercises and the answers to them; the table of contents, the settings, and
the links of other pages follow. Its title stays, and so do the names of its exercises.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat

from tools import ROOT
from tools.chapter import check_name
from tools.compare import digest_chapter
from tools.notebooks import DIGEST, digest, write
from tools.run import STAMPS, is_fresh

MOVED = (
    "book/{}.md",
    "notebooks/{}.ipynb",
    "d2lmini_exercises/{_}.py",
    "d2lmini_exercises/{_}",
    "tests/exercises/answers/{_}.py",
    "tests/exercises/answers/{_}",
)
READ = (
    "*.md",
    "*.yml",
    "book/**/*.md",
    "frameworks/*.md",
    "frameworks/*.ipynb",
    "tests/**/*.toml",
    *(f"{folder}/**/*.py" for folder in ("d2lmini", "d2lmini_exercises", "tests", "tools")),
)


def list_moved(name: str) -> Iterator[Path]:
    """Where the files and folders of a chapter are, or would be."""
    for place in MOVED:
        yield ROOT / place.replace("{}", name).replace("{_}", name.replace("-", "_"))


def rename(text: str, suffix: str, old: str, new: str) -> str:
    """A text of this kind in which a chapter has the new name, where it names a file or a module; words stay words."""
    name = re.escape(old)
    alone = {".yml": rf"(?<![\w-]){name}(?![\w-])", ".toml": rf"(?m)(?<=^\[){name}(?=\]$)"}
    text = re.sub(
        alone.get(suffix, rf"(?<![\w-]){name}(?=\.(?:ipynb|html|md)\b)|(?<=CHAPTERS=){name}(?![\w-])"), new, text
    )
    old, new = old.replace("-", "_"), new.replace("-", "_")
    return re.sub(rf"(?:(?<=exercises\.)|(?<=answers\.)|(?<=exercises/)|(?<=answers/)){old}(?!\w)", new, text)


def main(old: str, new: str) -> None:
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
    for path, target in pairs:
        path.rename(target)
    changed = 0
    for path in sorted({path for pattern in READ for path in ROOT.glob(pattern)}):
        before = path.read_text("utf-8")
        after = rename(before, path.suffix, old, new)
        if after != before:
            if path.suffix == ".ipynb":  # a framework's, which nobody runs for the sake of a link
                notebook = nbformat.reads(after, as_version=4)
                notebook.metadata[DIGEST] = digest(notebook)
                after = nbformat.writes(notebook) + "\n"
            path.write_text(after, "utf-8")
            changed += 1
    if fresh:  # what was run under the old name need not be run again
        write(STAMPS / new, digest_chapter(new))
    print(f"{old} is {new}: {len(pairs)} files or folders moved, {changed} changed; now: make notebooks")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("python -m tools.rename old-name new-name")
    main(*sys.argv[1:])
