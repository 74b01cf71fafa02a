"""What a fork needs to know: under which licence, which version, how to cite it, how to report what is wrong."""

import json
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

import d2lmini
from tools import ROOT

SCHEMAS = {
    "citation-file-format": "CITATION.cff",
    "dependabot": ".github/dependabot.yml",
    "github-issue-forms": ".github/ISSUE_TEMPLATE/*.yml",
    "github-workflows": ".github/workflows/*.yml",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_fit_their_schema(schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    command += map(str, ROOT.glob(SCHEMAS[schema]))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_package_citation_and_archive_say_one_thing() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert d2lmini.__version__ == PROJECT["version"] == cited["version"]
    archived = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    same = ("title", "keywords")
    assert [archived[key] for key in same] == [cited[key] for key in same]
    assert archived["description"] == cited["abstract"].strip() and archived["creators"] == cited["authors"]


def test_what_holds_a_program_is_tested_where_the_page_on_security_says() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")][2:]
    paths = re.findall(r"`((?:tests|tools)/[^`]+)`", text)
    assert len(rows) > 5 and all("`tests/" in row[-1] for row in rows)
    assert paths and all((ROOT / path).exists() for path in paths)
