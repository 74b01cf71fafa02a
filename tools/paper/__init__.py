"""The whole book as one file: `make pdf` and `make epub`.

`page` lets Sphinx write the book as one HTML page (`writer` and `arrange` say how it differs from the site), and `pdf`
has Chromium print that page. `epub` lets Sphinx write a file for e-readers.
"""

from tools import ROOT

FOLDER = ROOT / ".build/paper"
PAGE = FOLDER / "page/index.html"
PDF, EPUB = ROOT / "attention-measured.pdf", ROOT / "attention-measured.epub"
