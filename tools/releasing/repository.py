"""Name the repository of the book, `python -m tools.releasing.repository URL`, or its version, `--version 0.2.0`.

The address stands in `_config.yml` and in each chapter's setup cell; the version in the package, its metadata and the
citation, and its tag in the setup cells, as RELEASING.md tells. Nothing is run: not even later, since the setup cell
counts for no digest of a chapter's code. `--notes` prints what the change log says about the version that is set.
"""

import argparse
import re
import tomllib
from datetime import date
from pathlib import Path

import nbformat
import yaml
from jinja2 import Template

from tools import ROOT
from tools.notebooks.files import (
    DIGEST,
    FRAMEWORKS,
    NOTEBOOKS,
    PAGES,
    SETUP,
    TEXTS,
    digest,
    is_edited,
    is_notebook,
    write_all,
)

CONFIG, TEMPLATE = ROOT / "_config.yml", ROOT / "tools/writing/template/setup.py.j2"
_IN_TEXT = re.compile(re.escape(SETUP) + r"\n.*?\n```", re.DOTALL)
_ADDRESS = re.compile(r"(?a)(?:https?://|ssh://git@|git@)([\w.-]+)[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?/?(?:/tree/.*)?")
_URL_LINE = r"^repository:\n  url: (\S+)$"
# Where README.md has its three links, or would have them.
_LINKS = r"^(<!-- make repository .*-->|\*\*\[Read the pages\].*)$"
PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "d2lmini/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
}
VERSION = re.compile(r"\d+\.\d+\.\d+(\.dev\d+)?")


def repository_url() -> str:
    """The address in `_config.yml`."""
    return str(yaml.safe_load(CONFIG.read_text("utf-8"))["repository"]["url"])


def read_version() -> str:
    """The version of the book and its package."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def setup_cell(url: str, version: str = "") -> str:
    """The first code cell of each chapter: the wheel beside the pages is installed, or else the book at `url`.

    That is the edition that the notebook belongs to, so that it meets no later package; between two editions, the
    branch.
    """
    version = version or read_version()
    ref = "main" if "dev" in version else f"v{version}"
    return Template(TEMPLATE.read_text("utf-8")).render(url=url, ref=ref)


def substitute(made: dict[Path, str], path: Path, line: str, new: str) -> None:
    """Put `new` where the one line of a file, or of what was made of it, that fits a pattern has its group.

    Raises:
        SystemExit: if none fits, or more than one.
    """
    text, found = re.subn(
        line, lambda old: old[0].replace(old[1], new), made.get(path) or path.read_text("utf-8"), flags=re.M
    )
    if found != 1:
        raise SystemExit(f"{path.name}: {found} places look like {line!r}, not one")
    made[path] = text


def give_setup_cells(url: str, version: str = "") -> dict[Path, str]:
    """Each chapter, page and framework, text and notebook, with the setup cell for this address."""
    new, made = setup_cell(url, version), {}
    translated = ROOT.glob("*/notebooks/*.ipynb")
    for path in [*NOTEBOOKS.glob("*.ipynb"), *PAGES.glob("*.ipynb"), *FRAMEWORKS.glob("*.ipynb"), *translated]:
        notebook = nbformat.read(path, as_version=4)
        edited = is_edited(notebook)  # then it stays so, and `make notebooks` will ask
        for cell in notebook.cells:
            if cell.cell_type == "code" and cell.source.startswith(SETUP):
                cell.source = new
        if not edited:
            notebook.metadata[DIGEST] = digest(notebook)
        made[path] = nbformat.writes(notebook) + "\n"
    for path in [*filter(is_notebook, TEXTS.glob("*.md")), *FRAMEWORKS.glob("*.md")]:
        made[path] = _IN_TEXT.sub(lambda _: new + "\n```", path.read_text("utf-8"), count=1)
    return made


def _write_links(owner: str, name: str) -> str:
    """The pages, the second chapter in Colab, and what there is to take along."""
    places = {
        "Read the pages": f"https://{owner.lower()}.github.io/{name}/",
        "Open chapter 2 in Colab": f"https://colab.research.google.com/github/{owner}/{name}/blob/main/notebooks/self-attention.ipynb",
        "Download: pages, PDF, EPUB": f"https://github.com/{owner}/{name}/releases",
    }
    return " · ".join(f"**[{text}]({place})**" for text, place in places.items())


def set_repository(given: str) -> None:
    """Change the address everywhere, given as people paste it: that of its page, of a branch, or for `git clone`.

    Raises:
        SystemExit: if it is not the address of a repository.
    """
    found = _ADDRESS.fullmatch(given)
    if not found:
        raise SystemExit(f"URL must look like https://github.com/me/my-fork: make repository URL=..., got {given!r}")
    url = f"https://{found[1]}/{found[2]}/{found[3]}"
    made = give_setup_cells(url)
    substitute(made, CONFIG, _URL_LINE, url)
    if found[1] == "github.com":
        substitute(made, ROOT / "README.md", _LINKS, _write_links(found[2], found[3]))
    write_all(made)
    print(f"The book now points to {url}")


def read_notes(version: str) -> str:
    """What the change log says about a version, or about the next one while that is being written."""
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (\S+).*\n((?:(?!## ).*\n?)*)", log, re.MULTILINE))
    return sections.get(re.sub(r"\.dev\d+$", "", version), "").strip()


def set_version(version: str) -> None:
    """Set the version everywhere.

    Raises:
        SystemExit: if it is none, or if the change log does not say what is new.
    """
    if not VERSION.fullmatch(version):
        raise SystemExit(f"VERSION must look like 0.2.0 or 0.3.0.dev0: make repository VERSION=..., got {version!r}")
    if "dev" not in version and not read_notes(version):
        raise SystemExit(f"CHANGELOG.md has no section '## {version}' that says what is new. Nothing was written")
    made = give_setup_cells(repository_url(), version)
    for name, line in PLACES.items():
        substitute(made, ROOT / name, line, version)
    substitute(made, ROOT / "CITATION.cff", r"^date-released: (.+)$", date.today().isoformat())
    write_all(made)
    print(f"This is {version} now. Next: RELEASING.md")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="")
    parser.add_argument("--version")
    parser.add_argument("--notes", action="store_true")
    told = parser.parse_args()
    if told.notes:
        print(read_notes(read_version()))
    elif told.version is not None:
        set_version(told.version)
    else:
        set_repository(told.url)
