"""The chapters as slides: `make slides`.

The metadata `slideshow` of a cell, which JupyterLab and VS Code can edit, says whether it is on a slide. `trim` chooses
what is shown of a text, `arrange` puts the slides together, `markup` writes them as HTML, and `build` makes the decks,
which work in a folder and without a network.
"""

import sys

from tools import ROOT

FOLDER = ROOT / "slides"
# Formulas and faces are those of the pages.
sys.path.insert(0, str(ROOT / "book/_ext"))
