"""The package travels with the pages: whoever has them can run a notebook without the repository."""

import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

import nbformat
from sphinx.application import Sphinx

# What setuptools reads; in a copy, since it leaves a folder `build` behind, and packs what an older one left.
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "LICENSE-CC-BY-4.0", "d2lmini", "d2lmini_exercises", "frameworks")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([\w./-]+\.(?:ipynb|md))(#[^)]*)?\)")


def name_wheel(root: Path) -> str:
    """The file name of the wheel of the package in `root`."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return f"{project['name']}-{project['version']}-py3-none-any.whl"


def build_wheel(root: Path, target: Path) -> None:
    """Build the wheel of the package in `root` with what is installed, and put it into `target`.

    Raises:
        RuntimeError: with pip's own words if it cannot be built.
    """
    with tempfile.TemporaryDirectory() as copy:
        for name in filter(lambda name: (root / name).exists(), SOURCES):
            (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, Path(copy) / name)
        options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", f"--wheel-dir={target}"]
        command = [sys.executable, "-m", "pip", "wheel", *options, copy]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise RuntimeError(f"the wheel of the package could not be built:\n{built.stdout}{built.stderr}")


def free_links(text: str, page: str, home: str) -> str:
    """A text whose links lead from a lone notebook: to the pages at their home, or nowhere while they have none."""

    def lead(link: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[2]))
        address = re.sub(r"\.(?:ipynb|md)$", ".html", place)
        return f"[{link[1]}]({home}{address}{link[3] or ''})" if home else link[1]

    return LINK.sub(lead, text)


def pack_notebooks(app: Sphinx, folder: Path) -> None:
    """Put each notebook, as one reads it alone, and the package into an archive: what is unpacked there runs."""
    (wheel,) = (folder / "_sources").glob("*.whl")
    for path in (folder / "_sources").glob("*/*.ipynb"):
        page = f"{path.parent.name}/{path.stem}"
        notebook = nbformat.read(path, as_version=4)
        _, _, text = notebook.cells[0].source.partition("\n")
        notebook.cells[0].source = f"# {app.env.titles[page].astext()}\n{text}"
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = free_links(cell.source, page, app.config.html_baseurl)
        with zipfile.ZipFile(path.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{path.stem}/{path.name}", nbformat.writes(notebook))
            archive.write(wheel, f"{path.stem}/{wheel.name}", zipfile.ZIP_STORED)
