"""The policy of a page, which the browser enforces: nothing from elsewhere, and no script but those of the build."""

import re
from typing import Any

import pytest

from tests.site.pages import SITE, WRITTEN
from tests.site.windows import open_window, wait_until

PLANTED = [
    "<script>window.planted = {0: 1}</script>",
    '<img src="nowhere.png" onerror="planted[1] = 1">',
    '<iframe src="javascript:parent.planted[2] = 1"></iframe>',
    '<script src="data:text/javascript,planted[3] = 1"></script>',
]


def test_a_page_runs_and_loads_only_its_own() -> None:
    for page in WRITTEN:
        html = (SITE / page).read_text("utf-8")
        (rules,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
        policy = dict(rule.split(" ", 1) for rule in rules.split("; "))
        assert policy["default-src"] == "'none'", page
        assert "unsafe" not in policy["script-src"] and "http" not in " ".join(policy.values()), page
        head = html[html.index("<head>") : html.index("Content-Security-Policy")]
        assert not re.search("<script|<link|<style", head), f"{page}: what stands before a policy is not bound by it"
        assert not re.search(r"<[^>]*\son\w+=\"", html), f"{page}: a handler in the text would not run"


@pytest.mark.parametrize("held", [True, False])
def test_planted_scripts_run_only_without_the_policy(browser: Any, server: str, held: bool) -> None:
    html = (SITE / WRITTEN[0]).read_text("utf-8").replace("</body>", f"{''.join(PLANTED)}</body>")
    html = html if held else html.replace("Content-Security-Policy", "x")
    with open_window(browser, server) as window:
        window.route(server + WRITTEN[0], lambda route: route.fulfill(body=html, content_type="text/html"))
        window.goto(server + WRITTEN[0])
        if not held:
            wait_until(window, "Object.keys(window.planted ?? {}).length === 4")
        window.wait_for_timeout(200 * held)
        assert bool(window.evaluate("!!window.planted")) != held
        refused = [line for line in window.complaints if "Content Security Policy" in line]
        assert len(refused) >= len(PLANTED) if held else not refused
