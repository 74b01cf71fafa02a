"""How an answer is checked: a registry of checkers, and the comparisons they are written with."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import sandbox
from d2lmini_exercises.engine.convert import convert_tensor, get_rounding, read_number, read_numbers
from d2lmini_exercises.engine.differences import tabulate_differences
from d2lmini_exercises.engine.hints import RIGHT, UNCHECKED, note_clue
from d2lmini_exercises.engine.reports import Verdict, WrongAnswer, WrongForm, flatten, name_shape, say, shorten
from d2lmini_exercises.engine.sandbox import TooLong, is_untouched, keep_state, limit_printing, limit_time
from d2lmini_exercises.engine.speech import translate
from d2lmini_exercises.engine.tasks import find_next, name_check
from d2lmini_exercises.engine.ticks import find_shell, note_tick

__all__ = [
    "Mistakes",
    "Result",
    "WrongAnswer",
    "check",
    "checker",
    "expect_close",
    "expect_function",
    "expect_pair",
    "expect_shape",
    "find_exercise",
    "find_hint",
    "is_near",
    "judge",
    "list_exercises",
    "name_shape",
    "read_number",
    "read_numbers",
    "register",
]

Checker = Callable[[Any], str]
_CHECKERS: dict[str, Checker] = {}
_TRAINED: set[str] = set()
_UNTRIED: dict[str, Callable[[], str]] = {}
CALLED = "called with "  # so begins a note of an error: for which input it was raised

Result = float | Tensor
# The hint for a well-known mistake, and what the mistake gives: one result or several.
Mistakes = Mapping[str, Result | tuple[Result, ...]]


def checker(name: str, *, trained: bool = False, untried: str = "how you found it") -> Callable[[Checker], Checker]:
    """Register a function as the checker of the exercise `name`.

    The function takes the answer and returns what was verified, as a sentence; for a wrong one it raises `WrongAnswer`.

    Args:
        name: name of the exercise, as in the chapter.
        trained: whether the task asks for something that can be trained: then the right numbers without their gradient
            are no answer.
        untried: what a tick does not say.

    Raises:
        ValueError: if the name is taken.
    """

    def add(function: Checker) -> Checker:
        register(name, function, trained=trained, untried=lambda: untried)
        return function

    return add


def register(name: str, checker: Checker, *, untried: Callable[[], str], trained: bool = False) -> None:
    """Enter a checker under the name of its exercise, with what says what it does not try.

    Raises:
        ValueError: if the name is taken.
    """
    if name in _CHECKERS:
        raise ValueError(f"there is already a checker named {name!r}")
    _CHECKERS[name] = checker
    _UNTRIED[name] = untried
    if trained:
        _TRAINED.add(name)


def find_exercise(name: str) -> Checker:
    """The checker of the exercise `name`."""
    return _CHECKERS[name]


def list_exercises(*, trained: bool = False) -> list[str]:
    """The names of all exercises, or only of those that ask for something to train, in alphabetical order."""
    return sorted(_TRAINED if trained else _CHECKERS)


def check(name: str, answer: Any) -> None:
    """Print whether `answer` solves the exercise `name`: what was tried and what was not, or where it fails.

    For a wrong answer, `hint` says more, step by step.

    A wrong answer never raises, and only KeyboardInterrupt passes through: an error in the student's code is reported
    like any other mistake. An answer that has not ended after 60 seconds is stopped, where the platform has a timer
    (not on Windows) and the cell runs in the main thread, as it does in a notebook; elsewhere it runs on. The
    inputs have your default dtype. Random numbers, default dtype and device, the gradient mode and the other settings
    of torch, NumPy and Python are left as they were, and what an answer prints is cut after some thousand characters.

    Chapter: Attention pooling.

    Args:
        name: name of the exercise, as in the chapter.
        answer: the function, class or number asked for. `None`, or a starter whose one line still raises
            `NotImplementedError`, counts as not attempted.

    Raises:
        ValueError: if there is no exercise of that name.
    """
    verdict = judge(name, answer)
    if verdict.result == "right":
        note_tick(name)
    if verdict.table and find_shell():  # a notebook has its table as a table
        from IPython.display import display  # where there is a shell, there is IPython

        say(verdict.report)
        display(verdict.table)
        say(verdict.clue)
    else:
        say(verdict)


def judge(name: str, answer: Any) -> Verdict:
    """What `check` prints, as data: nothing that an answer prints, raises or is called changes the result.

    Args:
        name: name of the exercise.
        answer: as in `check`.

    Returns:
        The verdict; the hint for a wrong answer is kept for `hint`, too.

    Raises:
        ValueError: if there is no exercise of that name.
    """
    if name not in _CHECKERS:
        raise ValueError(translate(f"there is no exercise named {name!r}; there are {', '.join(list_exercises())}"))
    called, seconds, wrong = name_check(name), sandbox.SECONDS, None
    untouched = Verdict("not attempted", f"{called}: not attempted yet")
    if answer is None:
        return untouched
    try:
        with keep_state(), limit_printing(), limit_time(seconds):
            verified = _CHECKERS[name](answer)
    except KeyboardInterrupt:
        raise
    except WrongAnswer as found:
        wrong = found
    except TooLong:
        wrong = WrongAnswer("", "does each loop come to its end? Try it yourself on a small input")
        wrong.symptom = f"your answer had not ended after {seconds:g} seconds, and was stopped"
        wrong.stopped = f"{wrong.symptom}: it may have a loop that does not end, or do too much work"
    except BaseException as error:
        if isinstance(error, NotImplementedError) and is_untouched(error, answer):
            note_clue(name, UNCHECKED)
            return untouched
        wrong = _describe_error(error)
    note_clue(name, RIGHT if wrong is None else wrong.hint)
    if wrong is not None:
        clue = f"  hint: {wrong.hint}" if isinstance(wrong, WrongForm) else f'  for a hint: d2l.hint("{name}")'
        return Verdict("wrong", f"✗ {called}: {wrong.symptom}", wrong.table, clue, wrong.hint, wrong.stopped)
    lines = [f"✓ {called}: {verified}", f"not tried: {_UNTRIED[name]()}"]
    lines += [f"next: {following}"] if (following := find_next(name)) else []
    return Verdict("right", "\n  ".join(lines))


def _describe_error(error: BaseException) -> WrongAnswer:
    first = given = ""
    with suppress(Exception):  # a text that raises, notes that are none
        first = str(error).partition("\n")[0]
        notes = (note for note in getattr(error, "__notes__", []) if note.startswith(CALLED))
        given = flatten(next(notes, "").removeprefix(CALLED))
    lines = ["your answer stopped with an error", f"{shorten(type(error).__name__)}: {shorten(first)}"]
    wrong = WrongAnswer("", "run it yourself on a small input and look at the shapes and dtypes")
    wrong.symptom = "\n  ".join([*lines, *([f"for      {given}"] if given else [])])
    wrong.stopped = ": ".join(lines)
    return wrong


def expect_function(answer: Any) -> None:
    """Check that the answer can be called.

    Raises:
        WrongForm: if not.
    """
    if not callable(answer):
        hint = "pass the function itself, without parentheses after its name"
        raise WrongForm("the answer is a function", hint, got=type(answer).__name__)


def expect_pair(found: Any, *, claim: str, hint: str, given: str = "") -> tuple[Any, Any]:
    """The two things that an answer returned, in a tuple or a list.

    Raises:
        WrongForm: if it returned something else.
    """
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise WrongForm(claim, hint, given=given, got=type(found).__name__)
    return found[0], found[1]


def expect_shape(found: Any, shape: tuple[int, ...], *, claim: str, hint: str, given: str = "") -> Tensor:
    """The tensor of this shape that an answer returned, in whatever holds its numbers.

    Raises:
        WrongAnswer: if it returned something else.
    """
    tensor = convert_tensor(found, torch.empty(shape, device="meta"))
    if tensor is None or tensor.shape != shape:
        raise WrongAnswer(claim, hint, given=given, got=name_shape(found if tensor is None else tensor))
    return tensor


def expect_close(
    got: Any,
    expected: Tensor,
    *,
    claim: str,
    given: str,
    hint: str,
    mistakes: Mistakes | None = None,
    tolerance: float = 1e-4,
) -> Tensor:
    """Check a result against the right one; `hint` is for a result that none of the `mistakes` gives.

    Returns:
        The result as a tensor.

    Raises:
        WrongAnswer: if `got` holds no numbers, has another shape, or differs by more than `tolerance`; a result in a
            low precision may differ by a few of its smallest steps.
    """
    found = convert_tensor(got, expected)
    if found is None:
        hint = "return a tensor" if expected.dim() else "return a number"
        raise WrongAnswer(claim, hint, given=given, got=type(got).__name__)
    if found.shape != expected.shape:
        hint = "write the shape of each step next to it"
        raise WrongAnswer(claim, hint, given=given, expected=name_shape(expected), got=name_shape(found))
    if found.is_complex() and not is_near(found.imag, torch.zeros_like(found.imag), tolerance):
        hint = "these numbers are complex: where does the imaginary part come from?"
        raise WrongAnswer(claim, hint, given=given)
    found = found.real if found.is_complex() else found
    if not is_near(found, expected, tolerance):
        hint = find_hint(found, mistakes or {}, hint, tolerance)
        raise _compare(found, expected, tolerance, claim, given, hint)
    return found


def _compare(got: Tensor, expected: Tensor, tolerance: float, claim: str, given: str, hint: str) -> WrongAnswer:
    """What a report shows of both: one number, or a table of the place that differs."""
    if expected.numel() == 1:
        return WrongAnswer(claim, hint, given=given, expected=expected, got=got)
    place, table = tabulate_differences(got, expected, ~_compare_entries(got, expected, tolerance))
    return WrongAnswer(claim, hint, given=given, differs=place, table=table)


def find_hint(got: Result, mistakes: Mistakes, otherwise: str, tolerance: float = 1e-4) -> str:
    """The hint for the first of the well-known mistakes that gives this result, or `otherwise`."""
    for hint, wrong in mistakes.items():
        if any(is_near(got, result, tolerance) for result in (wrong if isinstance(wrong, tuple) else (wrong,))):
            return hint
    return otherwise


def is_near(a: Result, b: Result, tolerance: float) -> bool:
    """Whether two results have the same shape, and no entry differs by more than the tolerance; NaN is near NaN.

    The tolerance grows where one of them has a low precision.
    """
    first, second = (torch.as_tensor(result) for result in (a, b))
    return first.shape == second.shape and bool(_compare_entries(a, b, tolerance).all())


def _compare_entries(a: Result, b: Result, tolerance: float) -> Tensor:
    rounding = max(get_rounding(a), get_rounding(b))
    first, second = (torch.as_tensor(result).detach().to(torch.float64) for result in (a, b))
    # in float32 the tolerance is far above the rounding, except of large numbers
    return torch.isclose(first, second, rtol=rounding, atol=max(tolerance, rounding), equal_nan=True)
