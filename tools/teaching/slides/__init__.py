"""The chapters as slides, `make slides`: `arrange` finds by rule what is shown, `markup` writes it as HTML."""

from tools import ROOT

FOLDER = ROOT / "slides"
