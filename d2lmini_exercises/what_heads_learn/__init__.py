"""Checkers of the chapter "What heads learn, and which you would miss"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "What heads learn, and which you would miss",
    Task(
        "Exercise 10.1",
        "predict-staircase",
        "how many of the five questions still have a head, and how likely is a guess right for the others?",
        '"The staircase"',
    ),
    Task(
        "Exercise 10.2",
        "find-twins",
        "what would the removal of two heads cost if they did not know of each other?",
        '"A twin"',
    ),
    Task(
        "Exercise 10.3",
        "prune-carefully",
        "when one head has gone, is the next to go still the one that the first list names?",
        '"Which head would you miss?" and "A twin"',
    ),
    Task(
        "Exercise 10.4",
        "prefix-matching",
        "for the letters a b a: which place is asked about, and on which place should the weight lie?",
        '"Two layers", where the period is known',
    ),
    Task(
        "Exercise 10.5",
        "received-weight",
        "from how many queries behind it can key 0 get weight, and from how many key n - 2?",
        '"Two layers": rows of the map ask, columns are asked',
    ),
)
