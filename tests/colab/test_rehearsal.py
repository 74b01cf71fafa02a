"""Each notebook alone in something like Colab: torch and Jupyter are there, d2lmini is not, the setup cell gets it.

The repository's address leads, by git's `insteadOf`, to a repository made from the working tree: nothing leaves the
machine.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import nbformat
import pytest
from book_site.package import build_wheel
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from tools.notebooks.files import NOTEBOOKS, ROOT
from tools.notebooks.kernels import over_files
from tools.releasing.repository import setup_cell

URL = "https://github.com/me/my-fork"
CHAPTERS = sorted(NOTEBOOKS.glob("*.ipynb"))
WHOLE = "self-attention"  # short, and it trains nothing; of the others the beginning is run


def run(*command: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, **options)


@pytest.fixture(scope="session")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed copy of the working tree that knows its address."""
    folder = tmp_path_factory.mktemp("fork") / "my-fork"
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.splitlines()
    for name in listed:
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    run(sys.executable, "-m", "tools.releasing.repository", URL, cwd=folder)
    identity = ["-c", "user.name=fork", "-c", "user.email=fork@example.org"]
    run("git", "init", "-q", "-b", "main", cwd=folder)
    run("git", "add", "-A", cwd=folder)
    run("git", *identity, "commit", "-qm", "fork", cwd=folder)
    return folder


@pytest.fixture(scope="session")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with this one's packages but without d2lmini, and with a stand-in for google.colab."""
    folder = tmp_path_factory.mktemp("colab")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    packages = next(folder.glob("lib/python3*/site-packages"))
    # A .pth in a folder added by another .pth is not read: d2lmini, installed as editable, stays out of sight.
    (packages / "torch-and-jupyter.pth").write_text(sysconfig.get_path("purelib") + "\nimport google.colab\n")
    (packages / "google/colab").mkdir(parents=True)
    (packages / "google/colab/__init__.py").touch()
    command = [str(folder / "bin/python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernels/colab").mkdir(parents=True)
    (folder / "kernels/colab/kernel.json").write_text(json.dumps({"argv": command, "display_name": "Colab"}))
    return folder


def play(colab: Path, fork: Path, cells: list[Any], folder: Path) -> list[str]:
    """Run cells in the stand-in for Colab, without what the test before has installed, and return the errors."""
    for left in colab.glob("lib/python3*/site-packages/d2lmini*"):
        shutil.rmtree(left)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "COV_"))}
    env |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{fork}.insteadOf",
        "GIT_CONFIG_VALUE_0": URL,
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # 0 switches isolation off
    }
    specs = KernelSpecManager(kernel_dirs=[str(colab / "kernels")])
    manager = KernelManager(kernel_name="colab", kernel_spec_manager=specs, **over_files())
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, manager, allow_errors=True, timeout=600).execute(env=env, cwd=str(folder))
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    return [f"{out.ename}: {out.evalue}" for out in outputs if out.output_type == "error"]


def check_cells(colab: Path, fork: Path, cells: list[Any], folder: Path) -> None:
    """Whether cells run, and find the package that they have installed."""
    cells = [*cells, nbformat.v4.new_code_cell("import d2lmini\nprint(d2lmini.__file__)")]
    assert play(colab, fork, cells, folder) == []
    assert cells[-1].outputs[0].text.startswith(str(colab))


def begin(notebook: Any) -> list[Any]:
    """The cells through the one that follows the first section's title; a title can stand amid the text of a cell."""
    texts = ((i, cell.source) for i, cell in enumerate(notebook.cells) if cell.cell_type == "markdown")
    first = next(i for i, text in texts if re.search(r"^## ", text, re.MULTILINE))
    return notebook.cells[: first + 2]


@pytest.mark.parametrize(
    "chapter",
    [pytest.param(path.stem, marks=[] if path.stem == WHOLE else [pytest.mark.thorough]) for path in CHAPTERS],
)
def test_a_notebook_runs_alone_in_colab(fork: Path, colab: Path, tmp_path: Path, chapter: str) -> None:
    notebook = nbformat.read(fork / f"notebooks/{chapter}.ipynb", as_version=4)
    cells = [cell for cell in (notebook.cells if chapter == WHOLE else begin(notebook)) if cell.cell_type == "code"]
    assert cells[0].source == setup_cell(URL) and len(cells) > 1
    check_cells(colab, fork, cells, tmp_path)


NAMELESS = setup_cell("https://github.com/OWNER/d2lmini")


@pytest.mark.thorough
def test_the_wheel_that_comes_with_the_pages_is_enough(colab: Path, fork: Path, tmp_path: Path) -> None:
    beside, below = tmp_path / "beside", tmp_path / "above/notebooks"
    below.mkdir(parents=True)
    for wheel, notebook in ((beside, beside), (below.parent, below)):
        build_wheel(ROOT, wheel)
        check_cells(colab, fork, [nbformat.v4.new_code_cell(NAMELESS)], notebook)


def test_without_wheel_and_address_the_setup_cell_says_what_to_do(colab: Path, fork: Path, tmp_path: Path) -> None:
    [error] = play(colab, fork, [nbformat.v4.new_code_cell(NAMELESS)], tmp_path)
    assert error.startswith("ImportError: The package of this book, d2lmini, is not here: put its file")


@pytest.mark.thorough
def test_a_notebook_of_a_clone_installs_the_package_of_the_clone(colab: Path, fork: Path) -> None:
    check_cells(colab, fork, [nbformat.v4.new_code_cell(NAMELESS)], fork / "notebooks")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_colab_shows_no_dead_picture(chapter: Path) -> None:
    for cell in nbformat.read(chapter, as_version=4).cells:
        if cell.cell_type == "markdown":
            found = re.search(r"!\[[^]]*\]\((?!https://|attachment:)|<(?i:img)(?! src=\"https://)", cell.source)
            assert not found, cell.source
