"""The policy of a page, which the browser enforces: nothing from elsewhere, and no script but those of the build."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.site.pages import SITE, WRITTEN
from tests.site.windows import open_window

PLANTED = [
    "<script>window.planted = 1</script>",
    '<img src="nowhere.png" onerror="window.planted = 1">',
    '<iframe src="javascript:parent.planted = 1"></iframe>',
    '<script src="data:text/javascript,window.planted = 1"></script>',
]


def read_policy(page: str) -> dict[str, str]:
    (policy,) = re.findall(
        r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', (SITE / page).read_text("utf-8")
    )
    return dict(rule.split(" ", 1) for rule in policy.split("; "))


def test_a_page_runs_and_loads_only_its_own() -> None:
    for page in WRITTEN:
        html, policy = (SITE / page).read_text("utf-8"), read_policy(page)
        assert policy["default-src"] == "'none'", page
        assert "unsafe" not in policy["script-src"] and "http" not in " ".join(policy.values()), page
        head = html[html.index("<head>") : html.index("Content-Security-Policy")]
        assert not re.search("<script|<link|<style", head), f"{page}: what stands before a policy is not bound by it"
        assert not re.search(r"<[^>]*\son\w+=\"", html), f"{page}: a handler in the text would not run"


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_script_runs_only_without_the_policy(browser: Any, tmp_path: Path, fault: str) -> None:
    shutil.copytree(SITE / "_static", tmp_path / "_static")
    (tmp_path / "book").mkdir()
    html = (SITE / WRITTEN[0]).read_text("utf-8").replace("</body>", f"{fault}</body>")
    for name, text in (("held", html), ("free", html.replace("Content-Security-Policy", "x"))):
        page = tmp_path / "book" / f"{name}.html"
        page.write_text(text, "utf-8")
        with open_window(browser, "file:") as window:
            window.goto(page.as_uri())
            window.wait_for_timeout(200)
            assert bool(window.evaluate("!!window.planted")) == (name == "free")
            assert ("Content Security Policy" in " ".join(window.complaints)) == (name == "held")
