"""The main line of a chapter stands alone: without what is folded or needs a model, it gives what it gives with it."""

import contextlib
import subprocess
import sys

import nbformat
import pytest

from tools import ROOT
from tools.notebooks.files import ASIDE, NEEDS_MODEL, NOTEBOOKS

FOLDER = ROOT / ".build/main-line/notebooks"


@pytest.mark.thorough
@pytest.mark.parametrize("chapter", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_the_main_line_runs_without_its_folds(chapter: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    left_out = {*ASIDE, NEEDS_MODEL}
    notebook.cells = [cell for cell in notebook.cells if not left_out & set(cell.metadata.get("tags", []))]
    FOLDER.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (FOLDER.parent / "frameworks").symlink_to(ROOT / "frameworks")  # one chapter reads them from beside its folder
    path = FOLDER / f"{chapter}.ipynb"
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "--nbval", "--nbval-current-env", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
