"""What is built of the package, for an index or for a folder: the package and its licences, and nothing of the book."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from book_site.package import SOURCES, build_wheel

from tools import ROOT

# Imports everything while only what d2lmini asks for can be found, with what that asks for in turn.
IMPORT_ALL = """
import importlib.metadata, pkgutil, re, sys
sys.path.insert(0, sys.argv[1])
waiting, known = ["torch", "matplotlib", "numpy", "tqdm"], set()
while waiting:
    name = waiting.pop()
    if name not in known:
        known.add(name)
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting += [re.match(r"[\\w.-]+", need)[0] for need in needs if "extra ==" not in need]
known = {name.lower().replace("_", "-") for name in known}
owners = importlib.metadata.packages_distributions()

class Refuse:
    def find_spec(self, name, path=None, target=None):
        found = {owner.lower().replace("_", "-") for owner in owners.get(name, [])}
        if found and not found & known and not name.startswith("d2lmini"):
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

sys.meta_path.insert(0, Refuse())
import d2lmini
assert d2lmini.__file__.startswith(sys.argv[1]), d2lmini.__file__
for module in pkgutil.walk_packages(d2lmini.__path__, "d2lmini."):
    __import__(module.name)
d2lmini.check("predict-mixture", None)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build_wheel(ROOT, folder)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built where the tests and the notebooks lie, too."""
    copy = tmp_path_factory.mktemp("copy")
    for name in (*SOURCES, "tests", "notebooks"):
        place = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        place(ROOT / name, copy / name)
    command = "from setuptools.build_meta import build_sdist; build_sdist('dist')"
    subprocess.run([sys.executable, "-c", command], cwd=copy, check=True, capture_output=True)
    (built,) = (copy / "dist").iterdir()
    return built


def test_the_wheel_holds_the_package_and_the_licences_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    information = wheel.name.replace("-py3-none-any.whl", ".dist-info")
    assert {name.split("/")[0] for name in names} == {"d2lmini", "d2lmini_exercises", "frameworks", information}
    assert not [name for name in names if name.endswith((".ipynb", ".md"))]
    wanted = {"d2lmini/py.typed", "d2lmini/figures/style.mplstyle", "d2lmini_exercises/py.typed"}
    assert wanted | {"frameworks/same_layer.py"} <= set(names)
    assert sum("/licenses/LICENSE" in name for name in names) == 2


@pytest.mark.thorough
def test_the_source_holds_no_more_and_makes_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(source) as archive:
        names = ["/".join(name.split("/")[1:]) for name in archive.getnames()]
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert not [name for name in names if name.startswith(("tests", "notebooks")) or name.endswith((".ipynb", ".pyc"))]
    (folder,) = (tmp_path / "unpacked").iterdir()
    build_wheel(folder, tmp_path)
    again = zipfile.ZipFile(tmp_path / wheel.name)
    first = zipfile.ZipFile(wheel)
    assert sorted(again.namelist()) == sorted(first.namelist())
    assert all(again.read(name) == first.read(name) for name in first.namelist() if name.startswith("d2lmini/"))


def test_installed_it_imports_where_there_is_nothing_but_what_it_asks_for(wheel: Path, tmp_path: Path) -> None:
    options = ["--quiet", "--no-deps", "--no-index", f"--target={tmp_path / 'site'}"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True)
    command = [sys.executable, "-c", IMPORT_ALL, str(tmp_path / "site")]
    path = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "predict-mixture: not attempted yet" in done.stdout, done.stderr
