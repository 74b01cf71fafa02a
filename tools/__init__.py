"""What the commands of `make` call, by what is done: with `notebooks`, `writing`, `teaching`, `releasing`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The extension of the pages has one name, `book_site`, for Sphinx, for commands and for tests (pyproject.toml).
sys.path.append(str(ROOT / "book/_ext"))
