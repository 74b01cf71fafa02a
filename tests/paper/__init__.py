"""The book to print and for e-readers."""

import re

# Commands of TeX, of a formula that was not set, and words for a tool.
RAW = re.compile(r"\\(?:frac|mathrm|sqrt|begin|end|tag|sum|top|alpha|beta|left|text)\b|NBVAL|@title|Installs d2lmini")
