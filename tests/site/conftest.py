"""One Chromium, one server and a window of each width for all tests of the site."""

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from tests.site.pages import SITE
from tests.site.windows import start_browser
from tools.notebooks.files import ROOT

PREFIX = "/" + yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"].rpartition("/")[2]


class Pages(SimpleHTTPRequestHandler):
    """Serves the site as GitHub Pages does: under the name of the repository, with its page for what is not there."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix(PREFIX))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write((SITE / "404.html").read_bytes())

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=str(SITE))) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}{PREFIX}/"
        httpd.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with start_browser() as chromium:
        yield chromium
