"""The package travels with the pages: whoever has them can run a notebook without the repository."""

import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

# What setuptools reads; in a copy, since it leaves a folder `build` behind, and packs what an older one left.
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "LICENSE-CC-BY-4.0", "d2lmini", "d2lmini_exercises", "frameworks")


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
