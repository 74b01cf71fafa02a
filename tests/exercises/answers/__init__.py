"""Answers to the exercises, a module or a folder for each chapter.

RIGHT maps an exercise to answers that get a tick; WRONG has answers that do not, each with a piece of its hint.
"""

from importlib import import_module
from pkgutil import walk_packages
from typing import Any


class Answers(dict[str, list[Any]]):
    """Right answers by the names of exercises, which says what is missing."""

    def __missing__(self, name: str) -> list[Any]:
        raise KeyError(
            f"a checker in d2lmini_exercises is named {name!r}, and no RIGHT in tests/exercises/answers has "
            "answers for it (book/extending.md: An exercise)"
        )


RIGHT = Answers()
WRONG: list[tuple[str, Any, str]] = []

for _found in walk_packages(__path__, f"{__name__}."):
    if not _found.ispkg:
        _module = import_module(_found.name)
        for _name, _answers in _module.RIGHT.items():
            RIGHT.setdefault(_name, []).extend(_answers)
        WRONG += _module.WRONG
