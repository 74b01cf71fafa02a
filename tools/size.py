"""How large the repository is, part by part: `python -m tools.size`. It is no test: who adds should know it."""

from __future__ import annotations

import re
import subprocess

import d2lmini as d2l
from tools import ROOT

PARTS = {
    "d2lmini": r"d2lmini/.*\.py",
    "exercises": r"d2lmini_exercises/.*\.py",
    "their tests": r"tests/exercises/.*\.py",
    "tests in all": r"tests/.*\.py",
    "tools": r"tools/.*\.py",
    "book/_ext": r"book/_ext/.*\.py",
    "Makefile": r"Makefile",
    "Python in all": r".*\.py",
}


def main() -> None:
    """Print the lines of what git tracks, and the public names that no chapter or page uses."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607
    files = [name for name in listed.splitlines() if (ROOT / name).is_file()]
    for part, pattern in PARTS.items():
        texts = [(ROOT / name).read_text("utf-8") for name in files if re.fullmatch(pattern, name)]
        print(f"{part:16} {sum(len(text.splitlines()) for text in texts):6}")
    text = "".join(path.read_text("utf-8") for path in (ROOT / "book").glob("*.md"))
    public = [name for name in vars(d2l) if not name.startswith("_") and name != "typing"]
    modules = {path.stem for path in (ROOT / "d2lmini").iterdir()}
    unused = [name for name in public if name not in modules and not re.search(rf"\bd2l\.{name}\b", text)]
    print(f"{'public names that no page uses':16} {len(unused)} {' '.join(unused)}")


if __name__ == "__main__":
    main()
