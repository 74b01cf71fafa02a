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
from tools.notebooks import DIGEST, digest

MOVED = ("book/{}.md", "notebooks/{}.ipynb", "d2lmini_exercises/{_}.py", "d2lmini_exercises/{_}",
         "tests/exercises/answers/{_}.py", "tests/exercises/answers/{_}")  # fmt: skip
SETTINGS = ("_toc.yml", "_config.yml", "tests/**/*.toml")  # where a name stands alone
READ = (*SETTINGS, "*.md", "book/**/*.md", "frameworks/*.md", "frameworks/*.ipynb", "d2lmini/**/*.py",
        "d2lmini_exercises/**/*.py", "tests/**/*.py", "tools/**/*.py")  # fmt: skip


def list_moved(name: str) -> Iterator[Path]:
    """Where the files and folders of a chapter are, or would be."""
    for place in MOVED:
        yield ROOT / place.replace("{}", name).replace("{_}", name.replace("-", "_"))


def rename(text: str, old: str, new: str, *, alone: bool) -> str:
    """A text in which a chapter has the new name; where the old one is an English word, only in names of files."""
    ends = r"(?![\w-])" if alone or "-" in old else r"(?=\.(?:ipynb|html|md)\b)"
    text = re.sub(rf"(?<![\w-]){re.escape(old)}{ends}", new, text)
    old, new = old.replace("-", "_"), new.replace("-", "_")
    starts = r"(?<!\w)" if "_" in old else r"(?<=exercises\.)|(?<=answers\.)|(?<=exercises/)|(?<=answers/)"
    return re.sub(rf"(?:{starts}){old}(?!\w)", new, text)


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
    for path, target in pairs:
        path.rename(target)
    settings = {path for pattern in SETTINGS for path in ROOT.glob(pattern)}
    changed = 0
    for path in sorted({path for pattern in READ for path in ROOT.glob(pattern)}):
        before = path.read_text("utf-8")
        after = rename(before, old, new, alone=path in settings)
        if after != before:
            if path.suffix == ".ipynb":  # a framework's, which nobody runs for the sake of a link
                notebook = nbformat.reads(after, as_version=4)
                notebook.metadata[DIGEST] = digest(notebook)
                after = nbformat.writes(notebook) + "\n"
            path.write_text(after, "utf-8")
            changed += 1
    print(f"{old} is {new}: {len(pairs)} files or folders moved, {changed} changed; now: make notebooks")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("python -m tools.rename old-name new-name")
    main(*sys.argv[1:])
