"""Hints in three steps: a question, a place to look, and what the answer does."""

from d2lmini_exercises.engine.reports import say
from d2lmini_exercises.engine.speech import translate
from d2lmini_exercises.engine.tasks import CHAPTERS, find_task

_SHOWN: dict[str, int] = {}  # how many of an exercise's first two hints were shown
_CLUES: dict[str, str] = {}  # what is to say about the newest answer
UNCHECKED = "check an answer first: the last hint is about what it does"
RIGHT = "your newest answer is right: there is nothing to mend in it"


def hint(name: str) -> None:
    """Print one hint more for the exercise `name`: a question, then where to look, then what your answer does.

    The last one is about the newest answer that was checked, and is repeated.

    Chapter: Attention pooling.

    Args:
        name: name of the exercise, as in `check`.

    Raises:
        ValueError: if there is no exercise of that name.

    >>> hint("predict-mixture")
    hint 1 of 3: what is e to the power of ln 2, and what are three weights that stand in this ratio?
    """
    task = find_task(name)
    if task is None:
        names = sorted(check for tasks in CHAPTERS.values() for task in tasks for check in task.checks.split())
        raise ValueError(translate(f"there is no exercise named {name!r}; there are {', '.join(names)}"))
    shown = _SHOWN.get(name, 0)
    _SHOWN[name] = min(shown + 1, 2)
    say(f"hint {shown + 1} of 3: {(task.question, f'see {task.place}', find_clue(name))[shown]}")


def note_clue(name: str, clue: str) -> None:
    """Keep what is to say about the newest answer."""
    _CLUES[name] = clue


def find_clue(name: str) -> str:
    """What the newest answer does wrong, or that it is right, or that there is none."""
    return _CLUES.get(name) or UNCHECKED
