"""The whole book as one file: `make paper`.

`epub` lets Sphinx write a file for e-readers, and `pdf` has Chromium print the pages of that file as one.
"""

from tools import ROOT

FOLDER = ROOT / ".build/paper"
PDF, EPUB = ROOT / "attention-measured.pdf", ROOT / "attention-measured.epub"
