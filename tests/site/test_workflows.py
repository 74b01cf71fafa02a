"""The GitHub workflows: valid, pinned, with few permissions, and clear on a fork that was not renamed."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import d2lmini
from tools import ROOT
from tools.releasing import thorough

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
BOOK, EDITION, WEEKLY = (ROOT / f".github/workflows/{name}.yml" for name in ("book", "edition", "weekly"))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def steps(workflow: Any) -> list[Any]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@each_workflow
def test_actions_are_pinned_by_commit_and_permissions_are_few(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        more = {"publish": {"pages": "write", "id-token": "write"}, "release": {"contents": "write"}}
        assert job.get("permissions") == more.get(name), name
    for line in re.findall(".*uses:.*", path.read_text("utf-8")):
        assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line
    checkouts = [step["with"] for step in steps(workflow) if "checkout" in step.get("uses", "")]
    assert all(step["persist-credentials"] is False for step in checkouts)


@each_workflow
def test_it_runs_targets_that_exist(path: Path) -> None:
    rules = re.findall(r"^([a-z./ ]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()} | {".venv/.ready"}
    lines = [line for step in steps(read(path)) for line in step.get("run", "").splitlines()]
    called = [word for line in lines if re.match(r"\s*make ", line) for word in line.split()[1:] if "=" not in word]
    assert called and {word for word in called if re.fullmatch("[a-z./]+", word)} - {"matrix.parts"} <= targets


def test_the_pythons_are_those_of_the_package_and_all_is_tested_before_anything_is_published() -> None:
    jobs = read(BOOK)["jobs"]
    assert jobs["package"]["strategy"]["matrix"]["python"] == ["3.12", "3.13", "3.14"]
    assert any(step.get("run") == "make test" for step in jobs["test"]["steps"])
    assert sorted(jobs["publish"]["needs"]) == ["package", "test"]


def test_every_part_of_the_night_runs_once_a_week() -> None:
    parts = " ".join(read(WEEKLY)["jobs"]["thorough"]["strategy"]["matrix"]["parts"]).split()
    assert sorted(parts) == sorted(thorough.PARTS)


@each_workflow
def test_no_job_is_green_whatever_happens_in_it(path: Path) -> None:
    jobs = read(path)["jobs"].values()
    assert not [part for job in jobs for part in (job, *job["steps"]) if "continue-on-error" in part]


def run_step(path: Path, title: str, folder: Path, **env: str) -> tuple[int, str]:
    (script,) = [step["run"] for step in steps(read(path)) if title in step.get("name", "")]
    command = ["bash", "-e", "-c", script]
    done = subprocess.run(command, cwd=folder, env=os.environ | env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(("repository", "code"), [("me/my-fork", 0), ("you/my-fork", 1), ("me/my-fork-2", 1)])
def test_a_fork_that_was_not_renamed_fails_and_says_what_to_run(tmp_path: Path, repository: str, code: int) -> None:
    config = (ROOT / "_config.yml").read_text("utf-8")
    (tmp_path / "_config.yml").write_text(re.sub("  url: .*", "  url: https://github.com/me/my-fork", config), "utf-8")
    env = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": repository}
    returned, said = run_step(BOOK, "names itself", tmp_path, **env)
    assert returned == code and (f"make repository URL=https://github.com/{repository}" in said) == bool(code)


@pytest.mark.parametrize(("tag", "code"), [("v{}", 0), ("{}", 0), ("v{}0", 1)])
def test_a_tag_that_is_another_version_is_not_published(tag: str, code: int) -> None:
    returned, said = run_step(EDITION, "tag is the version", ROOT, GITHUB_REF_NAME=tag.format(d2lmini.__version__))
    assert returned == code and ("RELEASING.md" in said) == bool(code)


def test_the_oldest_versions_are_those_that_the_package_allows() -> None:
    (allowed,) = re.findall(r"^dependencies = (\[.*\])$", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    oldest = " ".join(step.get("run", "") for step in read(WEEKLY)["jobs"]["oldest"]["steps"])
    for name, version in re.findall(r'"([\w-]+)>=([\d.]+)"', allowed):
        assert f" {name}=={version} " in oldest, name
