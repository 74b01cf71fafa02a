"""What a report says about an answer: one line for each value, cut where it is long, whatever the value is."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import Any, Literal

from torch import Tensor

from d2lmini.figures.tables import Table
from d2lmini_exercises.engine.speech import translate

_LONGEST = 240  # characters of an expected or given value


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check has found. Its text is the whole report.

    Attributes:
        result: "right", "wrong" or "not attempted".
        report: the lines that are printed, without the table and the clue.
        table: of a wrong answer, what was expected, came and differs, if it shows that.
        clue: the last line for a wrong answer: its hint, or how to get one.
        hint: what a wrong answer does; nothing for others.
        stopped: why an answer did not come to its end, on one line; nothing if it did.
    """

    result: Literal["right", "wrong", "not attempted"]
    report: str
    table: Table | None = None
    clue: str = ""
    hint: str = ""
    stopped: str = ""

    def __repr__(self) -> str:
        table = indent(repr(self.table), "  ") if self.table else ""
        return "\n".join(filter(None, [self.report, table, self.clue]))


def say(text: object) -> None:
    """Print; what the output cannot hold, such as a tick in a file of Windows, by its name."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(translate(str(text)).encode(encoding, "namereplace").decode(encoding))


class WrongAnswer(Exception):
    """An answer that lacks a property it must have.

    Args:
        claim: the property, as a sentence.
        hint: a question or an observation that helps to find the mistake.
        given: the tiny input that shows it.
        expected: what a right answer gives there; `None` where that would give the solution away.
        got: what the answer gave.
        differs: of a tensor, which entries differ.
        table: those that were expected, came and differ, side by side.

    Attributes:
        symptom: the property and what the answer gave instead, without the hint and the table.
        hint: as above.
        table: as above.
        stopped: as of a verdict.
    """

    def __init__(
        self,
        claim: str,
        hint: str,
        *,
        given: str = "",
        expected: Any = None,
        got: Any = None,
        differs: str = "",
        table: Table | None = None,
    ) -> None:
        super().__init__(claim)
        lines = [f"this does not hold yet: {claim}"]
        lines += [f"for      {given}"] if given else []
        lines += [f"expected {shorten(expected)}"] if expected is not None else []
        lines += [f"got      {shorten(got)}"] if got is not None else []
        lines += [f"differs  {differs}"] if differs else []
        self.symptom = "\n  ".join(map(flatten, lines))
        self.hint = flatten(hint)
        self.table = table
        self.stopped = ""


class WrongForm(WrongAnswer):
    """What is no answer to any question yet, such as the result of a function in place of the function."""


def flatten(text: str) -> str:
    """The text on one line: a blank for each line break, and for what a terminal obeys."""
    return "".join(char if char.isprintable() else " " for char in "".join([text]))  # a str, of whatever class it was


def shorten(value: Any) -> str:
    """One line, cut where it is long: four digits of a number, and all before its point. What has no text is named."""
    line = ""
    try:
        for piece in _write(value):
            line += flatten(piece)
            if len(line) > _LONGEST:  # before the rest of a huge value is written
                return f"{line[:_LONGEST]} ..."
    except Exception:  # a text that raises, a tensor without numbers
        return name_shape(value)[:_LONGEST]
    return line


def name_shape(found: Any) -> str:
    """The shape of a tensor, or the type of anything else, for a report."""
    return flatten(f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__)


def _write(value: Any) -> Iterator[str]:
    if isinstance(value, Tensor) and value.dim() == 0:
        value = value.item()
        value = value if isinstance(value, (bool, complex)) else float(value)
    if isinstance(value, (list, tuple, Tensor)):
        yield "["
        for i in range(min(len(value), _LONGEST)):  # a tensor's own iterator makes all of its rows at once
            yield ", " if i else ""
            yield from _write(value[i])
        yield "]"
    elif isinstance(value, float):
        # More digits would differ from processor to processor: a sum of numbers around 1 may be small.
        yield f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    elif isinstance(value, (str, bytes, dict, set, frozenset)) and len(value) > _LONGEST:
        yield str(value[: _LONGEST + 1]) if isinstance(value, (str, bytes)) else f"{name_shape(value)} of {len(value)}"
    else:
        yield str(value)
