"""A tree from which Jupyter Book makes the pages of a language: `python -m tools.translating.stage zh`.

Nothing is run: the notebooks have the outputs of the English ones. The build goes on in `.build/zh`, and its pages are
put beside the English ones, in `_build/html/zh`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from book_site.translated import ENGLISH, list_languages

from tools import ROOT

SHARED = ["book/_static", "book/_templates", "book/references.bib", "d2lmini", "d2lmini_exercises", "frameworks"]
SHARED += ["languages", "pyproject.toml", "README.md", "LICENSE", "LICENSE-CC-BY-4.0", "CHANGELOG.md"]
SHARED += ["requirements.txt"]
AWAY = re.compile(r"\]\(\.\./\.\./((?:notebooks|book|pages)/[\w-]+)\.(?:ipynb|md)(#[^)]+)?")


def lay_out(language: str, settings: dict[str, Any]) -> Path:
    """The tree: the translated texts, and of all else what the English has."""
    stage = ROOT / ".build" / language
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "book").mkdir(parents=True)
    (stage / "translated").mkdir()
    for name in SHARED:
        (stage / name).symlink_to(ROOT / name)
    for code in list_languages(ROOT):
        (stage / "translated" / code).symlink_to(ROOT / code)
    (stage / "english").symlink_to(ROOT / "notebooks")
    shutil.copy(ROOT / language / "anchors.json", stage)
    shutil.copytree(ROOT / "book/_ext", stage / "book/_ext")  # it reads the language where it lies
    ids = json.loads((ROOT / language / "anchors.json").read_text("utf-8"))["english"]

    def lead(link: re.Match[str]) -> str:
        anchor = (link[2] or "")[1:]
        return f"]({ENGLISH}{link[1]}.html{'#' * bool(anchor)}{ids.get(anchor, anchor)}"

    texts = [path.relative_to(ROOT / language) for path in (ROOT / language).glob("*/*")]
    for path in texts:
        (stage / path).parent.mkdir(exist_ok=True)
        (stage / path).write_text(AWAY.sub(lead, (ROOT / language / path).read_text("utf-8")), "utf-8")
    translated = {path.with_suffix("").as_posix() for path in texts}
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    (stage / "_toc.yml").write_text(yaml.safe_dump(translate_contents(contents, translated, settings)), "utf-8")
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    (stage / "_config.yml").write_text(
        yaml.safe_dump(translate_config(config, language, settings), width=1000), "utf-8"
    )
    return stage


def translate_contents(contents: dict[str, Any], translated: set[str], settings: dict[str, Any]) -> dict[str, Any]:
    """The table of contents: what is not translated leads to the English page, and says so."""
    for part in contents["parts"]:
        part["caption"] = settings["captions"].get(part["caption"], part["caption"])
        part["chapters"] = [
            entry
            if entry["file"] in translated
            else {"url": f"{ENGLISH}{entry['file']}.html", "title": name(entry["file"], settings)}
            for entry in part["chapters"]
        ]
    return contents


def name(place: str, settings: dict[str, Any]) -> str:
    """The English title of a text, and that it is English."""
    title = re.search(r"^# (.+)$", (ROOT / f"book/{Path(place).name}.md").read_text("utf-8"), re.MULTILINE)
    return str(settings["english"]).format(title[1] if title else place)


def translate_config(config: dict[str, Any], language: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of the pages of a language."""
    config["title"] = config["sphinx"]["config"]["project"] = settings["title"]
    config["author"] = settings["author"]
    config["html"]["extra_footer"] = settings["footer"]
    own = config["sphinx"]["config"]
    own |= {"language": settings["sphinx"], "html_search_language": "en", "translated": f"{language}/", "redirects": {}}
    own["complete_chapters"] = []
    return config


def main(language: str) -> int:
    """Lay the tree out, build its pages, and put them beside the English ones."""
    settings = list_languages(ROOT)[language]
    stage, target = lay_out(language, settings), ROOT / f"_build/html/{language}"
    program = str(Path(sys.executable).parent / "jupyter-book")
    command = [program, "build", ".", "--all", "-n", "-W", "--keep-going", "-q"]
    surroundings = os.environ | {"PYTHONPATH": str(stage)}
    done = subprocess.run(command, cwd=stage, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:])
        return 1
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(stage / "_build/html", target)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
