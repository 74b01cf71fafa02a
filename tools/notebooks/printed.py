"""What a cell shows, compared as text and numbers: the rule by which a notebook is held to its stored outputs.

Two outputs are equal if their text is equal and each of their numbers is: a rounded number within one unit of its last
printed digit, a whole number exactly, a colour within 2 of 256 in each channel. What is named by a number is no number:
an exercise, a version, a hash. Of a number with an exponent, one unit is little only if two digits are printed; and
between brackets a comma without a blank divides two numbers. A run of blanks counts as one, since a
column is as wide as its widest number. Equality of all printed letters would be a wish that no rounding can grant:
a value beside the middle between two digits is printed as either, however little two machines differ.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import takewhile, zip_longest
from typing import Any

COLOUR = r'(?:(?<=: )|(?<=[:"]))#[0-9a-fA-F]{6}\b'
NAMED = ("Exercise", "Figure", "Table", "hapter", "ection", "ersion", "Python", "orch", "NumPy")  # C, S, V or small
NUMBER = (
    "".join(f"(?<!{word} )" for word in NAMED)
    + r"(?<![A-Za-z0-9_.#])(?:(?<![\[(,])[-+−]?\d{1,3}(?:,\d{3})+(?!\d)|[-+−]?\d+)"
    + r"(?:\.\d*(?!\.?\d))?(?:e[-+−]\d{1,3}(?!\w))?(?!\.\d|e[-+−]\d)"
)
TOKEN = re.compile(f"{COLOUR}|{NUMBER}")
# Of a clip path, a marker, a panel: a name made from all bits of what it stands for.
NAME = re.compile(r'(?<=["#])[pm][0-9a-f]{10}(?=[")])|\btouch-[0-9a-f]{8}\b')
EDGE = re.compile(r"(?m)^ | $|(?<=[\[(]) ")
PICTURES = {"image/png", "image/jpeg"}  # beside the SVG of the same figure, whose numbers can be read
SHOWN = 80  # letters of a text that differs


class Printed(str):
    """A text that equals each other text with the same words and numbers, by the rule of this module."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        """Whether it is the same by the rule."""
        return isinstance(other, str) and not list_differences(self, other)

    def __ne__(self, other: object) -> bool:
        """Whether it is another one by the rule."""
        return not self == other


def normalise(text: str) -> str:
    """A text without what differs although nothing does: the width of a column, names made from all bits."""
    return EDGE.sub("", re.sub(r"[ \t]+", " ", NAME.sub("name", text)))


def is_close(stored: str, found: str, drawn: bool = False) -> bool:
    """Whether two numbers as they are printed, or two colours, are equal by the rule; a drawing strips zeros."""
    if stored == found:
        return True
    if stored[0] == "#" or found[0] == "#":
        channels = [bytes.fromhex(colour[1:]) for colour in (stored, found) if colour[0] == "#"]
        return len(channels) == 2 and all(abs(a - b) <= 2 for a, b in zip(*channels, strict=True))
    if not drawn and ("." in stored or "e" in stored) != ("." in found or "e" in found):
        return False  # an integer is no rounded number
    one, other = (Decimal(number.replace("−", "-").replace(",", "")) for number in (stored, found))
    unit = min(int(number.as_tuple().exponent) for number in (one, other))
    digits = [len(number.as_tuple().digits) for number, text in ((one, stored), (other, found)) if "e" in text]
    exact = min(digits) < 2 if digits else unit == 0
    return one == other or (not exact and abs(one - other) <= Decimal(1).scaleb(unit))


def list_differences(stored: str, found: str) -> list[tuple[str, str]]:
    """What differs between two texts: each number that does, or the place where the words begin to."""
    if str.__eq__(stored, found):
        return []
    one, other = normalise(stored), normalise(found)
    words, others = TOKEN.split(one), TOKEN.split(other)
    if words == others:
        pairs = zip(TOKEN.findall(one), TOKEN.findall(other), strict=True)
        drawn = "<svg" in one
        return [pair for pair in pairs if not is_close(*pair, drawn)]
    number = next(number for number, (a, b) in enumerate(zip_longest(words, others)) if a != b)
    pieces = [cut_piece(text, number) for text in (one, other)]
    same = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], zip(*pieces, strict=False)))
    begin = max(0, same - SHOWN // 2)
    return [(pieces[0][begin:][:SHOWN], pieces[1][begin:][:SHOWN])]


def cut_piece(text: str, number: int) -> str:
    """Of a text the words behind so many numbers, with the number before them and all that follows."""
    begin = [0, *(token.start() for token in TOKEN.finditer(text))][number:][:1]
    return text[begin[0] :].strip() if begin else ""


def read_outputs(outputs: Iterable[Any]) -> dict[str, str]:
    """What a cell shows, by its kind: a stream, an error, or what a MIME type stands for; and in their order."""
    read: dict[str, str] = {}
    for output in outputs:
        said = output.get("text", f"{output.get('ename')}: {output.get('evalue')}")
        for kind, part in output.get("data", {output.get("name", "error"): said}).items():
            if kind not in PICTURES:
                read[kind] = read.get(kind, "") + (part if isinstance(part, str) else str(part))
    return read


def is_identical(stored: Iterable[Any], found: Iterable[Any]) -> bool:
    """Whether all that the outputs of two runs show is equal to the last digit."""
    one, other = ({kind: normalise(text) for kind, text in read_outputs(each).items()} for each in (stored, found))
    return one == other


def compare_outputs(stored: Iterable[Any], found: Iterable[Any]) -> list[tuple[str, str]]:
    """What differs between the stored outputs of a cell and those of another run, each difference once."""
    one, other = read_outputs(stored), read_outputs(found)
    if "error" in other and other["error"] != one.get("error"):  # what it showed before it raised does not matter
        return [(one.get("error", ""), other["error"])]
    pairs = [pair for kind in {**one, **other} for pair in list_differences(one.get(kind, ""), other.get(kind, ""))]
    return list(dict.fromkeys(pairs))
