"""One Chromium, one server and a window of each width for all tests of the site."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from tests.site.pages import SITE
from tests.site.windows import open_page, open_window, start_browser
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


@pytest.fixture(scope="session")
def visit(browser: Any, server: str) -> Iterator[Callable[[str, str, int], Any]]:
    """Opens a page as for the first time, in a window that stays: scripts begin sooner where they ran before."""
    with ExitStack() as stack:

        @functools.cache
        def keep(width: int) -> Any:
            # With motion reduced no colour is in transition.
            window = stack.enter_context(open_window(browser, server, width=width, reduced_motion="reduce"))
            window.add_init_script(
                "if (location.protocol !== 'about:') { localStorage.clear(); sessionStorage.clear(); }"
            )
            return window

        def visit(address: str, theme: str, width: int) -> Any:
            window = keep(width)
            window.goto("about:blank")  # what the page before still has to say is not this one's
            window.complaints.clear()
            window.set_viewport_size({"width": width, "height": 900})
            window.emulate_media(color_scheme=theme)
            open_page(window, address)
            return window

        yield visit
