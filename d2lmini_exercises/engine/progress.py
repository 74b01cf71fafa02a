"""What a reader has solved, printed chapter by chapter."""

import os

from d2lmini_exercises.engine.reports import say
from d2lmini_exercises.engine.tasks import CHAPTERS, Task
from d2lmini_exercises.engine.ticks import find_file, read_ticks


def progress(*, reset: bool = False) -> None:
    """Print which exercises have a tick, chapter by chapter; `reset` deletes the file that remembers them.

    In a notebook, `check` notes each tick in `.d2l-progress.json` beside it, or in the file that `$D2L_PROGRESS`
    names; if that is empty, nowhere. A solution of the book notes nothing.

    Chapter: Attention pooling.

    >>> progress()  # in a notebook it lists the chapters
    Nothing is noted here: this is no notebook, or $D2L_PROGRESS is empty
    """
    path = find_file()
    if path is None:
        say("Nothing is noted here: this is no notebook, or $D2L_PROGRESS is empty")
        return
    if reset:
        path.unlink(missing_ok=True)
    ticks = set(read_ticks())
    for chapter, tasks in sorted(CHAPTERS.items(), key=lambda item: int(_number(item[1][0]).split(".")[0])):
        solved = [_number(task) for task in tasks if ticks.issuperset(task.checks.split())]
        say(f"{chapter}: {len(solved)} of {len(tasks)}" + (f" ({', '.join(solved)})" if solved else ""))
    if os.access(path if path.exists() else path.parent, os.W_OK):
        say(f"Noted in {path}; d2l.progress(reset=True) deletes it")
    else:
        say(f"Nothing can be noted in {path}: there is no such folder, or it is closed")


def _number(task: Task) -> str:
    return task.name.rpartition(" ")[2]
