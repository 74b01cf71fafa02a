"""README's picture, `python -m tools.releasing.still`: *Fruit or firm?* as Chromium draws it on the page."""

import io
import shutil

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tools import ROOT
from tools.releasing.paper.pdf import BROWSERS

PICTURE = ROOT / "book/_static/fruit-or-firm.png"
PAGE = (ROOT / "_build/html/index.html").as_uri() + "#她.咬.修"


def take_still(chromium: Browser) -> tuple[Image.Image, str]:
    """The picture, and what the page says of the sentence."""
    page = chromium.new_page(viewport={"width": 1280, "height": 1000}, device_scale_factor=1.5, color_scheme="light")
    page.goto(PAGE)
    page.evaluate("document.fonts.ready")
    picture = Image.open(io.BytesIO(page.locator(".play").screenshot(animations="disabled")))
    said = page.locator(".play .verdict").inner_text()
    page.close()
    return picture.convert("RGB").quantize(32), said


if __name__ == "__main__":
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]) as one,
    ):
        still, said = take_still(one)
    still.save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}, {PICTURE.stat().st_size / 1024:.0f} KB: {said}")
