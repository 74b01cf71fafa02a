"""How large the repository is, part by part, and what one call enters: `python -m tools.size`. It is no test."""

import re
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch

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


def list_entered() -> list[str]:
    """The functions of the package that `mha(X, X, X)` enters, comprehensions among them."""
    X, entered = torch.zeros(1, 3, 8), dict[str, None]()
    mha = d2l.MultiHeadAttention(8, 8, 8, 8, num_heads=2, dropout=0.0)

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT / "d2lmini"):
            entered[f"{path.name} {frame.f_code.co_qualname}"] = None

    sys.setprofile(note)
    mha(X, X, X)
    sys.setprofile(None)
    return list(entered)


def main() -> None:
    """Print the lines of what git tracks, the trace of a call, and the public names that no chapter or page uses."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607
    files = [name for name in listed.splitlines() if (ROOT / name).is_file()]
    lines = {}
    for part, pattern in PARTS.items():
        texts = [(ROOT / name).read_text("utf-8") for name in files if re.fullmatch(pattern, name)]
        lines[part] = sum(len(text.splitlines()) for text in texts)
        print(f"{part:16} {lines[part]:6}")
    tests = lines["tests in all"]
    print(f"{'lines of tests per line of other Python':40} {tests / (lines['Python in all'] - tests):.2f}")
    print(f"{'functions that mha(X, X, X) enters':40} {len(entered := list_entered())}: {', '.join(entered)}")
    text = "".join(path.read_text("utf-8") for path in (ROOT / "book").glob("*.md"))
    public = [name for name in vars(d2l) if not name.startswith("_") and name != "typing"]
    modules = {path.stem for path in (ROOT / "d2lmini").iterdir()}
    unused = [name for name in public if name not in modules and not re.search(rf"\bd2l\.{name}\b", text)]
    print(f"{'public names that no page uses':40} {len(unused)} {' '.join(unused)}")


if __name__ == "__main__":
    main()
