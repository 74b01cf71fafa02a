"""Each notebook alone in something like Colab: torch and Jupyter are there, d2lmini is not, the setup cell gets it.

The repository's address leads, by git's `insteadOf`, to a repository made from the working tree: nothing leaves the
machine.
"""

from __future__ import annotations

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

from tools.kernels import over_files
from tools.notebooks import NOTEBOOKS, ROOT

URL = "https://github.com/me/my-fork"
CHAPTERS = sorted(NOTEBOOKS.glob("*.ipynb"), key=lambda path: path.stat().st_size)
RUN = """
import sys
import nbformat
from nbconvert.preprocessors import ExecutePreprocessor
from traitlets.config import Config

path, transport, ip = sys.argv[1:]
notebook = nbformat.read(path, as_version=4)
executor = ExecutePreprocessor(config=Config(KernelManager={"transport": transport, "ip": ip}), timeout=600)
try:
    executor.preprocess(notebook, {"metadata": {"path": "."}})
finally:
    nbformat.write(notebook, path)
"""


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
    run(sys.executable, "-m", "tools.repository", URL, cwd=folder)
    identity = ["-c", "user.name=fork", "-c", "user.email=fork@example.org"]
    run("git", "init", "-q", cwd=folder)
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
    return folder


def play(colab: Path, fork: Path, notebook: Path) -> Any:
    """Run a notebook in the stand-in for Colab and return it as it then is."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "COV_"))}
    env |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{fork}.insteadOf",
        "GIT_CONFIG_VALUE_0": URL,
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # 0 switches isolation off
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    kernels = colab / "share/jupyter/kernels/python3"
    kernels.mkdir(parents=True, exist_ok=True)
    (kernels / "kernel.json").write_text(
        '{"argv": ["%s", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", '
        '"language": "python"}' % (colab / "bin/python")
    )
    command = [colab / "bin/python", "-c", RUN, notebook.name, *over_files().values()]
    done = subprocess.run(command, cwd=notebook.parent, env=env, text=True, capture_output=True, check=False)
    played = nbformat.read(notebook, as_version=4)
    played["stderr"] = done.stderr
    return played


def errors(notebook: Any) -> list[str]:
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    return [f"{out.ename}: {out.evalue}" for out in outputs if out.output_type == "error"]


@pytest.mark.parametrize("chapter", [path.stem for path in CHAPTERS])
def test_a_notebook_runs_alone_in_colab(fork: Path, colab: Path, tmp_path: Path, chapter: str) -> None:
    for left in colab.glob("lib/python3*/site-packages/d2lmini*"):  # by the chapter before: each begins without it
        shutil.rmtree(left)
    notebook = nbformat.read(fork / f"notebooks/{chapter}.ipynb", as_version=4)
    if chapter != CHAPTERS[0].stem:  # the shortest runs to its end, the others through their first section
        titles = [i for i, cell in enumerate(notebook.cells) if cell.source.startswith("## ")]
        notebook.cells = notebook.cells[: titles[1]]
    notebook.cells.append(nbformat.v4.new_code_cell("import d2lmini\nprint(d2lmini.__file__)"))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, tmp_path / "alone.ipynb")
    played = play(colab, fork, tmp_path / "alone.ipynb")
    assert errors(played) == [] and played.cells[-1].outputs, played["stderr"][-2000:]
    assert played.cells[-1].outputs[0].text.startswith(str(colab))


def test_without_an_address_the_setup_cell_says_what_to_do(fork: Path, colab: Path, tmp_path: Path) -> None:
    from tools.repository import setup_cell

    cell = nbformat.v4.new_code_cell(setup_cell("https://github.com/OWNER/d2lmini"))
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "alone.ipynb")
    played = play(colab, fork, tmp_path / "alone.ipynb")
    assert errors(played) == ["SystemExit: Name the repository first: make repository URL=https://..."]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_colab_shows_no_raw_syntax_and_no_dead_picture(chapter: Path) -> None:
    for cell in nbformat.read(chapter, as_version=4).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"!\[[^]]*\]\((?!https://|attachment:)|<img(?! src=\"https://)", cell.source), (
                cell.source
            )
