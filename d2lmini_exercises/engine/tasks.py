"""The exercises of each chapter in their order: what the page calls them, and what helps with each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """An exercise as its page has it, and the first two of its hints, which must hold for every wrong answer.

    Attributes:
        name: what the page calls it, as "Exercise 1.1".
        checks: the names of its checks, in order, with blanks between them.
        question: what to ask oneself.
        place: where to look: a section in quotation marks, a formula, or a part of the answer.
    """

    name: str
    checks: str
    question: str
    place: str


CHAPTERS: dict[str, list[Task]] = {}  # by title


def list_in_order(chapter: str, *tasks: Task) -> None:
    """Say which exercises a chapter has next."""
    CHAPTERS.setdefault(chapter, []).extend(tasks)


def find_task(name: str) -> Task | None:
    """The exercise that has this check."""
    return next((task for tasks in CHAPTERS.values() for task in tasks if name in task.checks.split()), None)


def name_check(name: str) -> str:
    """What a report calls a check: the exercise as its page does, and its own name."""
    task = find_task(name)
    return f"{task.name}, {name}" if task else name


def find_next(name: str) -> str:
    """What the page calls the exercise of the check that follows in the chapter; nothing after the last."""
    for tasks in CHAPTERS.values():
        order = [(check, task.name) for task in tasks for check in task.checks.split()]
        for i, (check, _) in enumerate(order[:-1]):
            if check == name:
                return order[i + 1][1]
    return ""
