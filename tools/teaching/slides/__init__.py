"""The chapters as slides: `make slides`.

`arrange` finds by rule what is shown of a chapter, `markup` writes it as HTML. The decks work in a folder and without a
network.
"""

from tools import ROOT

FOLDER = ROOT / "slides"
