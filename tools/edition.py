"""Give the book a version: `python -m tools.edition 0.2.0`, or `0.3.0.dev0` for what comes after.

Writes it into the package, its metadata and the citation, and the tag `v0.2.0` into the setup cells, as RELEASING.md
tells. `python -m tools.edition --notes` prints what the change log says about the version that is set.
"""

from __future__ import annotations

import re
import sys

from tools import ROOT
from tools.repository import read_version, repository_url, write_setup_cells

PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "d2lmini/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
}
VERSION = re.compile(r"\d+\.\d+\.\d+(\.dev\d+)?")


def read_notes(version: str) -> str:
    """What the change log says about a version, or about the next one while that is being written."""
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (\S+).*\n((?:(?!## ).*\n?)*)", log, re.MULTILINE))
    return sections.get(re.sub(r"\.dev\d+$", "", version), "").strip()


def main(version: str) -> None:
    """Set the version everywhere.

    Raises:
        SystemExit: if it is none, or if the change log does not say what is new.
    """
    if not VERSION.fullmatch(version):
        raise SystemExit(f"VERSION must look like 0.2.0 or 0.3.0.dev0: make edition VERSION=..., got {version!r}")
    if "dev" not in version and not read_notes(version):
        raise SystemExit(f"CHANGELOG.md has no section '## {version}' that says what is new. Nothing was written")
    for name, line in PLACES.items():
        path = ROOT / name
        text, found = re.subn(line, lambda old: old[0].replace(old[1], version), path.read_text("utf-8"), flags=re.M)
        if found != 1:
            raise SystemExit(f"{name}: {found} lines hold a version, not one")
        path.write_text(text, "utf-8")
    write_setup_cells(repository_url())
    print(f"This is {version} now. Next: RELEASING.md")


if __name__ == "__main__":
    if sys.argv[1:] == ["--notes"]:
        print(read_notes(read_version()))
    else:
        main(sys.argv[1] if len(sys.argv) == 2 else "")
