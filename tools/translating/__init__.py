"""The book in another language: what is translated, by which rules it is checked, and what is made of it.

A translation is a Markdown file for each text, `languages/zh/self-attention.md`: an entry for each cell, or for each
section of a prose page, with the digest of the English that was translated. Code, outputs and ids are never copied.
`store` reads both sides, `gates` compares them, `build` makes `zh/notebooks` and `zh/book`, `stage` a tree of pages.
"""

from tools import ROOT

LANGUAGES = ROOT / "languages"
