"""Name the built pages that changed since the tests of the site last passed: `python -m tools.pages`.

Each build writes all pages, so their times say nothing: a page counts as changed if its text has changed, or a file
that it shows, a style or script of the site, or a test. `make site` keeps the digests in `.build/pages` once the tests
have passed.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tools import ROOT

SITE = ROOT / "_build/html"
PASSED, NOW = ROOT / ".build/pages", ROOT / ".build/pages.new"


def list_shared() -> list[Path]:
    """The files that every page depends on; but fonts hold the letters of all pages, and change with each of them."""
    tests = [ROOT / "conftest.py", ROOT / "requirements.txt", *ROOT.glob("tests/*.py"), *ROOT.glob("tests/site/*.py")]
    static = (path for path in (SITE / "_static").rglob("*") if path.suffix != ".woff2")
    return sorted(path for path in [*static, *tests] if path.is_file())


def list_shown(page: Path) -> list[Path]:
    """The page itself and the pictures in it."""
    sources = re.findall(r'src="([^"]*_images/[^"?]+)"', page.read_text("utf-8"))
    return [page, *(path for source in sorted(set(sources)) if (path := page.parent / source).is_file())]


def digest_files(paths: list[Path], seed: bytes = b"") -> str:
    """One digest of names and contents."""
    digest = hashlib.sha256(seed)
    for path in paths:
        digest.update(f"{path.name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def main() -> None:
    """Print the names of the changed pages on one line, and write down all digests in case their tests pass."""
    shared = digest_files(list_shared()).encode()
    pages = sorted(page for folder in ("book", "notebooks") for page in (SITE / folder).glob("*.html"))
    now = [f"{digest_files(list_shown(page), shared)} {page.relative_to(SITE).as_posix()}" for page in pages]
    passed = set(PASSED.read_text("utf-8").splitlines()) if PASSED.exists() else set()
    NOW.write_text("\n".join(now) + "\n", "utf-8")
    print(*(line.split(" ", 1)[1] for line in now if line not in passed))


if __name__ == "__main__":
    main()
