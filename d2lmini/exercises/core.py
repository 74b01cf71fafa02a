"""How an answer is checked: a registry of checkers, and the comparisons they are written with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

Checker = Callable[[Any], str]
_CHECKERS: dict[str, Checker] = {}
_LONGEST = 240  # characters of an expected or given value

Result = float | Tensor
# The hint for a well-known mistake, and what the mistake gives: one result or several.
Mistakes = Mapping[str, Result | tuple[Result, ...]]


class WrongAnswer(Exception):
    """An answer that lacks a property it must have.

    Args:
        claim: the property, as a sentence.
        hint: a question or an observation that helps to find the mistake.
        given: the tiny input that shows it.
        expected: what a right answer gives there; `None` where that would give the solution away.
        got: what the answer gave.
    """

    def __init__(self, claim: str, hint: str, *, given: str = "", expected: Any = None, got: Any = None) -> None:
        super().__init__(claim)
        lines = [f"this does not hold yet: {claim}"]
        lines += [f"for      {given}"] if given else []
        lines += [f"expected {_shorten(expected)}"] if expected is not None else []
        lines += [f"got      {_shorten(got)}"] if got is not None else []
        self.report = "\n  ".join([*lines, f"hint: {hint}"])


def checker(name: str) -> Callable[[Checker], Checker]:
    """Register a function as the checker of the exercise `name`.

    The function takes the answer and returns what was verified, as a sentence; for a wrong one it raises `WrongAnswer`.

    Raises:
        ValueError: if the name is taken.
    """

    def register(function: Checker) -> Checker:
        if name in _CHECKERS:
            raise ValueError(f"there is already a checker named {name!r}")
        _CHECKERS[name] = function
        return function

    return register


def list_exercises() -> list[str]:
    """The names of all exercises that have a checker, in alphabetical order."""
    return sorted(_CHECKERS)


def check(name: str, answer: Any) -> None:
    """Print whether `answer` solves the exercise `name`, and if not, what is wrong and a hint.

    A wrong answer never raises: an error in the student's code is reported like any other mistake. The state of
    torch's random numbers, its default dtype and its gradient mode are left as they were. Every chapter, from the first
    on, ends with exercises that call it.

    Chapter: Attention pooling.

    Args:
        name: name of the exercise, as in the chapter.
        answer: the function, class or number asked for. `None`, or a function that raises `NotImplementedError`,
            counts as not attempted.

    Raises:
        ValueError: if there is no exercise of that name.
    """
    if name not in _CHECKERS:
        raise ValueError(f"there is no exercise named {name!r}; there are {', '.join(list_exercises())}")
    if answer is None:
        print(f"{name}: not attempted yet")
        return
    dtype = torch.get_default_dtype()
    try:
        with torch.random.fork_rng(devices=[]), torch.set_grad_enabled(True):
            torch.manual_seed(0)  # the same inputs each time: an answer is right or wrong, never by chance
            verified = _CHECKERS[name](answer)
    except NotImplementedError as error:
        if re.search("not implemented for|Could not run|missing the required", str(error)):  # PyTorch's own
            _report_error(name, error)
        else:
            print(f"{name}: not attempted yet")
    except WrongAnswer as wrong:
        print(f"✗ {name}: {wrong.report}")
    except (Exception, SystemExit) as error:
        _report_error(name, error)
    else:
        print(f"✓ {name}: {verified}")
    finally:
        torch.set_default_dtype(dtype)


def _report_error(name: str, error: BaseException) -> None:
    first_line = str(error).partition("\n")[0]
    print(f"✗ {name}: your answer stopped with an error\n  {type(error).__name__}: {first_line}")
    print("  hint: run it yourself on a small input and look at the shapes")


def read_numbers(answer: Any, count: int) -> list[float]:
    """The `count` numbers of a prediction.

    Raises:
        WrongAnswer: if there are more or fewer, or they are not numbers.
    """
    entries = answer.tolist() if hasattr(answer, "tolist") else answer  # tensors and arrays
    several = isinstance(entries, Sequence) and not isinstance(entries, (str, bytes))
    entries = list(entries) if several else [entries]
    try:
        found = [float(entry) for entry in entries]
    except (TypeError, ValueError):
        found = []
    if len(found) != count:
        raise WrongAnswer(f"the answer is {count} number(s)", "look at the starter's form", got=repr(answer))
    return found


def read_number(answer: Any) -> float:
    """The one number that a measurement returned.

    Raises:
        WrongAnswer: if it returned something else.
    """
    try:
        return float(answer.detach() if isinstance(answer, Tensor) else answer)
    except (TypeError, ValueError, RuntimeError) as error:
        hint = "return a float, or a tensor of one entry; max(dim=...) and median(dim=...) give a pair of tensors"
        raise WrongAnswer("it returns one number", hint, got=type(answer).__name__) from error


def expect_function(answer: Any) -> None:
    """Check that the answer can be called.

    Raises:
        WrongAnswer: if not.
    """
    if not callable(answer):
        hint = "pass the function itself, without parentheses after its name"
        raise WrongAnswer("the answer is a function", hint, got=type(answer).__name__)


def expect_pair(found: Any, *, claim: str, hint: str, given: str = "") -> tuple[Any, Any]:
    """The two things that an answer returned, in a tuple or a list.

    Raises:
        WrongAnswer: if it returned something else.
    """
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise WrongAnswer(claim, hint, given=given, got=type(found).__name__)
    return found[0], found[1]


def expect_measured(
    answer: Any,
    expected: float,
    *,
    claim: str,
    given: str,
    hint: str,
    mistakes: Mistakes,
    tolerance: float = 1e-4,
) -> None:
    """Check a measured or computed number; `hint` is for a number that none of the `mistakes` gives.

    Raises:
        WrongAnswer: if `answer` is not a number, or is further than `tolerance` from `expected`.
    """
    got = read_number(answer)
    if not is_near(got, expected, tolerance):
        hint = find_hint(got, mistakes, hint, tolerance)
        raise WrongAnswer(claim, hint, given=given, expected=round(expected, 4), got=round(got, 4))


def expect_close(
    got: Any,
    expected: Tensor,
    *,
    claim: str,
    given: str,
    hint: str,
    mistakes: Mistakes | None = None,
    tolerance: float = 1e-4,
) -> None:
    """Check a result against the right one; `hint` is for a result that none of the `mistakes` gives.

    Raises:
        WrongAnswer: if `got` is not a tensor, has another shape, or differs by more than `tolerance`.
    """
    if not isinstance(got, Tensor):
        raise WrongAnswer(claim, "return a tensor", given=given, got=type(got).__name__)
    if got.shape != expected.shape:
        hint = "write the shape of each step next to it"
        raise WrongAnswer(claim, hint, given=given, expected=name_shape(expected), got=name_shape(got))
    if not is_near(got, expected, tolerance):
        hint = find_hint(got, mistakes or {}, hint, tolerance)
        raise WrongAnswer(claim, hint, given=given, expected=expected, got=got)


def expect_unchanged(
    name: str, now: Tensor, before: Tensor, hint: str = "work on a new tensor", *, given: str = ""
) -> None:
    """Check that an answer has left its argument alone.

    Raises:
        WrongAnswer: if not.
    """
    if not torch.equal(now, before):
        raise WrongAnswer(f"the argument {name} is left unchanged", hint, given=given, got=now)


def find_hint(got: Result, mistakes: Mistakes, otherwise: str, tolerance: float = 1e-4) -> str:
    """The hint for the first of the well-known mistakes that gives this result, or `otherwise`."""
    for hint, wrong in mistakes.items():
        if any(is_near(got, result, tolerance) for result in (wrong if isinstance(wrong, tuple) else (wrong,))):
            return hint
    return otherwise


def is_near(a: Result, b: Result, tolerance: float) -> bool:
    """Whether two results have the same shape, and no entry differs by more than the tolerance; NaN is near NaN."""
    first, second = (torch.as_tensor(result, dtype=torch.float64).detach() for result in (a, b))
    return first.shape == second.shape and torch.allclose(first, second, rtol=0.0, atol=tolerance, equal_nan=True)


def name_shape(found: Any) -> str:
    """The shape of a tensor, or the type of anything else, for a report."""
    return f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__


def _shorten(value: Any) -> str:
    """One line, cut where it is long: numbers with six digits at most."""
    line = _write(value)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _write(value: Any) -> str:
    if isinstance(value, Tensor):
        value = value.detach().double().cpu().tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_write(entry) for entry in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
