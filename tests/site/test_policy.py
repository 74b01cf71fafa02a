"""The policy of a page, which the browser enforces: nothing from elsewhere, and no script but those of the build."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.site.pages import PAGES, SITE
from tests.site.windows import open_window

WRITTEN = [*PAGES, "search.html", "404.html"]  # index.html holds nothing but the way to the first page
PLANTED = {
    "a script in the text": "<script>window.planted = 1</script>",
    "a handler of an event": '<img src="nowhere.png" onerror="window.planted = 1">',
    "an address that is a script": '<iframe src="javascript:parent.planted = 1"></iframe>',
    "a script from elsewhere": '<script src="data:text/javascript,window.planted = 1"></script>',
}


def read_policy(page: str) -> dict[str, str]:
    (policy,) = re.findall(
        r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', (SITE / page).read_text("utf-8")
    )
    return dict(rule.split(" ", 1) for rule in policy.split("; "))


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_runs_and_loads_only_its_own(page: str) -> None:
    html, policy = (SITE / page).read_text("utf-8"), read_policy(page)
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in policy["script-src"] and "http" not in " ".join(policy.values())
    head = html[html.index("<head>") : html.index("Content-Security-Policy")]
    assert not re.search("<script|<link|<style", head), "what stands before a policy is not bound by it"
    assert not re.search(r"<[^>]*\son\w+=\"", html), "a handler in the text would not run"


@pytest.fixture
def plant(browser: Any, tmp_path: Path) -> Callable[[str], tuple[bool, list[str]]]:
    """Plant something into a copy of a page: did it run, and what did the browser say?"""

    def plant(fault: str) -> tuple[bool, list[str]]:
        shutil.copytree(SITE / "_static", tmp_path / "_static", dirs_exist_ok=True)
        html = (SITE / WRITTEN[0]).read_text("utf-8")
        (tmp_path / "book").mkdir(exist_ok=True)
        page = tmp_path / "book" / "page.html"
        page.write_text(html.replace("</body>", f"{fault}</body>"), "utf-8")
        with open_window(browser, "file:") as window:
            window.goto(page.as_uri())
            window.wait_for_timeout(200)
            return bool(window.evaluate("!!window.planted")), list(window.complaints)

    return plant


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_script_does_not_run(plant: Any, fault: str) -> None:
    ran, complaints = plant(PLANTED[fault])
    assert not ran and "Content Security Policy" in " ".join(complaints)


def test_without_a_policy_it_would(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, *a: read(path, *a).replace("Content-Security-Policy", "x"))
    assert plant(PLANTED["a handler of an event"])[0]
